"""What several benchmarks are given in the same words."""

import argparse
from pathlib import Path

WORK = Path("~/.cache/nmt/peers")  # of the other toolkits, unless another folder is named


def add_multi30k(parser: argparse.ArgumentParser) -> None:
    """The corpus of most of them."""
    parser.add_argument("--multi30k", type=Path, required=True, help="folder of Multi30k")


def check_multi30k(parser: argparse.ArgumentParser, folder: Path, file: str = "train.en") -> None:
    """Refuses a folder without this file of the corpus."""
    check_corpus(parser, "--multi30k", folder, file, "train, val and test_2016_flickr")


def check_corpus(parser: argparse.ArgumentParser, option: str, folder: Path, file: str, splits: str) -> None:
    """Refuses a folder without this file."""
    if not (folder / file).is_file():
        parser.error(f"{option} {folder} has no {file}; name the folder with {splits}")


def check_rounds(parser: argparse.ArgumentParser, rounds: int) -> None:
    """Refuses fewer than one."""
    if rounds < 1:
        parser.error(f"--rounds {rounds} measures nothing; give 1 or more")


def chosen(parser: argparse.ArgumentParser, option: str, text: str, known: list[str]) -> list[str]:
    """What stands between the commas; refuses what is not known."""
    names = text.split(",")
    if unknown := sorted(set(names) - set(known)):
        parser.error(f"{option} {text}: {', '.join(unknown)} is none of {', '.join(known)}")
    return names


def whole_numbers(text: str) -> list[int]:
    """Numbers with commas between them."""
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not whole numbers with commas between them") from None
