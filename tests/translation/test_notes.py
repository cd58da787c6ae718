"""What people are told of lines that are too long, or that the model cannot read."""

import random

import pytest
from helpers.small_corpora import tokenizer_config
from helpers.small_runs import GERMAN, small_tokenizer

from nmt.data.letter_case import LetterCase
from nmt.data.text import Cleaning
from nmt.data.train_tokenizers import train_tokenizer
from nmt.translation.notes import SHOWN, Notes
from nmt.translation.translations import Candidate, Translation

PLAIN = Cleaning(nfc=True, plain_source=True).source
NO_WORDS = LetterCase()
NOTES = Notes(small_tokenizer(), PLAIN, NO_WORDS)  # of German and Chinese text
CHANCE = random.Random(1)
WORDS = ["".join(CHANCE.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(400)]
GREEK = "Ένα μικρό σκυλί"
WITH_GREEK = Notes(  # whose letters all have pieces
    train_tokenizer([*WORDS * 3, GREEK], tokenizer_config("unigram", vocab_size=800), 1, []),
    PLAIN,
    NO_WORDS,
)
UNKNOWN = "has mostly letters that the model does not know: its translation is a guess"


def cut(count: int, dropped: int = 0) -> Translation:
    return Translation("", [Candidate("", 0.0, 0.0)], ["a"] * 1200, [], None, parts=count, dropped=dropped)


def test_the_first_long_lines_are_named_and_the_others_counted() -> None:
    said: list[str] = []
    given = [cut(1), cut(2), *[cut(1, 30)] * (SHOWN + 2), cut(1)]
    assert list(NOTES.noted(given, said.append)) == given
    assert said[0] == "line 2 has 1,200 pieces; translated in 2 parts (long_lines=split)"
    assert said[1] == "line 3 has 1,230 pieces; only the first 1,200 are translated (long_lines=truncate)"
    assert said[SHOWN:] == ["lines with more than 1,000 pieces besides these: 3"]
    said.clear()
    assert list(NOTES.noted([cut(1), cut(0)], said.append))
    assert said == []


def translated(source: str) -> Translation:
    return Translation(source, [Candidate("Hund", 0.0, 0.0)], ["a"], ["Hund"], None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Το σκυλί βλέπει ένα σπίτι.", "is in Greek letters, which the model hardly knows: its translation is a guess"),
        ("Собака видит дом.", "is in Cyrillic letters, which the model hardly knows: its translation is a guess"),
        (
            "わたしはいぬです。",
            "is in Hiragana letters, which the model hardly knows: its translation is a guess",
        ),
        ("龘龘龘龘龘", UNKNOWN),  # of a script that it knows
    ],
)
def test_lines_that_the_model_cannot_read_are_named(text: str, said: str) -> None:
    assert NOTES.of(translated(text)) == {"unread": said}


@pytest.mark.parametrize(
    "text", ["", "12:30", "🐕🐕🐕🐕", "Ω", "der Hund", *GERMAN, "我们去学校。", "Der Ω-Hund sieht das Haus."]
)
def test_other_lines_are_not(text: str) -> None:
    assert NOTES.of(translated(text)) == {}


@pytest.mark.parametrize("text", ["Да.", "Как?", "안녕"])
def test_a_short_sentence_in_another_script_is_named(text: str) -> None:
    assert "letters, which the model hardly knows" in NOTES.of(translated(text))["unread"]


def test_a_sentence_in_another_script_among_others_is_named() -> None:
    said = NOTES.of(translated("Der Hund schläft heute. Я не знаю. Der Hund sieht ein grünes Haus. Ein Mann sieht es."))
    assert said["unread"].startswith("has a sentence that is in Cyrillic letters, which the model hardly knows")


def test_a_script_of_which_a_little_was_seen_is_not_known() -> None:
    assert not WITH_GREEK.tokenizer.spelled(WITH_GREEK.tokenizer.encode(GREEK))
    assert "Greek" in WITH_GREEK.of(translated(GREEK))["unread"]


def test_the_first_unread_lines_are_named_and_the_others_counted() -> None:
    said: list[str] = []
    given = [translated("der Hund"), *[translated("Собака")] * (SHOWN + 3)]
    assert list(NOTES.noted(given, said.append)) == given
    assert [line.split(" is in ")[0] for line in said[:SHOWN]] == [f"line {number}" for number in range(2, SHOWN + 2)]
    assert said[SHOWN:] == ["lines that the model can hardly read besides these: 3"]


