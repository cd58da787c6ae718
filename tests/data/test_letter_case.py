"""Text in capitals, title case or lower case gets the case of the training sources, and nothing else changes."""

import random
from collections.abc import Callable
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.data.letter_case import LetterCase, cased_words
from nmt.errors import CheckpointError

ENGLISH = [
    "I told Mary that the dog of the USA was old.",
    "The old dog told me: Mary saw it on TV in Boston. Then it was gone.",
    '"No," said the man with a red T-shirt, "I was told that Mary was old."',
]


@pytest.fixture(scope="module")
def english() -> LetterCase:
    return LetterCase.learned(ENGLISH, "en")


@pytest.mark.parametrize("change", [str.upper, str.title, str.lower])
def test_every_sentence_of_known_words_comes_back(english: LetterCase, change: Callable[[str], str]) -> None:
    rng = random.Random(1)
    names, small = ["Mary", "Boston", "USA", "TV"], ["dog", "old", "told", "was", "that", "saw", "gone", "the"]
    for _ in range(300):
        words = " ".join([*rng.choices(small, k=4), *rng.choices(names, k=2), *rng.choices(small, k=4)])
        sentence = f"{words[0].upper()}{words[1:]}, it was. Mary told the man!"
        assert english.usual(change(sentence)) == sentence


def test_the_most_frequent_form_inside_sentences_is_the_usual_one() -> None:
    texts = ["Turkey", "we saw turkey there", "we saw turkey here", "we like Turkey", *["Turkey is good"] * 9]
    assert LetterCase.learned(texts, None).forms["turkey"] == "turkey"
    assert LetterCase.learned([*texts, "in Turkey", "to Turkey"], None).forms["turkey"] == "Turkey"
    assert LetterCase.learned([*texts, 'so: Turkey; "Turkey" (Turkey) Turkey'], None).forms["turkey"] == "turkey"


def test_where_a_sentence_or_quotation_may_begin_nothing_is_learned() -> None:
    known = LetterCase.learned(['Yes: Now. We "Can" (Go) so and ¿Stay there'], "en")
    assert known.forms == {"and": "and", "there": "there"}


def test_what_is_too_long_for_a_word_is_not_kept() -> None:
    known = LetterCase.learned([f"we saw {'x' * 50} and {'y' * 51} there"], "en")
    assert known.forms.keys() == {"saw", "x" * 50, "and", "there"}


def test_some_text_in_capitals_or_title_case_teaches_nothing() -> None:
    usual = ["the dog sees a house", "we see a house", "a dog sees us"]
    spoilt = ["THE DOG SEES A HOUSE", "The Dog Sees A House"]
    assert LetterCase.learned([*usual, *spoilt], None).forms == LetterCase.learned(usual, None).forms


def test_where_most_text_is_in_capitals_it_stays_so() -> None:
    headlines = LetterCase.learned(["NOW THE DOG SEES A HOUSE", "NOW A HOUSE SEES THE DOG", "the dog sees it"], "en")
    assert headlines.usual("THE DOG SEES A HOUSE") == "THE DOG SEES A HOUSE"


def test_sentences_begin_as_most_of_the_training_sources_do(english: LetterCase) -> None:
    small = LetterCase.learned([text.lower() for text in ENGLISH], "en")
    assert english.usual("THE DOG WAS OLD. IT WAS GONE.") == "The dog was old. It was gone."
    assert small.usual("THE DOG WAS OLD. IT WAS GONE.") == "the dog was old. it was gone."
    assert english.usual("12 DOGS WERE OLD") == "12 dogs were old"
    assert english.usual('"THE DOG" WAS OLD') == '"The dog" was old'


