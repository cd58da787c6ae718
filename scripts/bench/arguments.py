"""What several benchmarks are given in the same words."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from command_line import above_zero, one_or_more, own_and_words

WORK = Path("~/.cache/nmt/peers")  # of the other toolkits, unless another folder is named
RECIPES = {"demo": "demo_en_de", "narrow": "multi30k_en_de", "reference": "reference"}  # experiments, by short names


def add_multi30k(parser: argparse.ArgumentParser) -> None:
    """The corpus of most of them."""
    parser.add_argument("--multi30k", type=Path, required=True, help="folder of Multi30k")


def add_tatoeba(parser: argparse.ArgumentParser) -> None:
    """The corpus of some."""
    parser.add_argument("--tatoeba", type=Path, required=True, help="folder of Tatoeba English–German")


def words_of(recipe: str, multi30k: Path) -> list[str]:
    """For `nmt train`."""
    place = [] if recipe == "demo" else [f"data.root={multi30k.resolve()}"]
    return [f"experiment={RECIPES[recipe]}", *place]


def add_measuring(parser: argparse.ArgumentParser, seconds: float) -> None:
    """How long and how often; and the mark of the process that is one case."""
    parser.add_argument("--seconds", type=above_zero, default=seconds, help=f"of each measurement ({seconds:.0f})")
    add_rounds(parser)
    parser.add_argument("--case", action="store_true", help=argparse.SUPPRESS)


def add_rounds(parser: argparse.ArgumentParser, rounds: int = 1) -> None:
    """How often."""
    parser.add_argument("--rounds", type=one_or_more, default=rounds, help=f"measurements of each case ({rounds})")


def parse_measuring(
    parser: argparse.ArgumentParser, given: Sequence[str], file: str = "train.en"
) -> tuple[argparse.Namespace, list[str]]:
    """Own options, and words for nmt; refuses a folder of Multi30k without this file."""
    arguments, words = own_and_words(parser, given)
    check_multi30k(parser, arguments.multi30k, file)
    return arguments, words


def add_model(parser: argparse.ArgumentParser) -> None:
    """The run that is translated with."""
    parser.add_argument("--model", type=Path, required=True, help="run folder")


def check_model(parser: argparse.ArgumentParser, folder: Path, option: str = "--model") -> None:
    """Refuses a folder that is no run."""
    if not (folder / "manifest.json").is_file():
        parser.error(f"{option} {folder} is not a run; name a folder that nmt train has made")


def add_neighbours(parser: argparse.ArgumentParser) -> None:
    """How many processes that count without end."""
    parser.add_argument("--neighbours", type=whole_numbers, default=[0, 1, 3], help="with commas, 0 first (0,1,3)")


def check_neighbours(parser: argparse.ArgumentParser, neighbours: list[int]) -> None:
    """Refuses what has no idle machine to be compared to."""
    if neighbours[0] != 0:
        parser.error(f"--neighbours begins with {neighbours[0]}; begin with 0, which the others are compared to")


def check_multi30k(parser: argparse.ArgumentParser, folder: Path, file: str = "train.en") -> None:
    """Refuses a folder without this file of the corpus."""
    check_corpus(parser, "--multi30k", folder, file, "train, val and test_2016_flickr")


def check_tatoeba(parser: argparse.ArgumentParser, folder: Path) -> None:
    """Refuses a folder without the corpus."""
    check_corpus(parser, "--tatoeba", folder, "train.de", "train, dev and test")


def check_corpus(parser: argparse.ArgumentParser, option: str, folder: Path, file: str, splits: str) -> None:
    """Refuses a folder without this file."""
    if not (folder / file).is_file():
        parser.error(f"{option} {folder} has no {file}; name the folder with {splits}")


def chosen(parser: argparse.ArgumentParser, option: str, text: str, known: list[str]) -> list[str]:
    """The names between the commas; refuses unknown ones."""
    names = text.split(",")
    if unknown := sorted(set(names) - set(known)):
        parser.error(f"{option} {text}: {', '.join(unknown)} is none of {', '.join(known)}")
    return names


def whole_numbers(text: str) -> list[int]:
    """Numbers with commas between them, none below 0."""
    if not all(number.isascii() and number.isdecimal() for number in text.split(",")):
        raise argparse.ArgumentTypeError(f"{text} is not whole numbers from 0 on with commas between them")
    return [int(number) for number in text.split(",")]
