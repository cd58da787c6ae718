"""`bench typed`: each way of typing is measured beside the sentences as they are."""

from pathlib import Path

import pytest
from helpers.small_runs import make_run, sentences

from bench.typed import full_width, look_alike, main, title_case
from nmt.data.letter_case import LetterCase
from nmt.data.plain import plain


@pytest.mark.slow
@pytest.mark.usefixtures("nmt_in_process")
def test_a_row_for_each_way(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    texts = [f"Heute {text} sieht der Hund." for text in sentences(6, seed=2)]
    run = make_run(tmp_path / "run", letter_case=LetterCase.learned(texts, "de"))
    (tmp_path / "src").write_text("".join(f"{text}\n" for text in texts))
    assert main(["--model", f"{run}", "--src", f"{tmp_path}/src", "--ref", f"{tmp_path}/src", "device=cpu"]) == 0
    out = capfd.readouterr().out
    rows = [line.split("|")[1].strip() for line in out.splitlines() if line.startswith("| ")][1:]
    assert rows == ["as it is", "capitals", "title case", "lower case", "look-alikes", "full width"]
    assert "(bar 2.0: " in out
    assert "tok:13a" in out


def test_changes_are_what_their_names_say() -> None:
    text = "It's a well-known file of the Schifffahrt, 12 l'Été."
    assert title_case(text) == "It's A Well-Known File Of The Schifffahrt, 12 L'été."
    for change in (look_alike, full_width):
        assert change(text) != text
        assert plain(change(text)) == text


@pytest.mark.parametrize("missing", ["src", "ref", "model"])
def test_what_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], missing: str) -> None:
    (tmp_path / "text").write_text("x\n")
    run = make_run(tmp_path / "run")
    given = {"model": f"{run}", "src": f"{tmp_path}/text", "ref": f"{tmp_path}/text"} | {missing: f"{tmp_path}/nothing"}
    with pytest.raises(SystemExit) as stopped:
        main([word for key, value in given.items() for word in (f"--{key}", value)])
    assert stopped.value.code == 2
    assert f"--{missing} {tmp_path}/nothing is not a " in capsys.readouterr().err
