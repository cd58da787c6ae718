"""Text in capitals or title case is brought to lower case, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.data.letter_case import in_lower_case


@pytest.mark.parametrize(
    "text",
    [
        "THE DOG SEES A HOUSE.",
        "HELLO WORLD",
        "DON'T STOP, NOW!",
        "ЭТО БОЛЬШОЙ ДОМ",
        "The Dog Sees A House.",
        "Dog of the Year Sees Old House",
        "Élan Vital Était Là",
        "A Man In A T-shirt, NYPD Officers And McDonald's",
    ],
)
def test_capitals_and_titles_become_lower_case(text: str) -> None:
    assert in_lower_case(text) == text.lower()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "NATO",
        "USA UK",  # abbreviations
        "I AM",
        "Barack Obama",  # a name
        "New York City",
        "The dog sees a House.",
        "Der Hund sieht das Haus",
        "Das Haus der Deutschen Bank steht dort.",
        "THE iPhone IS HERE",
        "NATO and the UN meet.",
        "狗看见房子",
        "كلب يرى بيتا كبيرا",
        "12 34 !!",
    ],
)
def test_anything_else_stays(text: str) -> None:
    assert in_lower_case(text) == text


@given(st.text())
def test_it_is_the_text_or_its_lower_case(text: str) -> None:
    assert in_lower_case(text) in (text, text.lower())
