"""Test sets by name, without a network."""

import gzip
import hashlib
import io
import tarfile
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

import pytest
import sacrebleu.utils
from sacrebleu.dataset import DATASETS

from nmt.errors import ConfigError, DataError
from nmt.scoring.test_sets import named_test_set

MULTI30K = "multi30k/2018"  # tar.gz, and a .gz that is not unpacked
ROBUST = "wmt20/robust/set1"  # zip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty sacreBLEU folder, and no network."""

    def offline(url: str) -> None:
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", offline)
    monkeypatch.setattr(sacrebleu.utils, "SACREBLEU_DIR", str(tmp_path))
    for name in ("wmt14", MULTI30K, ROBUST):
        monkeypatch.setattr(DATASETS[name], "_outdir", str(tmp_path / name))
        monkeypatch.setattr(DATASETS[name], "_rawdir", str(tmp_path / name / "raw"))
    return tmp_path


def known(monkeypatch: pytest.MonkeyPatch, name: str, *archives: Path) -> None:
    """Lets sacreBLEU expect these archives."""
    sums = [hashlib.md5(archive.read_bytes()).hexdigest() for archive in archives]
    monkeypatch.setattr(DATASETS[name], "md5", sums)


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


def test_offline_names_the_file_to_put_in_place_and_then_finds_it_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    known(monkeypatch, "wmt14", place)
    assert named_test_set("wmt14", "en", "de") == (["One line.", "U separated", ""], [ref])


@pytest.mark.parametrize("share", [0.5, 0.9, 1])
def test_a_damaged_archive_is_refused_every_time(folder: Path, monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    place = folder / "wmt14" / "raw" / "wmt14.test-filtered.tgz"
    lines = [f"{number} {number**9}" for number in range(2000)]
    names = DATASETS["wmt14"].langpairs["en-de"]
    put_archive(place, dict(zip(names, (lines, lines), strict=True)))
    whole = place.read_bytes()
    known(monkeypatch, "wmt14", place)
    place.write_bytes(whole[: int(share * len(whole))] if share < 1 else b"not an archive")
    for _ in range(2):
        with pytest.raises(DataError, match=r"tgz is damaged or another file .*delete it and try again, or put https:"):
            named_test_set("wmt14", "en", "de")
    place.write_bytes(whole)
    assert named_test_set("wmt14", "en", "de") == (lines, [lines])


def test_a_download_that_is_not_whole_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urllib.request, "urlopen", lambda url: io.BytesIO(b"half of it"))
    for _ in range(2):
        with pytest.raises(DataError, match=r"tgz is damaged or another file"):
            named_test_set("wmt14", "en", "de")


def test_other_archives_that_were_put_in_place_are_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = folder / ROBUST / "raw"
    raw.mkdir(parents=True)
    with zipfile.ZipFile(raw / "wmt20_robust_set1.robustness20-3-sets.zip", "w") as file:
        for name, text in zip(DATASETS[ROBUST].langpairs["en-de"], ("One.\nTwo.\n", "Eins.\nZwei.\n"), strict=True):
            file.writestr(name, text)
    known(monkeypatch, ROBUST, *raw.iterdir())
    assert named_test_set(ROBUST, "en", "de") == (["One.", "Two."], [["Eins.", "Zwei."]])

    raw = folder / MULTI30K / "raw"
    raw.mkdir(parents=True)
    places = [raw / f"multi30k_2018.{url.rpartition('/')[2]}" for url in DATASETS[MULTI30K].data or []]
    with tarfile.open(places[0], "w:gz") as tar:
        info = tarfile.TarInfo("test_2018_flickr.en")
        info.size = 5
        tar.addfile(info, io.BytesIO(b"One.\n"))
    for place in places[1:]:
        place.write_bytes(gzip.compress(b"Eins.\n"))
    known(monkeypatch, MULTI30K, *places)
    assert named_test_set(MULTI30K, "en", "de") == (["One."], [["Eins."]])


def test_unequal_sides_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = DATASETS["wmt14"].langpairs["en-de"]
    place = folder / "wmt14" / "raw" / "wmt14.test-filtered.tgz"
    put_archive(place, dict(zip(names, (["a", "b"], ["a"]), strict=True)))
    known(monkeypatch, "wmt14", place)
    with pytest.raises(DataError, match="2 and 1 lines, test_set=wmt14; delete"):
        named_test_set("wmt14", "en", "de")


def test_unknown_names_get_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"unknown test set 'wmt1r', test_set=wmt1r; did you mean 'wmt"):
        named_test_set("wmt1r", "en", "de")
    with pytest.raises(ConfigError, match=r"no language pair 'en-dee'.*did you mean 'en-de'"):
        named_test_set("wmt14", "en", "dee")
    with pytest.raises(ConfigError, match=r"no language pair 'None-None'"):
        named_test_set("wmt14", None, None)
