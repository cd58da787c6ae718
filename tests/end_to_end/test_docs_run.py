"""Commands of README and docs/ do their work, with small random models and small files in place of real ones."""

import gzip
import io
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.pages import PAGES, ROOT, STRICT, Typed, commands, in_blocks
from helpers.servers import client_of
from helpers.small_runs import GERMAN, make_run, sentences

from nmt.cli.main import main

EXPENSIVE = {  # what of a command does not run here, and why; all of it is composed in test_docs.py
    "train": "minutes; shortened below",
    "compare": "trains",
    "tune": "trains",
    "prepare": "makes a tokenizer of whole corpora",
    "doctor": "trains; tests/commands/test_doctor.py",
    "serve": "runs until it is ended; tests/serve",
    "attentions": "seconds; tests/commands/test_attentions.py",
    "model=runs/demo_en_de_general": "draws what another command of the pages draws",
    "shortlist": "reads a training corpus; tests/search/test_shortlist.py",
    "scorer=runs/en-de": "scores a corpus by two models",
    "test_set=wmt14": "downloads",
    "precision=bf16": "not every processor has it",
}
INSTEAD = {"head=2": ("runs/mine", "runs/heads")}  # a word: the run that has what it needs
SHORT = (
    *("train.max_updates=1", "train.validate_every=1", "train.bleu_sentences=1", "train.workers=1", "cache_dir=cache"),
    *("model.d_embed=8", "encoder.d_hidden=8", "decoder.d_hidden=8", "data.dev_size=2", "data.test_size=2"),
)
LINES = 3


def is_cheap(command: Typed) -> bool:
    program, verb, *rest = command.words
    if command.error is not None or {"--help", "--version"} & {verb, *rest}:
        return True
    return program == "nmt" and not {verb, *rest} & EXPENSIVE.keys()


