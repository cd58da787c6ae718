"""The command lines of scripts: `python scripts/FOLDER` does everything, `python scripts/FOLDER PART` one part."""

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

SCRIPTS = Path(__file__).resolve().parent
ROOT = SCRIPTS.parent
STOPS = (signal.SIGTERM, signal.SIGHUP)  # from outside: `kill`, `timeout`, a scheduler; a terminal that is closed


def run(folder: str, parts: Mapping[str, str], words: Sequence[str]) -> int:
    """The exit code of the part that the first word names, of FOLDER.everything without one.

    The exit codes are those of `nmt`. What a part has begun ends with it, whatever stops it.

    `parts`: word -> module with a function `main(words)`; only the one that runs is imported.
    """
    from nmt.cli.exit_codes import BAD_INPUT, exit_code_of  # not needed to write the demo corpora

    if not words or words[0].startswith("-"):
        module, rest = f"{folder}.everything", words
    elif words[0] in parts:
        module, rest = parts[words[0]], words[1:]
    else:
        print(f"error: no part {words[0]!r} in scripts/{folder}; choose from: {', '.join(parts)}", file=sys.stderr)
        return BAD_INPUT
    stop_by_exception()

    def main() -> int:
        code: int = importlib.import_module(module).main(rest)
        return code

    return exit_code_of(main, f"scripts/{folder}")


def stop_by_exception() -> None:
    """Makes what stops this process from outside an exception, so that each block ends what it has begun."""
    own = os.getpid()

    def leave(number: int, frame: FrameType | None) -> None:
        if os.getpid() == own:
            sys.exit(128 + number)
        signal.signal(number, signal.SIG_DFL)  # a fork ends as any process does
        os.kill(os.getpid(), number)

    for number in STOPS:
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup has SIGHUP ignored
            signal.signal(number, leave)


def new_parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """For `python scripts/NAME`; the description is printed as it is written."""
    return argparse.ArgumentParser(
        prog=f"python scripts/{name}", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def one_or_more(text: str) -> int:
    """A whole number from 1 on."""
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 1 on")
    return int(text)


def above_zero(text: str) -> float:
    """A number above 0, such as seconds."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return number


def own_and_words(parser: argparse.ArgumentParser, given: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Own options, and words for nmt; refuses options that are not the parser's."""
    arguments, words = parser.parse_known_args(given)
    if unknown := [word for word in words if word.startswith("-")]:
        parser.error(f"no option {unknown[0]}; --help lists them")
    return arguments, words
