"""~ at the beginning of a path."""

from pathlib import Path

import pytest

from nmt.cli.main import main
from nmt.errors import ConfigError
from nmt.machine.home import expanded


def test_home_takes_the_place_of_a_tilde(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/somewhere")
    assert expanded("~/a/b") == Path("/somewhere/a/b")
    assert expanded(Path("~")) == Path("/somewhere")
    assert expanded("a/~b") == Path("a/~b")


def test_nobodys_home_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"^~no-such-user/a: ~no-such-user is not the home of any user; type the whole path"
    ):
        expanded("~no-such-user/a")


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("train", ["data.train.src=~no-such-user/a", "data.train.tgt=b"]),
        ("translate", ["model=~no-such-user/run"]),
        ("status", ["model=~no-such-user/run"]),
        ("prepare", ["data=demo_en_de", "cache_dir=~no-such-user/cache"]),
        ("train", ["data=demo_en_de", "runs_dir=~no-such-user/runs", "name=x", "train.max_updates=1"]),
        ("train", ["resume=~no-such-user/runs/x"]),
        ("train", ["init_from=~no-such-user/runs/x", "data=demo_en_de", "name=x"]),
        ("tune", ["data=demo_en_de", "runs_dir=~no-such-user/runs", "name=x"]),
    ],
)
def test_every_verb_says_so_in_one_line(verb: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, *words]) == 2
    assert "~no-such-user is not the home of any user; type the whole path" in capsys.readouterr().err.splitlines()[-1]
