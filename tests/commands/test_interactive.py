"""`nmt interactive`: a session over a pipe, and over a real terminal."""

import io
import os
import pty
import re
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import torch
from helpers.small_runs import make_run

from nmt.cli.main import main
from nmt.commands.interactive import LONGEST_HISTORY, Session, edit_lines, keep_history, visible
from nmt.data.tokenizer import EOS
from nmt.errors import ConfigError, DataError
from nmt.figures.terminal import display_width
from nmt.translation.translator import Translator

ROOT = Path(__file__).parents[2]
FAST = ["search.max_length_a=3", "search.max_length_b=0.5", "precision=fp32", "device=cpu"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "small")


@pytest.fixture
def session(run: Path) -> Session:
    return Session(Translator.load(run, device="cpu", precision="fp32"))


def test_an_answer_is_the_translation_and_its_time(session: Session) -> None:
    [best] = session.translator.translate(["der Hund"])
    assert re.fullmatch(re.escape(visible(best.text)) + r" {4}\(\d+ ms\)", session.answer(" der Hund \n"))
    assert session.answer("   ") == ""
    assert "ms)" in session.answer(":-)")
    assert "ms)" in session.answer(": der Hund")


@pytest.mark.parametrize(
    ("line", "sent"), [("::help the poor", ":help the poor"), ("::smile:", ":smile:"), (":::-)", "::-)"), ("::", ":")]
)
def test_a_second_colon_sends_a_line_that_begins_with_one(session: Session, line: str, sent: str) -> None:
    assert "ms)" in session.answer(line)
    assert session.last is not None
    assert session.last.source == sent
    [alone] = session.translator.translate([sent])
    assert session.last.text == alone.text


def test_a_translation_cannot_command_the_terminal() -> None:
    assert visible("a\x1b[2Jb\x9b狗\u3000é") == "a\ufffd[2Jb\ufffd狗\u3000é"


def test_commands_change_the_search(session: Session) -> None:
    assert session.answer(":nbest 3") == "beam 5, the 3 best translations"
    *lines, took = session.answer("der Hund").splitlines()
    assert len(lines) == 3
    scores = [float(line.split()[0]) for line in lines]
    assert scores == sorted(scores, reverse=True)
    assert re.fullmatch(r"\(\d+ ms\)", took)
    assert session.answer(":beam 8") == "beam 8, the 3 best translations"
    assert session.answer(":beam 2") == "beam 2, the 2 best translations"
    assert session.answer(":nbest 9") == "beam 9, the 9 best translations"
    assert session.answer(":nbest 1") == "beam 9, the best translation"
    assert session.answer(":nbest") == "beam 9, the 9 best translations"
    assert (session.settings.beam, session.settings.n_best) == (9, 9)
    assert ":attention" in session.answer(":help")


def test_the_attention_is_drawn_with_both_sentences(session: Session, tmp_path: Path) -> None:
    session.answer("der Hund sieht 狗 .")
    grid = session.answer(":attention").splitlines()
    assert len({display_width(line) for line in grid}) == 1
    assert session.last is not None
    _, src_words, tgt_words = session.last.word_attention
    assert "".join(src_words) == "derHundsieht狗."
    assert len(grid) >= len(tgt_words) + 2  # words of the source above, legend below
    for name in ("a.png", "b.svg", "c d.pdf"):
        assert session.answer(f":save {tmp_path / name}") == f"saved {tmp_path / name}"
        assert (tmp_path / name).stat().st_size > 1000
    assert session.answer(f":bipartite {tmp_path}/l.png") == f"saved {tmp_path}/l.png"
    assert (tmp_path / "l.png").read_bytes() != (tmp_path / "a.png").read_bytes()


def test_mistakes_are_told_and_change_nothing(session: Session, tmp_path: Path) -> None:
    before = session.settings
    for line, message in {
        ":attention": "nothing is translated yet; type a sentence first",
        ":save a.png": "nothing is translated yet",
        ":save": "no file is named; type, for example, :save attention.png",
        ":bipartite": "no file is named; type, for example, :bipartite attention.png",
        ":bipartite a.png": "nothing is translated yet",
        ":atention": "unknown command ':atention'; did you mean ':attention'? (to translate the line, begin it with ::",
        ":smile: it": "unknown command ':smile:'; choose from: :attention, :beam, :begin, :bipartite, :help, "
        ":nbest, :next, :quit, :save (to translate the line, begin it with ::smile:)",
        ":quit me": "unknown words 'me' after :quit; type :quit alone, or ::quit me to translate the line",
        ":quti": "did you mean ':quit'?",
        ":nbest x": "'x' is not a number; type, for example, :nbest 3",
        ":beam": "'' is not a number; type, for example, :beam 8",
        ":beam 0": "search.beam is 0",
        ":nbest 0": "search.n_best is 0",
    }.items():
        with pytest.raises(ConfigError, match=re.escape(message)):
            session.answer(line)
    session.answer("der Hund")
    with pytest.raises(ConfigError, match=r"unknown kind of picture '\.gif'"):
        session.answer(f":save {tmp_path}/a.gif")
    assert session.settings == before
    assert list(tmp_path.iterdir()) == []


