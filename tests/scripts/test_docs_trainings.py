"""The commands of the pages that train: all of them are known, and short; one is run, and a failing one is counted."""

from pathlib import Path

import pytest
from helpers.pages import Typed, commands

from docs import trainings
from docs.trainings import ELSEWHERE, is_one, main, shortened

FOUND = [command for command in commands() if is_one(command)]


def test_every_reason_not_to_run_a_command_is_about_one() -> None:
    words = {word for command in FOUND for word in command.words}
    assert words >= ELSEWHERE.keys()


@pytest.mark.parametrize("verb", trainings.VERBS)
def test_every_verb_is_found(verb: str) -> None:
    assert any(command.words[1] == verb for command in FOUND)


def test_help_and_mistakes_are_not_run() -> None:
    assert not is_one(Typed(("nmt", "train", "--help")))
    assert not is_one(Typed(("nmt", "train", "atention=dot"), error="error: unknown key"))
    assert not is_one(Typed(("make", "demo")))


def test_a_shortened_training_has_the_updates_that_are_asked_for() -> None:
    lengths = ("train.max_updates=", "train.max_epochs=", "budget=")
    for command in FOUND:
        words = shortened(command, 7, Path("/folder"))
        assert words[0] == command.words[1]
        if words[0] in ("train", "compare", "tune") and not any(word.startswith("resume=") for word in words):
            assert [word for word in words if word.startswith(lengths)] == ["train.max_updates=7"]


@pytest.mark.slow
def test_a_command_that_works_and_one_that_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--only", "data=tsv"]) == 0
    out = capsys.readouterr().out
    assert "| docs/how-to/own-data.md | `nmt train data=tsv data.train.files=pairs.tsv` |" in out
    assert out.endswith("\n0 of 1 commands failed\n")
    monkeypatch.setattr(trainings, "shortened", lambda *_: ["train", "data.train.src=none"])
    assert main(["--only", "data=tsv"]) == 1
    out = capsys.readouterr().out
    assert " | 2: error: " in out
    assert out.endswith("\n1 of 1 commands failed\n")


def test_nothing_to_run_is_an_error() -> None:
    with pytest.raises(SystemExit, match="no command of the pages contains 'nothing at all'"):
        main(["--only", "nothing at all"])


def test_updates_are_counted_from_1(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--updates", "0"])
    assert "--updates: 0 is not a whole number from 1 on" in capsys.readouterr().err
