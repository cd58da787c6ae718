"""What `make demo` tells people to type next can be typed."""

import re
import subprocess
from pathlib import Path

import pytest

from command_line import ROOT
from demo.__main__ import chosen, next_steps, what_to_try
from nmt.config.compose import command_of


@pytest.mark.parametrize(("pair", "runs"), [("en_de", "runs"), ("en_zh", "runs"), ("en_de", "elsewhere")])
def test_the_next_command_serves_the_models_of_this_demo(pair: str, runs: str) -> None:
    general, none = (Path(runs) / f"demo_{pair}_{name}" for name in ("general", "none"))
    said = next_steps(general, none, {"from": "en", "to": "de", "text": "a & b?"})
    served = command_of("serve", ["model=x"])
    assert f"http://{served.host}:{served.port}/#from=en&to=de&text=a+%26+b%3F\n" in said
    [serve] = re.findall(r"^  make (serve.*)$", said, re.MULTILINE)
    verb, _, given = serve.partition(" ")
    words = ["make", "--dry-run", verb, given.replace('"', "")] if given else ["make", "--dry-run", verb]
    shown = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert f"nmt serve models=[{general},{none}]" in shown.replace("'", "")


def test_the_sentence_that_is_shown_is_one_that_shows_something() -> None:
    sources = ["a b", "c d e", "f g h", "i j k"]
    assert chosen(sources, 3, [True, False, True, True]) == "f g h"
    assert chosen(sources, 3, [True, False, False, False]) == "c d e"
    assert chosen(sources, 9, [False] * 4) == "a b"


def test_it_says_which_words_the_models_know(tmp_path: Path) -> None:
    (tmp_path / "train.en").write_text("The dog sees Anna's cat.\nthe cat runs\n")
    some = ["a b c d e f", "too short", "g h i j k l", "m n o p q r", "s t u v w x"]
    assert what_to_try(tmp_path / "train.en", some).splitlines() == [
        "",
        f"The models know the 6 words of {tmp_path}/train.en, and no others. Sentences to try:",
        "  a b c d e f",
        "  g h i j k l",
        "  m n o p q r",
    ]