CHEAP = {
    f"{name}: {' '.join(command.words)}": command
    for command, name in commands().items()
    if name in STRICT and is_cheap(command)
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files and runs that the pages name."""
    folder = tmp_path_factory.mktemp("world")
    sources = [f"{number} {text}" for number, text in enumerate(sentences(LINES, words=GERMAN))]
    targets = [" ".join(reversed(line.split())) for line in sources]
    for side, lines in (("en", sources), ("de", targets)):
        real = (ROOT / "data" / "demo_en_de" / f"train.{side}").read_text("utf-8").splitlines()[:40]
        for name, text in (
            ("my", real),
            ("new", lines),
            ("old", lines),
            ("general", lines),
            ("dev", lines),
            ("test", lines),
        ):
            (folder / f"{name}.{side}").write_text("".join(f"{line}\n" for line in text), "utf-8")
        cues = (f"{n}\n00:{n:02}:01,000 --> 00:{n:02}:02,500\n{line}\n\n" for n, line in enumerate(lines))
        (folder / f"film.{side}.srt").write_text("".join(cues))
    (folder / "new.align").write_text("0-0\n" * LINES)
    (folder / "begin.de").write_text("der Hund \n" * LINES)
    (folder / "pairs.tsv").write_text(
        "en\tde\n" + "".join(f"{s}\t{t}\n" for s, t in zip(sources, targets, strict=True))
    )
    (folder / "newstest-src.en.sgm").write_text(sgm("srcset", 'srclang="en"', sources))
    (folder / "newstest-ref.de.sgm").write_text(sgm("refset", 'srclang="en" trglang="de"', targets))
    (folder / "newstest.en-de.xml").write_text(wmt_xml(sources, targets))
    (folder / "in").mkdir()
    for name in "ab":
        with gzip.open(folder / "in" / f"{name}.gz", "wt") as file:
            file.write("".join(f"{line}\n" for line in sources))
    split = {"files": None, "weights": None}
    data = {
        "root": str(folder),
        **{name: split | {"src": f"{name}.en", "tgt": f"{name}.de"} for name in ("train", "dev", "test")},
    }
    short = {"max_length_a": 2.0, "max_length_b": 0.5}
    for seed, name in enumerate(("mine", "other", "tuned", "a", "b", "c", "demo_en_de_general")):
        make_run(folder / "runs" / name, seed=seed, data=data, **short)
    shutil.copytree(folder / "runs" / "mine", folder / "runs" / "first")
    for name in ("general", "replayed"):  # of the same beginning
        shutil.copytree(folder / "runs" / "tuned", folder / "runs" / name)
    make_run(folder / "runs" / "heads", "multi_head", data=data, **short)
    make_run(folder / "runs" / "demo_en_de_none", "none", data=data, **short)
    make_run(folder / "runs" / "back", data=data | {"src_lang": "de", "tgt_lang": "en"}, **short)
    return folder


def sgm(kind: str, attributes: str, lines: list[str]) -> str:
    """A test set as NIST has it."""
    segments = "".join(f'<seg id="{number}">{line}</seg>\n' for number, line in enumerate(lines, 1))
    return f'<{kind} setid="small" {attributes}>\n<doc docid="one" sysid="ref">\n{segments}</doc>\n</{kind}>\n'


def wmt_xml(sources: list[str], targets: list[str]) -> str:
    """A test set as WMT has it."""
    sides = ""
    for tag, lang, lines in (("src", "en", sources), ("ref", "de", targets)):
        segments = "".join(f'<seg id="{number}">{line}</seg>' for number, line in enumerate(lines, 1))
        sides += f'<{tag} lang="{lang}"><p>{segments}</p></{tag}>'
    return f'<?xml version="1.0" encoding="utf-8"?>\n<dataset id="small"><doc id="one">{sides}</doc></dataset>\n'


@pytest.fixture
def run(world: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Runs a command in that folder; standard input is a sentence and, at the prompt, the end."""
    monkeypatch.chdir(world)

    def in_world(command: Typed, *more: str) -> int:
        _, *words = command.words
        given = {"interactive": "der Hund\n:attention\n:quit\n"}.get(words[0], (world / "new.en").read_text())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        for word, (old, new) in INSTEAD.items():
            if word in words:
                words = [each.replace(old, new) for each in words]
        return main([*words, *more])

    return in_world


@pytest.mark.slow
@pytest.mark.parametrize("place", [place for place, command in CHEAP.items() if command.error is None])
def test_a_cheap_command_does_its_work(
    place: str, world: Path, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    for made_before in ("clean", "runs/both"):
        shutil.rmtree(world / made_before, ignore_errors=True)
    assert run(CHEAP[place]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("place", [place for place, command in CHEAP.items() if command.error is not None])
def test_a_mistake_gets_the_line_that_the_page_shows(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    _, *words = CHEAP[place].words
    error = CHEAP[place].error or ""
    for name, count in re.findall(r"(\S+\.\w\w) has ([\d,]+)", error):
        Path(name).write_text(f"der Hund {name}\n" * int(count.replace(",", "")))
    assert (main(words), capsys.readouterr().err.splitlines()[-1]) == (2, error)


@pytest.mark.slow
def test_your_own_files_in_four_commands(
    world: Path, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    """README's block, in its order, with one update; and its next one, which resumes."""
    block = PAGES["README.md"].partition("## Your own files")[2].partition("\n## ")[0]
    typed = {command.words[1]: command for command in in_blocks(block, strict=True)}
    shutil.move(world / "runs" / "mine", world / "kept")
    try:
        assert run(typed["train"], *SHORT) == 0, capsys.readouterr().err
        for verb in ("evaluate", "translate"):
            assert run(typed[verb], "search=greedy") == 0, capsys.readouterr().err
        assert capsys.readouterr().out.count("\n") >= LINES
        with client_of(*typed["serve"].words[2:]) as client:
            answer = client.post("/translate", json={"q": "der Hund", "source": "en", "target": "de"})
            assert answer.status_code == 200, answer.text
        assert run(Typed(("nmt", "train", "resume=runs/mine"))) == 0, capsys.readouterr().err
    finally:
        shutil.rmtree(world / "runs" / "mine", ignore_errors=True)
        shutil.move(world / "kept", world / "runs" / "mine")