def test_a_model_without_attention_says_so(tmp_path: Path) -> None:
    session = Session(Translator.load(make_run(tmp_path / "run", "none"), device="cpu", precision="fp32"))
    assert "ms)" in session.answer("der Hund")
    for line in (":attention", ":save a.png", ":bipartite a.png"):
        with pytest.raises(ConfigError, match="this model has no attention to show"):
            session.answer(line)


def test_samples_have_no_beam(run: Path) -> None:
    translator = Translator.load(run, device="cpu", precision="fp32")
    session = Session(translator)
    session.settings = type(translator.settings)(**(vars(translator.settings) | {"sample": True}))
    assert session.answer(":nbest 2") == "2 samples"
    with pytest.raises(ConfigError, match="without a beam"):
        session.answer(":beam 3")


@pytest.mark.slow
def test_a_pipe_is_answered_line_by_line(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    typed = b"der Hund\n:atention\n\xff\nein Haus\n:save \x1b[2J\n:save nowhere/a.png\n:attention\n:nbest 2\n\nHund"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(typed)))
    assert main(["interactive", f"model={run}", *FAST, "history=history"]) == 0
    out, err = capsys.readouterr()
    assert out.count("ms)") == 3
    assert "░ ≥ 0.05" in out
    assert err.splitlines() == [
        "error: unknown command ':atention'; did you mean ':attention'? "
        "(to translate the line, begin it with ::atention)",
        "error: the line is not valid UTF-8; set the terminal, or convert the file, to UTF-8",
        r"error: unknown kind of picture '', \x1b[2J; end the name in .png, .svg or .pdf",
        "error: cannot write the picture (No such file or directory), nowhere/a.png; choose another folder",
    ]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"der Hund\n:quit\nein Haus\n")))
    assert main(["interactive", f"model={run}", *FAST, "history=history"]) == 0
    assert capsys.readouterr().out.count("ms)") == 1
    assert list(tmp_path.iterdir()) == []
    for words, message in (("workers=0",), "workers is 0"), (("hstory=x",), "did you mean 'history'"):
        assert main(["interactive", f"model={run}", *words]) == 2
        assert message in capsys.readouterr().err


def test_the_prompt_says_that_the_translation_ends(session: Session) -> None:
    session.answer("der Hund")
    with torch.no_grad():
        session.translator.model.output.bias[EOS] += 1000
    shown = session.answer(":next der Hund.*").splitlines()[0]
    assert re.fullmatch(r"100\.0%  \(end\) *  der Hund\.", shown)


def test_the_prompt_bears_that_nothing_comes_next(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.answer("der Hund")
    monkeypatch.setattr("nmt.translation.continuations.continuations", lambda *_: [])
    assert session.answer(":next der") == ""


def test_the_next_words_of_two_sentences_are_refused(session: Session) -> None:
    session.answer("Der Hund schläft. Ein Mann sieht.")
    with pytest.raises(DataError, match=r"'Der Hund schläft\. Ein Mann sieht\.' is cut into 2; give one sentence at a"):
        session.answer(":next der")


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        ("stdin", "error: standard input is closed; type at a terminal, or give it a file\n"),
        ("stdout", "error: standard output is closed; give it a terminal or a file\n"),
        ("stderr", "error: standard error is closed; give it a terminal or a file\n"),
    ],
)
def test_a_closed_stream_is_refused(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], stream: str, message: str
) -> None:
    monkeypatch.setattr(sys, stream, None)
    assert main(["interactive", f"model={run}", *FAST]) == 2
    assert "".join(capsys.readouterr()) == message


def typed_in_a_session(history: Path, lines: list[str], meanwhile: str) -> None:
    """A session in which these lines are typed, and another session adds a line to the history before it ends."""
    readline = pytest.importorskip("readline")
    readline.clear_history()
    recalled = edit_lines(history)
    for line in lines:
        readline.add_history(line)
    with open(history, "a") as file:
        file.write(meanwhile)
    keep_history(history, recalled)
    readline.clear_history()


