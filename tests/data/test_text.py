"""Normal forms: those of unicodedata, of any text, in time that grows with it alone."""

import re
import unicodedata
from time import process_time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nmt.data import text as text_module
from nmt.data.text import normalize

MARKS = "\u0301\u0323\u0327\u0308\u0344\u0f71\u0f72\u0f73\u0f77\u05b0\u3099\u1161\u11a8\ua66f\U0001d165\U0001d16d"
LETTERS = "aAe\u00e9\u1eaf\u01d6\u0958\u1100\uac00\ufb2c\ufdfa\u212b\u2460\u037e\U0001d15e 我"


@given(st.text(st.one_of(st.sampled_from(MARKS), st.sampled_from(LETTERS), st.characters())), st.integers(1, 5))
@example("a" + MARKS * 3, 1)
def test_the_normal_form_is_unicodedatas(text: str, least: int) -> None:
    run = text_module._RUN
    text_module._RUN = re.compile(f"[^\x00-\u02ff]{{{least},}}")
    try:
        for form in ("NFC", "NFKC"):
            assert normalize(form, text) == unicodedata.normalize(form, text)
    finally:
        text_module._RUN = run


def test_every_character_with_a_mark_is_among_those_put_in_order() -> None:
    for char in map(chr, range(0x300)):
        assert unicodedata.combining(char) == 0


@pytest.mark.parametrize("marks", ["\u0301" * 100, "\u0301\u0323" * 50, "\u0301" * 50 + "\u0323" * 50, MARKS * 6])
def test_a_hundred_thousand_marks_take_no_time(marks: str) -> None:
    text = "a" + "".join(sorted(marks * 1000)) if marks.startswith("\u0301" * 50) else "a" + marks * 1000
    start = process_time()
    found = normalize("NFC", text)
    assert process_time() - start < 3
    assert normalize("NFC", found) == found
