"""Properties of whole commands, as those of fuzz_properties.py: any words typed, any bytes on standard input."""

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st

from helpers.fuzz_properties import Property, folder, reference_lines, streams, texts, translator
from nmt.cli.main import VERBS, Verb, main
from nmt.commands import translate
from nmt.config.compose import command_of
from nmt.config.verbs import TranslateCommand
from nmt.errors import NmtError

NEVER = ("train", "-m", "--multirun", "--run", "-r", "--info")  # with these Hydra makes folders of its own
KEYS = """seed name data data.train.src data.root attention attention.heads attention@attention.score train.lr
train.batch_tokens train encoder encoder.layers experiment search search.beam model input output n_best format
long_lines sentences shortlist trust resume resume_with optimizer.lr tokenizer.vocab_size hydra defaults _target_ space
trials src data@x hydra/launcher encoder/x""".split()
VALUES = """1 -1 1.5 1e400 true null [] [a,b] {a:1} {} x '' " [ ${seed} ${nothing} ${oc.env:HOME} ??? additive general
multi_head demo_en_de text runs/a [runs/a,runs/b] greedy a=b choice(1,2) range(3) glob(*) 1,2 é""".split()
VALUES += ["a b", " ", "\t", "\u2028", "7" * 400]
FLAGS = """--help -h --version --cfg job all hydra --resolve --package seed -c --config-dir nowhere . --config-name
--config-path -sc --shell-completion install=bash --experimental-rerun -- - -x --hydra-help""".split()

assignments = st.tuples(
    st.sampled_from(["", "", "", "+", "++", "~"]),
    st.one_of(st.sampled_from(KEYS), texts),
    st.one_of(st.sampled_from(VALUES), texts),
).map(lambda parts: f"{parts[0]}{parts[1]}={parts[2]}")
typed = st.lists(st.one_of(assignments, assignments, st.sampled_from(FLAGS), texts), max_size=4)
commands = st.tuples(st.one_of(st.sampled_from([*VERBS]), texts), typed)


@contextlib.contextmanager
def no_work() -> Iterator[None]:
    """Every verb returns at once, in an empty folder that stays empty."""
    module = ModuleType("idle_verb")
    module.__dict__["verb"] = lambda *_: None
    verbs = {name: Verb("", "idle_verb:verb") for name in VERBS}
    here, empty = Path.cwd(), folder() / "empty"
    empty.mkdir(exist_ok=True)
    os.chdir(empty)
    try:
        with patch.dict(sys.modules, {"idle_verb": module}), patch.dict(VERBS, verbs):
            yield
    finally:
        os.chdir(here)
    assert not any(empty.iterdir())


def any_words_are_a_command_or_one_line(given: tuple[str, list[str]]) -> None:
    """Exit code 0, or 2 and one line on standard error and nothing on standard output; no file appears."""
    verb, words = given
    if any(word in NEVER or word.startswith(("hydra.", "+hydra.", "++hydra.", "hydra/", "hydra=")) for word in words):
        return
    out, err = io.StringIO(), io.StringIO()
    with no_work(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([verb, *words])
        except SystemExit as end:  # of Hydra's own help
            code = end.code
    assert code in (0, 2)
    if code == 2:
        assert out.getvalue() == ""
        assert err.getvalue().startswith("error: ")
        assert err.getvalue().count("\n") == 1
        assert err.getvalue().endswith("\n")


@cache
def translate_command() -> TranslateCommand:
    """`nmt translate` with a small model."""
    translator()  # makes the run
    words = [f"model={folder() / 'run'}", "device=cpu", "precision=fp32", "workers=1"]
    command: TranslateCommand = command_of("translate", words)
    return command


WAYS: list[dict[str, Any]] = [
    {}, {"format": "jsonl"}, {"format": "jsonl", "alignments": True}, {"format": "jsonl", "n_best": 3, "buffer": 1},
    {"long_lines": "truncate", "buffer": 2}, {"sentences": "keep"},
]  # fmt: skip


def any_input_is_translated_or_named(given: tuple[bytes, int]) -> None:
    """A line out for every line in, in order; or the first line that is no UTF-8 is named, and no file is written."""
    content, number = given
    way = WAYS[number % len(WAYS)]
    output = folder() / "translations"
    output.unlink(missing_ok=True)
    command = replace(translate_command(), output=str(output), **way)
    lines, bad = reference_lines(content)
    stdin = io.TextIOWrapper(io.BytesIO(content))
    with patch.object(sys, "stdin", stdin), contextlib.redirect_stderr(io.StringIO()):
        try:
            assert translate.main(command) == 0
            refused = None
        except NmtError as error:
            refused = str(error)
    if bad is not None:
        assert refused is not None
        assert refused.startswith(f"standard input, line {bad}: byte 0x")
        assert not output.exists()
        return
    assert refused is None
    *found, rest = output.read_bytes().decode().split("\n")
    assert rest == ""
    assert len(found) == len(lines)
    assert all(len(line.splitlines()) <= 1 for line in found)
    if "format" in way:
        assert [json.loads(line)["source"] for line in found] == lines


COMMANDS = {
    "commands": Property(commands, any_words_are_a_command_or_one_line, 0.003),
    "translate": Property(st.tuples(streams, st.integers(0, 255)), any_input_is_translated_or_named, 0.003),
}