def test_lines_are_called_by_their_places() -> None:
    said: list[str] = []
    given = [cut(1), cut(2), translated("Собака")]
    places = (f"{name}, line 1" for name in "abcd")
    assert list(NOTES.noted(given, said.append, places)) == given
    assert [line[: len("b, line 1 ")] for line in said] == ["b, line 1 ", "c, line 1 "]
    assert next(places) == "d, line 1"


def test_letters_that_are_read_as_plain_ones_are_known() -> None:
    assert NOTES.unread("ｄｅｒ Ｈｕｎｄ ｓｉｅｈｔ") is None
    as_typed = Notes(small_tokenizer(), Cleaning(nfc=True, plain_source=False).source, NO_WORDS)
    assert as_typed.unread("ｄｅｒ Ｈｕｎｄ ｓｉｅｈｔ") is not None


@pytest.mark.parametrize("seed", range(5))
def test_what_was_said_of_other_lines_changes_nothing(seed: int) -> None:
    chance = random.Random(seed)
    letters = "abcdehnrstu Häüö我们去学校龘ΩΤοσκυλίСобакわたし.,1🐕"
    texts = ["".join(chance.choices(letters, k=chance.randrange(1, 9))) * 2 for _ in range(200)]
    alone = [Notes(NOTES.tokenizer, PLAIN, NO_WORDS).unread(text) for text in texts]
    used = Notes(NOTES.tokenizer, PLAIN, NO_WORDS)
    assert [used.unread(text) for text in texts] == alone
    assert len(set(alone)) > 2


ENGLISH = [
    "A man and a woman walk along the street.",
    "The dog runs with two small children, and the woman walks with a dog.",
    "Two men in red shirts play football near the river.",
]
GERMAN_TEXT = "Zwei Männer spielen heute Fußball."
UNKNOWN_WORDS = "has mostly words that the model does not know: its translation is a guess"


def of_words(tokenizer_text: list[str]) -> Notes:
    """Notes with every letter of German in the vocabulary, and with English words."""
    tokenizer = train_tokenizer(
        [*WORDS * 3, "Zäöüß", *tokenizer_text], tokenizer_config("unigram", vocab_size=800), 1, []
    )
    words = LetterCase.learned(ENGLISH * 3, "en")
    return Notes(tokenizer, lambda text: words.usual(PLAIN(text)), words)


@pytest.fixture(scope="module")
def english() -> Notes:
    return of_words([*ENGLISH, GERMAN_TEXT] * 3)


def test_another_language_in_the_same_letters_is_named(english: Notes) -> None:
    assert english.unread_letters(GERMAN_TEXT) is None
    assert english.of(translated(GERMAN_TEXT)) == {"unread": UNKNOWN_WORDS}
    assert english.of(translated(GERMAN_TEXT.upper())) == {"unread": UNKNOWN_WORDS}


def test_another_language_among_sentences_that_the_model_reads_is_named(english: Notes) -> None:
    said = english.of(translated(f"{ENGLISH[0]} {ENGLISH[1]} {GERMAN_TEXT} {ENGLISH[2]}"))
    assert said == {"unread": f"has a sentence that {UNKNOWN_WORDS}"}


@pytest.mark.parametrize(
    "text",
    [
        *ENGLISH,
        ENGLISH[1].upper(),
        "Women",  # one word may be a name
        "The man and Günther Schmidt walk with a dog.",
        "Tanna, Att",
        "https://www.example.com/foo/bar?baz=qux",
        "foo@bar.com",
        "Ctrl+Alt+Del",
        "Meyer, 12:30",
        "",
        "12 . ,",
    ],
)
def test_text_of_words_that_the_model_knows_is_not(english: Notes, text: str) -> None:
    assert english.of(translated(text)) == {}


def test_words_among_letters_without_case_are_not_looked_up() -> None:
    with_words = Notes(NOTES.tokenizer, PLAIN, LetterCase.learned(["The dog"], "en"))
    assert with_words.of(translated("我们去学校，他看见了 hund haus")) == {}
    assert with_words.of(translated("hund haus 我")) == {"unread": UNKNOWN_WORDS}


def test_a_run_without_words_looks_up_none() -> None:
    known = of_words([*ENGLISH, GERMAN_TEXT] * 3)
    assert Notes(known.tokenizer, PLAIN, NO_WORDS).of(translated(GERMAN_TEXT)) == {}
