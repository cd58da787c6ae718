"""`make demo` trains both models at the same time, and what it tells people to type next can be typed."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from command_line import ROOT
from demo import demonstration as demo
from demo.demonstration import chosen, next_steps, what_to_try
from nmt.cli.exit_codes import INTERRUPTED
from nmt.config.compose import command_of
from nmt.errors import CheckpointError, ConfigError
from nmt.machine.signals import SAVED


@pytest.mark.parametrize(("pair", "runs"), [("en_de", "runs"), ("en_zh", "runs"), ("en_de", "elsewhere")])
def test_the_next_command_serves_the_models_of_this_demo(pair: str, runs: str) -> None:
    general, none = (Path(runs) / f"demo_{pair}_{name}" for name in ("general", "none"))
    said = next_steps(general, none, {"from": "en", "to": "de", "text": "a & b?"})
    served = command_of("serve", ["model=x"])
    assert f"http://{served.host}:{served.port}/#from=en&to=de&text=a+%26+b%3F\n" in said
    [serve] = re.findall(r"^  make (serve.*)$", said, re.MULTILINE)
    verb, _, given = serve.partition(" ")
    words = ["make", "--dry-run", verb, given.replace('"', "")] if given else ["make", "--dry-run", verb]
    shown = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert f"nmt serve models=[{general},{none}]" in shown.replace("'", "")


def test_the_sentence_that_is_shown_is_one_that_shows_something() -> None:
    sources = ["a b", "c d e", "f g h", "i j k"]
    assert chosen(sources, 3, [True, False, True, True]) == "f g h"
    assert chosen(sources, 3, [True, False, False, False]) == "c d e"
    assert chosen(sources, 9, [False] * 4) == "a b"


def test_it_says_which_words_the_models_know(tmp_path: Path) -> None:
    (tmp_path / "train.en").write_text("The dog sees Anna's cat.\nthe cat runs\n")
    some = ["a b c d e f", "too short", "g h i j k l", "m n o p q r", "s t u v w x"]
    assert what_to_try(tmp_path / "train.en", some).splitlines() == [
        "",
        f"The models know the 6 words of {tmp_path}/train.en, and no others. Sentences to try:",
        "  a b c d e f",
        "  g h i j k l",
        "  m n o p q r",
    ]


def test_a_folder_of_runs_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    with pytest.raises(CheckpointError, match=r"^cannot write \S+ \(Not a directory\); .* another --runs$"):
        demo.main(["--runs", str(tmp_path / "runs")])


def test_words_of_another_demo_are_refused(tmp_path: Path) -> None:
    runs, words = tmp_path / "runs", ["train.max_epochs=2", "seed=3"]
    with pytest.raises(ConfigError, match="max_epoch"):
        demo.refuse_other_words("en_de", runs, ["train.max_epoch=2"])
    assert not runs.exists()
    demo.refuse_other_words("en_de", runs, ["seed=2"])
    demo.refuse_other_words("en_de", runs, words)  # nothing is trained yet
    (runs / "demo_en_de_general").mkdir()
    (runs / "demo_en_de_general" / "manifest.json").write_text("{}")
    demo.refuse_other_words("en_de", runs, words)
    demo.refuse_other_words("en_zh", runs, [])
    said = r"runs were trained with other words \(train\.max_epochs=2 seed=3\); give those, or another --runs"
    with pytest.raises(ConfigError, match=said):
        demo.refuse_other_words("en_de", runs, [])
    (runs / "demo_en_de.words").unlink()  # as an earlier version left them
    demo.refuse_other_words("en_de", runs, [])
    with pytest.raises(ConfigError, match=r"with other words \(none\)"):
        demo.refuse_other_words("en_de", runs, words)


def both(monkeypatch: pytest.MonkeyPatch, runs: Path, shown: str, other: str) -> None:
    """Trains two runs, of which Python does the work."""
    programs = {"general": shown, "none": other}
    monkeypatch.setattr(demo, "training", lambda pair, name, run, words: [sys.executable, "-c", programs[name]])
    demo.train("en_de", {name: runs / name for name in programs}, [])


def test_the_models_are_trained_at_the_same_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each waits for a file that the other one writes."""
    wait = (
        "from pathlib import Path\nfrom time import sleep\n"
        "Path({!r}).touch()\nwhile not Path({!r}).exists(): sleep(0.01)\nprint({!r})"
    )
    files = [str(tmp_path / name) for name in "ab"]
    both(monkeypatch, tmp_path, wait.format(*files, "of one"), wait.format(*reversed(files), "of the other"))
    assert (tmp_path / "none.log").read_text() == "of the other\n"
    said = capfd.readouterr().out
    assert "of one" in said
    assert "of the other" not in said


def test_a_training_that_fails_ends_the_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    start = time.monotonic()
    with pytest.raises(SystemExit, match=r"^2$"):
        both(monkeypatch, tmp_path, "raise SystemExit(2)", "import time; time.sleep(100)")
    assert time.monotonic() - start < 50


@pytest.mark.parametrize("code", [SAVED, INTERRUPTED])
def test_after_ctrl_c_both_trainings_may_save(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int) -> None:
    with pytest.raises(SystemExit, match=rf"^{code}$"):
        both(monkeypatch, tmp_path, f"raise SystemExit({code})", "import time; time.sleep(0.3); print('saved')")
    assert (tmp_path / "none.log").read_text() == "saved\n"


def test_the_other_training_says_why_it_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match=r"^3$"):
        both(monkeypatch, tmp_path, "pass", "print('error: no room'); raise SystemExit(3)")
    assert capsys.readouterr().err == "error: no room\n"
