"""Finds constructions that make a sentence hard to read.

    python scripts/docs prose                                 (what `make check` runs)
    python scripts/docs prose docs/serve.md nmt/model/*.py    (some files)

It reads all pages, and the docstrings and comments of the program, the scripts and the tests. The house list is RULES;
what may stay is in prose_exceptions.yaml. Code, and the length of table cells, do not count.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from command_line import ROOT, new_parser
from docs.prose_text import READERS, sentences_of

LONGEST = 45  # words of a sentence
EXCEPTIONS = Path(__file__).with_name("prose_exceptions.yaml")
LEFT_OUT = ("docs/comparisons/",)  # written by nmt compare


@dataclass(frozen=True)
class Rule:
    """A construction to avoid, what to write, and a sentence that has it."""

    pattern: re.Pattern[str]
    instead: str
    example: str


def rule(pattern: str, instead: str, example: str) -> Rule:
    """A rule that ignores case."""
    return Rule(re.compile(pattern, re.IGNORECASE), instead, example)


RULES = (
    rule(r"\b(is|are|was|were) said\b", "name who says it: the report lists, stderr names", "It is said on stderr."),
    rule(
        r"\b(stand|stands|stood)\b(?! for\b|-)",
        "is, are, has: 'the figures are in the table'",
        "What is used stands on standard error.",
    ),
    rule(
        r"\bwhat (is|are|was|were|has|have|had|holds?|an?\b)[^.,;:?!()]* (is|are|was|were|stands?|comes|goes|stays)\b",
        "begin with a noun: 'the text that …'",
        "What is finished is not done again.",
    ),
    rule(r"\bwhose\b[^.?!]*\bwhose\b", "two sentences", "A model whose files and whose name differ."),
    rule(
        r"(?<![^.?!:] )(?<!\w)Of (?!course\b)[^.?!,]*,? (is|are|was|were|has|have)\b",
        "subject first",
        "Of each group one of its files is chosen.",
    ),
    rule(r"\bthose (that|which|who|whose)\b", "repeat the noun", "Those that are there stay."),
    rule(r"\b(is|are) (?-i:none)\b", "'is not a …', 'there is no …'", "Numbers that are none end the run."),
    rule(r"\bno numbers?\b", "NaN, or not a number", "A loss that is no number changes nothing."),
    rule(r"\bbut for\b", "except for", "All of it but for the last line."),
    rule(
        r"\blets who\b|\bfor who\b|\b(?<!those )(?<!anyone )who (watch|type|read|come|wait)s? (is|are|can|gets?|has)\b",
        "name the person",
        "Lets who watches see it.",
    ),
    rule(r"\bnothing else is lost\b|\bas many hypotheses\b", "say it plainly", "Nothing else is lost."),
    rule(
        r"\bscript that was not kept\b", "give the command, or leave the figure out", "By a script that was not kept."
    ),
    rule(r"\bis to be had\b|\bare to be had\b|\bone and all\b", "plain words", "It is to be had."),
)


@dataclass(frozen=True)
class Finding:
    """A sentence that breaks a rule."""

    file: str
    line: int
    sentence: str
    instead: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.instead}: {self.sentence}"


def main(words: Sequence[str]) -> int:
    """The exit code: 1 where there is something to rewrite, or an exception that nothing needs."""
    parser = new_parser("docs prose", __doc__)
    parser.add_argument("files", nargs="*", type=Path, help="files to read (all)")
    arguments = parser.parse_args(words)
    files = arguments.files or checked_files()
    for file in files:
        if file.suffix not in READERS or not file.is_file():
            parser.error(f"{file} is not a file of these kinds: {', '.join(READERS)}")
        try:
            file.read_text("utf-8")
        except UnicodeDecodeError as error:
            parser.error(f"{file} is not UTF-8 (byte {error.start + 1}); convert it")
    allowed: dict[str, list[str]] = yaml.safe_load(EXCEPTIONS.read_text("utf-8")) or {}
    found = [finding for file in files for finding in findings(file.resolve(), allowed)]
    for finding in found:
        print(finding, file=sys.stderr)
    stale = [] if arguments.files else unneeded(files, allowed)
    for file, text in stale:
        print(f"{file} has no sentence that needs the exception {text!r}; delete it", file=sys.stderr)
    if found or stale:
        print(f"{len(found)} sentences to rewrite; exceptions: {EXCEPTIONS.relative_to(ROOT)}", file=sys.stderr)
    return 1 if found or stale else 0


def checked_files() -> list[Path]:
    """Every page that people read, the program, the scripts and the tests."""
    docs = sorted((ROOT / "docs").rglob("*.md"))
    named = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    program = [*sorted((ROOT / "nmt").rglob("*.py")), *sorted((ROOT / "configs").rglob("*.yaml"))]
    others = [path for folder in ("scripts", "tests") for path in sorted((ROOT / folder).rglob("*.py"))]
    return [path for path in [*named, *docs, *program, *others] if not shown(path).startswith(LEFT_OUT)]


def shown(path: Path) -> str:
    """A file's name in messages."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def findings(path: Path, allowed: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    """What to rewrite in a file; a sentence with one of the texts allowed in it may stay."""
    name = shown(path)
    for line, sentence, in_table in sentences_of(path):
        if not any(text in sentence for text in allowed.get(name, ())):
            for instead in broken(sentence, in_table):
                yield Finding(name, line, sentence, instead)


def unneeded(files: Sequence[Path], allowed: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Exceptions that no sentence needs."""
    needing = {
        shown(path): [each for _, each, in_table in sentences_of(path) if list(broken(each, in_table))]
        for path in files
        if shown(path) in allowed
    }
    return [
        (name, text)
        for name, texts in allowed.items()
        for text in texts
        if not any(text in sentence for sentence in needing.get(name, ()))
    ]


def broken(sentence: str, in_table: bool = False) -> Iterator[str]:
    """What to write instead, for each rule that the sentence breaks."""
    for each in RULES:
        if each.pattern.search(sentence):
            yield each.instead
    words = len(re.findall(r"\w[\w'’.,/-]*", sentence))
    if words > LONGEST and not in_table:
        yield f"{words} words, two sentences"
