"""How sources were typed: BLEU in capitals, title case, lower case and with characters that only look the same.

    python scripts/bench typed --model RUN --src FILE --ref FILE    (words for nmt evaluate)

Every sentence is changed as a whole. Bar: at most 2 BLEU below the sentences as they are.
"""

import argparse
import re
import string
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.arguments import add_model, check_model
from bench.evaluation import Score, evaluated
from command_line import new_parser, own_and_words
from nmt.data.paths import read_lines

LOST = 2.0  # BLEU: bar
ALIKE = {"'": "’", " ": "\u00a0", "-": "\u2011", "fi": "ﬁ", "fl": "ﬂ"}
FULL_WIDTH = {ord(each): ord(each) + 0xFEE0 for each in string.ascii_letters + string.digits}


def title_case(text: str) -> str:
    """Every word with a capital; what follows an apostrophe has none."""
    return re.sub(r"[^\W\d_][\w'’]*", lambda word: word[0][0].upper() + word[0][1:].lower(), text)


def look_alike(text: str) -> str:
    """With a typographic apostrophe, no-break spaces and hyphens, ligatures, and a soft hyphen in long words."""
    for plain, other in ALIKE.items():
        text = text.replace(plain, other)
    return re.sub(r"(\w{4})(\w{4})", "\\1\u00ad\\2", text)


def full_width(text: str) -> str:
    """In the wide letters and digits of East Asian keyboards."""
    return text.translate(FULL_WIDTH)


CHANGES: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "capitals": str.upper,
    "title case": title_case,
    "lower case": str.lower,
    "look-alikes": look_alike,
    "full width": full_width,
}


def main(given: Sequence[str]) -> int:
    """Prints a row for each way of typing."""
    arguments, words = parse_arguments(given)
    sentences = list(read_lines(arguments.src))
    print("| typed | BLEU | loss |\n|---|---:|---:|")
    found: dict[str, Score] = {}
    lost: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as place:
        for number, (name, change) in enumerate(CHANGES.items()):
            file, folder = Path(place, f"{number}.txt"), Path(place, str(number))
            file.write_text("".join(f"{change(sentence)}\n" for sentence in sentences), "utf-8")
            files = [f"src={file}", f"ref={arguments.ref}", f"output={folder}", "intervals=false"]
            found[name] = evaluated(arguments.model, [*files, *words], folder)["BLEU"]
            lost[name] = found["as it is"].score - found[name].score
            print(f"| {name} | {found[name].score:.2f} | {lost[name]:.2f} |", flush=True)
    most = max(lost.values())
    print(f"\nmost lost: {most:.2f} (bar {LOST}: {'holds' if most <= LOST else 'MISSED'})")
    print(f"`{found['as it is'].signature}`")
    return 0


def parse_arguments(given: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Own options, and words for `nmt evaluate`."""
    parser = new_parser("bench typed", __doc__)
    add_model(parser)
    parser.add_argument("--src", type=Path, required=True, help="sources of a test set, a sentence a line")
    parser.add_argument("--ref", type=Path, required=True, help="its references")
    arguments, words = own_and_words(parser, given)
    check_model(parser, arguments.model)
    for option in ("src", "ref"):
        if not getattr(arguments, option).is_file():
            parser.error(f"--{option} {getattr(arguments, option)} is not a file; name one with a sentence a line")
    return arguments, words
