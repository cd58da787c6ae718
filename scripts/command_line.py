"""The command lines of scripts: `python scripts/FOLDER` does everything, `python scripts/FOLDER PART` one part."""

import argparse
import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
ROOT = SCRIPTS.parent


def run(folder: str, parts: Mapping[str, str], words: Sequence[str]) -> int:
    """The exit code of the part that the first word names, of FOLDER.everything without one.

    The exit codes are those of `nmt`.

    `parts`: word -> module with a function `main(words)`; only the one that runs is imported.
    """
    from nmt.cli.main import BAD_INPUT, INTERRUPTED  # not needed to write the demo corpora
    from nmt.errors import NmtError

    if not words or words[0].startswith("-"):
        module, rest = f"{folder}.everything", words
    elif words[0] in parts:
        module, rest = parts[words[0]], words[1:]
    else:
        print(f"error: no part {words[0]!r} in scripts/{folder}; choose from: {', '.join(parts)}", file=sys.stderr)
        return BAD_INPUT
    try:
        code: int = importlib.import_module(module).main(rest)
    except NmtError as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    return code


def new_parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """For `python scripts/NAME`; the description is printed as it is written."""
    return argparse.ArgumentParser(
        prog=f"python scripts/{name}", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
