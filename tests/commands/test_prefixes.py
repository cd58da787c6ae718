"""Translations that begin as the user says: `nmt translate prefixes=`, and `:begin` and `:next` at the prompt."""

from pathlib import Path

import pytest
import torch
from helpers.small_runs import make_run

from nmt.cli.main import main
from nmt.commands.interactive import NEXT_WORDS, Session
from nmt.errors import CheckpointError, ConfigError
from nmt.model.seq2seq import Seq2Seq
from nmt.translation.translator import Translator

FAST = ["search=greedy", "search.max_length_a=3", "search.max_length_b=0.5", "precision=fp32", "device=cpu"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "small")


@pytest.fixture
def session(run: Path) -> Session:
    return Session(Translator.load(run, device="cpu", precision="fp32"))


@pytest.mark.parametrize("buffer", [1, 2, 100])
def test_each_line_has_its_prefix(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], buffer: int) -> None:
    (tmp_path / "in").write_text("der Hund\nein Mann\n\nheute\n")
    (tmp_path / "begin").write_text("ein \n\nder\nspä\n")
    words = [f"model={run}", f"input={tmp_path}/in", f"buffer={buffer}", *FAST]
    assert main(["translate", *words]) == 0
    free = capsys.readouterr().out.splitlines()
    assert main(["translate", *words, f"prefixes={tmp_path}/begin"]) == 0
    found = capsys.readouterr().out.splitlines()
    assert found[0].startswith("ein")
    assert found[1:3] == free[1:3]
    assert found[3].startswith("spä")


@pytest.mark.parametrize(
    ("lines", "prefixes", "message"),
    [
        ("a\nb\n", "x\n", "the input has more lines than the 1 of prefixes="),
        ("a\n", "x\ny\n", "begin has more lines than the 1 of the input; give one line for each"),
    ],
)
def test_files_of_different_length_are_refused(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], lines: str, prefixes: str, message: str
) -> None:
    (tmp_path / "in").write_text(lines)
    (tmp_path / "begin").write_text(prefixes)
    words = [f"model={run}", f"input={tmp_path}/in", f"prefixes={tmp_path}/begin", *FAST]
    assert main(["translate", *words]) == 2
    assert message in capsys.readouterr().err


def refusal(translator: Translator, prefix: str) -> str | None:
    """The error for the prefix, if there is one."""
    try:
        [found] = translator.translate(["der Hund"], prefixes=[prefix])
    except ConfigError as error:
        return str(error)
    assert found.text.startswith(prefix)
    return None


def test_a_prefix_that_the_model_has_no_room_for_is_refused(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search may spell it in more pieces than it is read in, and meet the end of the room within it."""
    translator = Translator.load(run, device="cpu", precision="fp32")
    prefix = "ein Haus sieht der Mann"
    pieces, letters = len(translator.pieces_of_target(prefix)), len(translator.spelled(prefix))
    said = {}
    for most in (pieces, pieces + 1, letters - 1, letters):
        monkeypatch.setattr(Seq2Seq, "max_length", most)
        said[most] = refusal(translator, prefix)
    assert said[pieces] == f"the prefix has {pieces} pieces, and this model writes {pieces} at most; shorten it"
    assert said[pieces + 1] == (
        f"the prefix has up to {letters} pieces, and this model writes {pieces + 1} at most; shorten it"
    )
    assert said[letters - 1] is said[letters] is None
    with torch.no_grad():
        next(iter(translator.model.parameters())).fill_(float("nan"))
    with pytest.raises(CheckpointError, match="its weights are damaged"):
        refusal(translator, prefix)


def test_a_folder_has_no_prefixes(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").write_text("a\n")
    words = [f"model={run}", f"input={tmp_path}/in", f"prefixes={tmp_path}/in", f"output={tmp_path}/out/"]
    assert main(["translate", *words]) == 2
    assert "is for one file, and output=" in capsys.readouterr().err


def test_the_prompt_begins_the_last_sentence_anew(session: Session) -> None:
    session.answer("der Hund")
    assert session.answer(":begin ein Haus").startswith("ein Haus")
    assert session.last is not None
    assert session.last.source == "der Hund"
    assert session.answer(":begin spä*").startswith("spä")


def test_the_prompt_shows_the_likeliest_next_words(session: Session) -> None:
    session.answer("der Hund")
    for line in (":next", ":next ein", ":next ein Ha*"):
        shown = session.answer(line).splitlines()
        assert 0 < len(shown) <= NEXT_WORDS
        shares = [float(each.split("%")[0]) for each in shown]
        assert shares == sorted(shares, reverse=True)


def test_mistakes_at_the_prompt(session: Session) -> None:
    with pytest.raises(ConfigError, match="nothing is translated yet; type a sentence first"):
        session.answer(":begin ein")
    with pytest.raises(ConfigError, match="nothing is translated yet; type a sentence first"):
        session.answer(":next")
    session.answer("der Hund")
    with pytest.raises(ConfigError, match="no text is given; type, for example, :begin Der Hund"):
        session.answer(":begin")