def test_each_session_adds_to_the_history(tmp_path: Path) -> None:
    history = tmp_path / "history"
    typed_in_a_session(history, ["der Hund", "ein Haus"], "")
    typed_in_a_session(history, ["heute"], "spät\n")
    assert history.read_text().splitlines() == ["der Hund", "ein Haus", "spät", "heute"]


def test_the_history_is_for_its_owner_and_keeps_the_last_lines(tmp_path: Path) -> None:
    new, long = tmp_path / "new", tmp_path / "long"
    keep_history(new, edit_lines(new))
    assert new.stat().st_mode & 0o777 == 0o600
    lines = [f"line {number}" for number in range(LONGEST_HISTORY - 1)]
    long.write_text("".join(f"{line}\n" for line in lines))
    typed_in_a_session(long, ["a", "b"], "c\n")
    assert long.read_text().splitlines() == [*lines, "c", "a", "b"][-LONGEST_HISTORY:]


def test_an_old_library_writes_the_history_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(pytest.importorskip("readline"), "append_history_file", raising=False)
    typed_in_a_session(tmp_path / "history", ["der Hund"], "")
    typed_in_a_session(tmp_path / "history", ["ein Haus"], "")
    assert (tmp_path / "history").read_text().splitlines() == ["der Hund", "ein Haus"]


class Terminal:
    """A real terminal with a session in it."""

    def __init__(self, handle: int, process: int) -> None:
        self.handle, self.process = handle, process

    def type(self, text: str) -> None:
        os.write(self.handle, text.encode())

    def wait(self, wanted: str, timeout_s: float = 60.0) -> str:
        """What appears until a line matches `wanted`."""
        seen = b""
        end = time.monotonic() + timeout_s
        while not re.search(wanted, seen.decode(errors="ignore")):
            ready, _, _ = select.select([self.handle], [], [], max(end - time.monotonic(), 0))
            assert ready, f"no {wanted} in {seen!r}"
            try:
                seen += os.read(self.handle, 65536)
            except OSError:  # the other side is closed
                raise AssertionError(f"no {wanted} in {seen!r}") from None
        return seen.decode(errors="ignore")

    def exit_code(self) -> int:
        """Reads until the session has ended."""
        with suppress(OSError):
            while os.read(self.handle, 65536):
                pass
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


@contextmanager
def terminal(*words: str) -> Iterator[Terminal]:
    process, handle = pty.fork()
    if process == 0:
        os.chdir(ROOT)
        os.environ.update(TERM="xterm", LANG="C.UTF-8", COLUMNS="80", LINES="24")
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a test run in the background of a shell ignores it
        os.execv(sys.executable, [sys.executable, "-m", "nmt.cli.main", "interactive", *words])
    try:
        yield Terminal(handle, process)
    finally:
        os.close(handle)
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


@pytest.mark.slow
def test_a_real_terminal(run: Path, tmp_path: Path) -> None:
    pytest.importorskip("readline")
    history = tmp_path / "new" / "history"
    words = [f"model={run}", *FAST, f"history={history}", "workers=1"]
    with terminal(*words) as screen:
        screen.wait("type a sentence, :help for more, :quit to leave[^>]*> ")
        screen.type("der Hund\n")
        screen.wait(r"\(\d+ ms\)\s+> ")
        screen.type("half a sent")
        screen.wait("half a sent$")
        time.sleep(0.3)  # a signal just before Python's readline waits for a key would be seen at the next key only
        screen.type("\x03")  # Ctrl-C
        screen.wait("> $")
        screen.type(":nbset\n")
        assert "did you mean ':nbest'?" in screen.wait("\n[^\n]*> $")
        screen.type("\x1b[A\x1b[A\n")  # arrow up twice: the sentence again
        assert "der Hund" in screen.wait(r"\(\d+ ms\)\s+> ")
        screen.type(":attention\n")
        assert "█" in screen.wait("≥ 0.7[^>]*> ")
        screen.type("\x04")  # Ctrl-D
        assert screen.exit_code() == 0
    assert "der Hund" in history.read_text().splitlines()
    with terminal(*words) as screen:
        screen.wait("> $")
        screen.type("\x1b[A\x1b[A\n")
        assert "der Hund" in screen.wait(r"\(\d+ ms\)\s+> ")
        screen.type(":q\n")
        assert screen.exit_code() == 0