@pytest.mark.parametrize("change", [str.upper, str.title, str.lower])
def test_unknown_words_are_written_like_most_rare_ones(english: LetterCase, change: Callable[[str], str]) -> None:
    german = LetterCase.learned([f"ja er sah das und die {noun}" for noun in ("Birke", "Eiche", "Buche")], "de")
    assert english.usual(change("Mary told lobsters about the TV")) == "Mary told lobsters about the TV"
    assert german.usual(change("Er sah das und die Rinde")) == "er sah das und die Rinde"


@pytest.mark.parametrize(
    ("lang", "training", "typed", "usual"),
    [
        ("de", "Wir sind auf der Straße, die groß ist", "DIE GROSSE STRASSE IST GROSS", "Die grosse Straße ist groß"),
        ("de", "Wir sind auf der Straße, die groß ist", "AUF DER STRAẞE SIND WIR", "Auf der Straße sind wir"),
        ("el", "Ο άνθρωπος είναι ο λόγος", "Ο ΛΌΓΟΣ ΕΊΝΑΙ Ο ΆΝΘΡΩΠΟΣ", "Ο λόγος είναι ο άνθρωπος"),
        ("tr", "Bu ışık ve İzmir için iyi", "İYİ IŞIK İZMİR İÇİN", "İyi ışık İzmir için"),
        ("tr-TR", "Bu ışık ve İzmir için iyi", "izmir için iyi ışık", "İzmir için iyi ışık"),
        ("ru", "Это дом в Москве", "В МОСКВЕ ДОМ", "В Москве дом"),
    ],
)
def test_letters_that_are_more_than_a_pair(lang: str, training: str, typed: str, usual: str) -> None:
    assert LetterCase.learned([training], lang).usual(typed) == usual


