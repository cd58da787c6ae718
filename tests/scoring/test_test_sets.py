"""Test sets by name, without a network."""

import io
import tarfile
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import sacrebleu.utils
from sacrebleu.dataset import DATASETS

from nmt.errors import ConfigError, DataError
from nmt.scoring.test_sets import named_test_set


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty sacreBLEU folder, and no network."""

    def offline(url: str) -> None:
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", offline)
    monkeypatch.setattr(sacrebleu.utils, "SACREBLEU_DIR", str(tmp_path))
    monkeypatch.setattr(DATASETS["wmt14"], "_outdir", str(tmp_path / "wmt14"))
    monkeypatch.setattr(DATASETS["wmt14"], "_rawdir", str(tmp_path / "wmt14" / "raw"))
    return tmp_path


def sgm(lines: list[str]) -> bytes:
    body = "".join(f'<seg id="{n}">{line}</seg>\n' for n, line in enumerate(lines))
    return f'<doc docid="x" genre="news" origlang="en">\n{body}</doc>\n'.encode()


def put_archive(path: Path, files: dict[str, list[str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as tar:
        for name, lines in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(sgm(lines))
            tar.addfile(info, io.BytesIO(sgm(lines)))


def test_offline_names_the_file_to_put_in_place_and_then_finds_it_there(folder: Path) -> None:
    with pytest.raises(DataError) as caught:
        named_test_set("wmt14", "en", "de")
    message = str(caught.value)
    place = folder / "wmt14" / "raw" / "wmt14.test-filtered.tgz"
    assert message.endswith(f"put it in place as {place}")
    assert all(url in message for url in DATASETS["wmt14"].data or [])
    assert "no network" in message
    assert "\n" not in message

    src, ref = ["One line.", "U\u2028separated", ""], ["Eine Zeile.", "zwei", "drei"]
    names = DATASETS["wmt14"].langpairs["en-de"]
    put_archive(place, dict(zip(names, (src, ref), strict=True)))
    assert named_test_set("wmt14", "en", "de") == (["One line.", "U separated", ""], [ref])


def test_a_damaged_archive_is_a_data_error(folder: Path) -> None:
    place = folder / "wmt14" / "raw" / "wmt14.test-filtered.tgz"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"not an archive")
    with pytest.raises(DataError, match="put it in place"):
        named_test_set("wmt14", "en", "de")


def test_unequal_sides_are_refused(folder: Path) -> None:
    names = DATASETS["wmt14"].langpairs["en-de"]
    place = folder / "wmt14" / "raw" / "wmt14.test-filtered.tgz"
    put_archive(place, dict(zip(names, (["a", "b"], ["a"]), strict=True)))
    with pytest.raises(DataError, match="2 and 1 lines, test_set=wmt14; delete"):
        named_test_set("wmt14", "en", "de")


def test_unknown_names_get_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"unknown test set 'wmt1r', test_set=wmt1r; did you mean 'wmt"):
        named_test_set("wmt1r", "en", "de")
    with pytest.raises(ConfigError, match=r"no language pair 'en-dee'.*did you mean 'en-de'"):
        named_test_set("wmt14", "en", "dee")
    with pytest.raises(ConfigError, match=r"no language pair 'None-None'"):
        named_test_set("wmt14", None, None)
