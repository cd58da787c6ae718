"""Runs the benchmarks one after another and writes docs/speed.md.

    make bench ARGS="--multi30k FOLDER --tatoeba FOLDER"           (1.5 hours on two idle cores, the first time 2)
    make bench ARGS="--multi30k FOLDER --tatoeba FOLDER --quick"   (short forms: to see that everything runs)

Without --quick docs/speed.md gets all that was printed. --only does some sections again (or goes on after an
interruption); the page keeps all other sections. A part alone, with the options that it has: python scripts/bench PART
--help, where PART is one of those at the end.
"""

import argparse
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench import machine
from bench.__main__ import PARTS
from bench.arguments import WORK, add_multi30k, add_tatoeba, check_multi30k, check_tatoeba, chosen
from bench.workers import precisions
from command_line import ROOT, new_parser
from processes import started

NAMES = [
    "peers", "scores", "fp32", "feeding", "busy", "workers",
    "translation", "shortlist", "busy_translation", "data", "scale",
]  # fmt: skip
SCRIPT = "scripts/bench"
SCORES = "dot,scaled_dot,cosine,general,reduced_rank,additive,key_value,multi_head,none"


@dataclass(frozen=True, eq=False)
class Bench:
    """A part: its heading in docs/speed.md, the command whose output it shows, what short and full forms add."""

    name: str
    title: str
    words: list[str]
    short: list[str]
    full: list[str]


def main(words: Sequence[str]) -> int:
    """The exit code of the first benchmark that fails."""
    arguments = parse_arguments(words)
    folders = [folder.expanduser().resolve() for folder in (arguments.multi30k, arguments.tatoeba, arguments.work)]
    names = dict(zip(map(str, folders), ("MULTI30K", "TATOEBA", "WORK"), strict=True))
    listed = benches(*map(str, folders))
    for bench in listed:
        if bench.name in arguments.only:
            command = [*bench.words, *(bench.short if arguments.quick else bench.full)]
            shown = shlex.join(["python", *command])
            print(f"\n{bench.title}\n{shown}\n", flush=True)
            printed = said(command)
            if not arguments.quick:
                text = f"{said_of_now()}\n\n```\n{shown}\n```\n\n{fenced(printed)}\n"
                write(bench.title, replaced(text, names))
    return 0


def parse_arguments(words: Sequence[str]) -> argparse.Namespace:
    """What was typed."""
    parser = new_parser("bench", __doc__)
    parser.epilog = f"PART: {', '.join(PARTS)}"
    add_multi30k(parser)
    add_tatoeba(parser)
    parser.add_argument("--work", type=Path, default=WORK, help="folder of the other toolkits (%(default)s)")
    parser.add_argument("--only", default=",".join(NAMES), help=f"some of {', '.join(NAMES)}, with commas (all)")
    parser.add_argument("--quick", action="store_true", help="short forms, nothing is written")
    arguments = parser.parse_args(words)
    arguments.only = chosen(parser, "--only", arguments.only, NAMES)
    check_multi30k(parser, arguments.multi30k, "train.de")
    check_tatoeba(parser, arguments.tatoeba)
    return arguments


def benches(m30k: str, tatoeba: str, work: str) -> list[Bench]:
    """In the order in which they run: the first makes the model that is translated with."""
    train = [SCRIPT, "train", "--multi30k", m30k]
    peers = [SCRIPT, "peers", "--multi30k", m30k, "--work", work]
    translate = [SCRIPT, "translate", "--multi30k", m30k, "--model", f"{work}/runs/reference"]
    plain = ["shortlist=false", "--ab=precision=fp32"]
    short, full = ["--seconds", "3"], ["--seconds", "15"]
    once, thrice = ["--rounds", "1"], ["--rounds", "3"]
    return [
        Bench(
            "peers",
            "Beside other toolkits",
            peers,
            [*once, "--seconds", "5"],
            ["--rounds", "4", "--seconds", "20"],
        ),
        Bench("scores", "Training, every score", [*train, "--attention", SCORES], short, [*thrice, "--seconds", "8"]),
        Bench("fp32", "Training in float32", [*train, "--precision", "fp32"], short, full),
        Bench("feeding", "Training with input feeding", [*train, "decoder.input_feeding=true"], short, full),
        Bench(
            "busy",
            "Training beside busy neighbours",
            [SCRIPT, "busy", "--multi30k", m30k],
            ["--recipes", "demo", "--seconds", "2"],
            ["--neighbours", "0,1,2,3,4", *thrice, "--seconds", "10"],
        ),
        Bench(
            "workers",
            "Training in threads and processes",
            [SCRIPT, "workers", "--multi30k", m30k],
            ["--updates", "10", "--precision", precisions()[-1]],
            ["--updates", "200"],
        ),
        Bench(
            "translation",
            "Translation, beside plain float32",
            [*translate, *plain],
            once,
            thrice,
        ),
        Bench(
            "shortlist",
            "Translation with a shortlist",
            [*translate, "shortlist=true"],
            once,
            thrice,
        ),
        Bench(
            "busy_translation",
            "Translation beside busy neighbours",
            [SCRIPT, "busy_translation", "--multi30k", m30k, "--model", f"{work}/runs/reference"],
            ["--singles", "10", "--sentences", "100"],
            ["--neighbours", "0,1,2,3,4", *thrice],
        ),
        Bench("data", "Start-up and data", [SCRIPT, "data", "--tatoeba", tatoeba], once, thrice),
        Bench("scale", "How cost grows", [SCRIPT, "scale"], ["--quick"], ["--output", "docs/speed"]),
    ]


def said(command: list[str]) -> str:
    """What a command prints, shown as it comes; its failure ends everything."""
    with started([sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    if process.returncode:
        sys.exit(process.returncode)
    return "".join(lines)


def replaced(text: str, names: Mapping[str, str]) -> str:
    """The text with names in place of this machine's folders; the longest first, which may lie in another."""
    for folder, name in sorted(names.items(), key=lambda each: -len(each[0])):
        text = re.sub(rf"{re.escape(folder)}(?![\w.-])", name, text)
    return text


def said_of_now() -> str:
    """When and on what something is measured."""
    return f"{datetime.now(UTC).date()}, {machine.describe()}"


def write(title: str, text: str) -> None:
    """One section of docs/speed.md; the others stay. The pictures are those of the last part, how cost grows."""
    page = ROOT / "docs" / "speed.md"
    why = (
        "[Where the time goes](explanation/speed.md) explains them; [these notes](speed-tried.md) list what was tried."
    )
    sections = (sections_of(page.read_text("utf-8")) if page.exists() else {}) | {title: text}
    body = "".join(f"\n## {name}\n\n{each}" for name, each in sections.items())
    pictures = sorted((ROOT / "docs" / "speed").glob("*.png"))
    shown = "".join(f"\n![{path.stem.replace('_', ' ')}](speed/{path.name})\n" for path in pictures)
    page.write_text(
        f"# Speed\n\n`make bench` writes these figures, except those of a GPU. {why}\n{body}{shown}", "utf-8"
    )


def sections_of(page: str) -> dict[str, str]:
    """Title -> text of each section of the page, without its pictures."""
    _, *sections = re.split("^## ", re.sub(r"\n!\[.*\]\(.*\)\n", "", page), flags=re.MULTILINE)
    return {title: f"{text.strip()}\n" for title, _, text in (each.partition("\n") for each in sections)}


def fenced(printed: str) -> str:
    """Output as Markdown shows it: tables of its own stay as they are."""
    printed = printed.strip()
    return printed if "\n|" in printed else f"```\n{printed}\n```"