@pytest.mark.parametrize(
    "text",
    [
        "",
        "NATO",
        "USA UK",  # abbreviations
        "I AM",
        "Mary Old",  # a name
        "New York City",
        "the old dog",
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
def test_anything_else_stays(english: LetterCase, text: str) -> None:
    assert english.usual(text) == text


@given(st.text())
def test_only_case_changes(english: LetterCase, text: str) -> None:
    def folded(text: str) -> str:
        return text.lower().casefold()

    assert folded(english.usual(text)) == folded(text)


@pytest.mark.parametrize("text", ["THE DOG SEES A HOUSE.", "Dog of the Year Sees Old House", "ЭТО БОЛЬШОЙ ДОМ"])
def test_where_no_words_are_known_capitals_become_lower_case(text: str) -> None:
    assert LetterCase().usual(text) == text.lower()
    for usual in ("The dog sees a House.", "the dog sees a house.", "NATO", "狗看见房子"):
        assert LetterCase().usual(usual) == usual


@given(st.lists(st.text()))
def test_a_file_holds_all_of_it(texts: list[str]) -> None:
    for lang in (None, "tr"):
        known = LetterCase.learned(texts, lang)
        assert LetterCase.from_bytes(known.bytes, "a file") == known


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b'{"language": 1, "sentences_begin_with_capital": true, "rare_words_begin_with_capital": true, "forms": []}',
        b'{"language": null, "sentences_begin_with_capital": true, "rare_words_begin_with_capital": 1, "forms": [1]}',
        b'{"language": null, "sentences_begin_with_capital": true, "rare_words_begin_with_capital": true, "forms": 5}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_file_is_refused(content: bytes) -> None:
    with pytest.raises(CheckpointError, match=r"^runs/x/letter_case.json is damaged; restore it from a copy$"):
        LetterCase.from_bytes(content, "runs/x/letter_case.json")


def test_what_an_earlier_training_knew_stays_known() -> None:
    earlier = LetterCase.learned(["Now Tom and Polish people", "Then a DVD"], "en")
    later = LetterCase.learned(["we polish it", "we go"], "en").after(earlier)
    assert later.usual("TOM AND WE POLISH A DVD") == "Tom and we polish a DVD"
    assert later.forms["polish"] == "polish"
    assert not later.capital


@pytest.mark.parametrize(
    "text",
    [
        ". " * 100_000, "A. " * 50_000, "AB " * 50_000, "\"'" * 100_000, "HELLO" * 20_000,
        "A" + "1" * 100_000 + "B", ("A" + "-" * 5000) * 20 + "B",
    ],
)  # fmt: skip
def test_long_texts_take_time_in_proportion(english: LetterCase, text: str) -> None:
    start = process_time()
    english.usual(f"AB CDEF {text}")
    english.unknown_words(text)
    assert process_time() - start < 5


@given(st.text("aB1-.", max_size=12))
def test_words_lose_what_is_no_letter_at_both_ends_alone(word: str) -> None:
    assert cased_words(word) == ([word.strip("1-.")] if word.strip("1-.") else [])


def test_frequent_words_may_be_small_in_a_title() -> None:
    known = LetterCase.learned(["The man came from London with a dog."] * 3 + ["A cow eats."], "en")
    assert known.usual("The Man from London Came with a Dog") == "The man from London came with a dog"
    assert LetterCase().usual("The Man from London Came with a Dog") == "The Man from London Came with a Dog"


@pytest.mark.parametrize(
    ("typed", "usual"),
    [
        ("HOW ARE YOU", "How are you"),
        ("HURRY!", "Hurry!"),
        ("HURRY", "HURRY"),  # as likely a name
        ("NATO!", "NATO!"),
        ("XYZ!", "XYZ!"),
        ("WE ARE USA", "WE ARE USA"),
    ],
)
def test_short_words_in_capitals_are_known_by_their_usual_forms(typed: str, usual: str) -> None:
    known = LetterCase.learned(["So how are you, I hurry.", "Now we hurry to NATO or USA."] * 2, "en")
    assert known.usual(typed) == usual


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("", (0, 0)),
        ("See the man, the WOMAN: Man!", (0, 6)),
        ("Der man und the woman", (2, 5)),  # "Der" is the first word, "und" has no capital
        ("See Angela Merkel", (0, 1)),  # names
        ("see https://der.die.das/x, a@b.cd, der/die, der_die and 12", (0, 2)),
        ("Wer-der’s", (3, 3)),
        ("12 , 今天 man", (0, 1)),
        ("x" * 60 + " man", (0, 1)),
        ("SAVE save Save paste", (0, 4)),  # words that only begin sentences
    ],
)
def test_words_that_the_training_sources_do_not_have_are_counted(text: str, unknown: tuple[int, int]) -> None:
    known = LetterCase.learned(["See the man and the woman.", "Save", "HE SHOUTS: PASTE IT"], "en")
    assert known.unknown_words(text) == unknown
    assert LetterCase.from_bytes(known.bytes, "f").unknown_words(text) == unknown


@pytest.mark.parametrize("seed", range(3))
def test_no_word_of_a_training_source_is_unknown(seed: int) -> None:
    chance = random.Random(seed)
    sentences = [
        " ".join(
            chance.choice([str.upper, str.title, str.lower])(
                "".join(chance.choices("abcdeéïß", k=chance.randint(1, 4)))
            )
            + chance.choice(["", "", ".", ",", ": “"])
            for _ in range(chance.randint(1, 9))
        )
        for _ in range(300)
    ]
    known = LetterCase.learned(sentences, "en")
    assert all(known.unknown_words(sentence)[0] == 0 for sentence in sentences)
    assert sum(known.unknown_words(sentence)[1] for sentence in sentences) > 1000


def test_where_nobody_noted_the_words_none_are_unknown() -> None:
    new, old = LetterCase.learned(["See the man."], "en"), LetterCase({"the": "the"}, lang="en")
    assert "words_without_form" not in old.bytes.decode()
    for each in (old, LetterCase(), new.after(old), old.after(new)):
        assert each.unknown_words("der hund und die katze") == (0, 0)
    both = new.after(LetterCase.learned(["Hear a dog."], "en"))
    assert both.unknown_words("see the man, hear a dog, der hund") == (2, 8)
