"""BLEU is no signal where hardly any reference has four words in a row."""

import pytest

from nmt.scoring.countable import is_countable, of_short_references
from nmt.scoring.metrics import bleu
from nmt.scoring.word_rules import CHARACTERS

LABELS = ["Save", "Open file", "Close all tabs"] * 30
SENTENCES = ["The dog sleeps in the garden .", "No", "A man reads his book ."] * 30


@pytest.mark.parametrize(
    ("references", "rule", "countable"),
    [
        (LABELS, None, False),
        (SENTENCES, None, True),
        (["你好", "谢谢", "再见"], "zh", False),
        (["我愛你們，也愛他們。"], "zh", True),
        (["ฉันรักคุณมาก"], None, False),
        (["ฉันรักคุณมาก"], CHARACTERS, True),
        ([""], None, False),
    ],
)
def test_references_without_four_words_in_a_row_are_not(
    references: list[str], rule: str | None, countable: bool
) -> None:
    assert is_countable(references, rule) == countable
    assert (bleu(references, [references], rule) > 99) == countable  # their own translation
    assert (list(of_short_references([references], rule)) == []) == countable


def test_one_long_reference_of_several_is_enough() -> None:
    assert list(of_short_references([LABELS, SENTENCES], None)) == []
