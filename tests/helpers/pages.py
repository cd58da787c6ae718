"""The commands that README and docs/ tell people to type."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

from nmt.cli.main import VERBS

ROOT = Path(__file__).parents[2]
HOW_TO = [path for kind in ("how-to", "tutorial") for path in sorted((ROOT / "docs" / kind).glob("*.md"))]
STRICT = ("README.md", *(str(path.relative_to(ROOT)) for path in HOW_TO))  # every line of a block is known
LENIENT = (  # what else people read; the pages of comparisons are written by nmt compare
    "CONTRIBUTING.md",
    "data/README.md",
    *(
        name
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if (name := str(path.relative_to(ROOT))) not in STRICT and not name.startswith("docs/comparisons/")
    ),
)
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in (*STRICT, *LENIENT)}
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = ("", "sh", "console")  # languages of blocks that hold commands; output of programs is `text`, `json`, …
ELSEWHERE = frozenset("cd cp curl eval git head paste rm source".split())  # programs that are not ours
BARE = frozenset(f"nmt {verb}" for verb in VERBS)  # names a verb, is no command


@dataclass(frozen=True)
class Typed:
    """A command of ours."""

    words: tuple[str, ...]  # as a shell passes them on, from `nmt` or `make`
    piped: bool = False  # does it read standard input?
    error: str | None = None  # what the page says that it prints


class UnknownLineError(ValueError):
    """A line in a block of commands that no test knows."""


def split(line: str) -> list[str]:
    """The words of a line: without comments, with a word of its own for each redirection and pipe."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|<>&")
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    for word in lexer:
        if word.startswith("#"):
            break
        words.append(word)
    return words


def typed(line: str) -> Typed | None:
    """The last command of ours on a line; None where all programs on it are others'."""
    words = split(line)
    starts = [
        at for at, word in enumerate(words[:-1])
        if word in ("nmt", "make") and re.fullmatch(r"[a-z][\w-]*" if at else r"[a-z][\w-]*|--\w+", words[at + 1])
    ]  # fmt: skip
    if not starts:
        return None
    ours, piped = words[starts[-1] :], "|" in words[: starts[-1]]
    kept: list[str] = []
    while ours:
        word = ours.pop(0)
        if re.fullmatch(r"[|&]+", word):
            break
        if re.fullmatch(r"[<>]+", word):
            piped |= word == "<"
            ours.pop(0)
        else:
            kept.append(word)
    return Typed(tuple(kept), piped)


def in_blocks(page: str, strict: bool) -> list[Typed]:
    """Every command of ours in blocks of code; a line that is no command known here is an error if `strict`."""
    found: list[Typed] = []
    for language, text in BLOCK.findall(page):
        if language not in SHELL:
            continue
        lines = re.sub(r"\\\n\s*", " ", text).splitlines()
        for line, after in zip(lines, [*lines[1:], ""], strict=True):
            if language == "console" and not line.startswith("$ "):
                continue  # what a command prints
            if not line.strip() or (not strict and ("…" in line or line.count('"') % 2 or line.count("'") % 2)):
                continue
            command = typed(line.removeprefix("$ "))
            if command is not None:
                found.append(replace(command, error=after if after.startswith("error: ") else None))
            elif strict and not is_known(split(line)):
                raise UnknownLineError(line)
    return found


def is_known(words: Sequence[str]) -> bool:
    """A comment, a program that is not ours, or a script of this repository."""
    if not words or words[0] in ELSEWHERE:
        return True
    return words[0] == "python" and (ROOT / words[1] / "__main__.py").exists()


def in_text(page: str) -> list[Typed]:
    """Every command in running text and tables, between backquotes; with … it is part of one."""
    spans = re.findall(r"`([^`\n]+)`", BLOCK.sub("", page))
    whole = [text for text in spans if re.match(r"(?:nmt|make) [a-z-]", text) and "…" not in text and text not in BARE]
    found = [command for text in whole if (command := typed(text)) is not None]
    return [with_a_model(command) for command in found]


def with_a_model(command: Typed) -> Typed:
    """Running text may leave the model out, as in `nmt evaluate sentences=split`."""
    if command.words[1] not in ("evaluate", "translate") or any(word.startswith("model=") for word in command.words):
        return command
    return replace(command, words=(*command.words, "model=runs/mine"))


def script_commands() -> dict[tuple[str, ...], str]:
    """The words after `python scripts/` of every such line of all pages, with the first page that has it."""
    found: dict[tuple[str, ...], str] = {}
    for name, page in PAGES.items():
        for language, text in BLOCK.findall(page):
            lines = re.sub(r"\\\n\s*", " ", text).splitlines() if language in SHELL else []
            for line in filter(re.compile("python scripts/").search, lines):
                words = split(line.removeprefix("$ "))
                at = next((at for at, word in enumerate(words) if word.startswith("scripts/")), None)
                if at is not None and words[at - 1 : at] == ["python"]:
                    kept = tuple(takewhile(lambda word: not re.fullmatch("[|&<>]+", word), words[at:]))
                    found.setdefault((kept[0].removeprefix("scripts/"), *kept[1:]), name)
    return found


def commands() -> dict[Typed, str]:
    """Every command once, with the first page that has it."""
    found: dict[Typed, str] = {}
    for name, page in PAGES.items():
        for command in [*in_blocks(page, name in STRICT), *in_text(page)]:
            found.setdefault(command, name)
    return found
