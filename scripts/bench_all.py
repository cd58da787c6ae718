"""Runs the benchmarks one after another and writes docs/speed.md and the table of the README.

    make bench ARGS="--multi30k FOLDER --tatoeba FOLDER"           (an hour on two idle cores, the first time half more)
    make bench ARGS="--multi30k FOLDER --tatoeba FOLDER --quick"   (short forms: to see that everything runs)

Without --quick the README gets the tables of scripts/bench_peers.py and docs/speed.md all that was printed.
"""

import argparse
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import torch
from bench import machine

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- written by make bench -->\n", "<!-- end of what make bench writes -->\n"
SCORES = "dot,scaled_dot,cosine,general,reduced_rank,additive,key_value,multi_head,none"


@dataclass(frozen=True)
class Bench:
    """A heading of docs/speed.md, the command whose output stands under it, and what its short and full forms add."""

    title: str
    words: list[str]
    short: list[str]
    full: list[str]


def main(words: Sequence[str]) -> int:
    """The exit code of the first benchmark that fails."""
    arguments = parse_arguments(words)
    folders = [folder.expanduser().resolve() for folder in (arguments.multi30k, arguments.tatoeba, arguments.work)]
    sections = []
    for bench in benches(*map(str, folders)):
        command = [*bench.words, *(bench.short if arguments.quick else bench.full)]
        shown = shlex.join(["python", *command])
        print(f"\n{bench.title}\n{shown}\n", flush=True)
        sections.append((bench.title, shown, said(command)))
    if not arguments.quick:
        write(sections, dict(zip(map(str, folders), ("MULTI30K", "TATOEBA", "WORK"), strict=True)))
    return 0


def parse_arguments(words: Sequence[str]) -> argparse.Namespace:
    """What was typed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--multi30k", type=Path, required=True, help="folder of Multi30k")
    parser.add_argument("--tatoeba", type=Path, required=True, help="folder of Tatoeba, English and German")
    parser.add_argument(
        "--work", type=Path, default=Path("~/.cache/nmt/peers"), help="folder of the other toolkits (%(default)s)"
    )
    parser.add_argument("--quick", action="store_true", help="short forms, nothing is written")
    arguments = parser.parse_args(words)
    for folder in (arguments.multi30k, arguments.tatoeba):
        if not (folder / "train.de").is_file():
            parser.error(f"{folder} has no train.de; name the folder with train.en and train.de")
    return arguments


def benches(m30k: str, tatoeba: str, work: str) -> list[Bench]:
    """In the order in which they run: the first makes the model that is translated with."""
    train = ["scripts/bench_train.py", "--multi30k", m30k]
    peers = ["scripts/bench_peers.py", "--multi30k", m30k, "--work", work]
    translate = ["scripts/bench_translate.py", "--multi30k", m30k, "--model", f"{work}/runs/reference"]
    plain = ["shortlist=false", "--ab", "precision=fp32"]
    short, full = ["--seconds", "3"], ["--seconds", "15"]
    return [
        Bench("Beside other toolkits", peers, ["--rounds", "1", "--seconds", "5"], ["--seconds", "20"]),
        Bench("Training, every score", [*train, "--attention", SCORES], short, full),
        Bench("Training in float32", [*train, "--precision", "fp32"], short, full),
        Bench("Training with input feeding", [*train, "decoder.input_feeding=true"], short, full),
        Bench("Translation, beside plain float32", [*translate, *plain], ["--rounds", "1"], ["--rounds", "3"]),
        Bench("Translation with a shortlist", [*translate, "shortlist=true"], ["--rounds", "1"], ["--rounds", "3"]),
        Bench("Start-up and data", ["scripts/bench_data.py", "--tatoeba", tatoeba], ["--rounds", "1"], []),
        Bench("How cost grows", ["scripts/bench_scale.py"], ["--quick"], ["--output", "docs/speed"]),
    ]


def said(command: list[str]) -> str:
    """What a command prints, shown as it comes; its failure ends everything."""
    with subprocess.Popen([sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    if process.returncode:
        sys.exit(process.returncode)
    return "".join(lines)


def write(sections: list[tuple[str, str, str]], names: Mapping[str, str]) -> None:
    """docs/speed.md, and the README's part between the two marks; folders of this machine get names."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    where = f"{datetime.now(UTC).date()}, {machine.describe(device)}"
    body = "".join(f"## {title}\n\n```\n{command}\n```\n\n{fenced(text)}\n\n" for title, command, text in sections)
    page = f"# Speed\n\nWritten by `make bench` on {where}.\n\n{body}".rstrip() + "\n"
    for folder, name in names.items():
        page = page.replace(folder, name)
    (ROOT / "docs" / "speed.md").write_text(page, "utf-8")
    readme = (ROOT / "README.md").read_text("utf-8")
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    (ROOT / "README.md").write_text(before + BEGIN + f"\n{sections[0][2].strip()}\n\n" + END + after, "utf-8")


def fenced(text: str) -> str:
    """Output as Markdown shows it: tables of its own stay as they are."""
    return text.strip() if "\n|" in text else f"```\n{text.rstrip()}\n```"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
