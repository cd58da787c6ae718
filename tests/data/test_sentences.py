"""Text cut into sentences: laws over any text, known answers in many languages, and the time it takes."""

import random
from itertools import pairwise
from time import process_time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmt.data.abbreviations import NEVER_LAST
from nmt.data.sentences import LONGEST_UNMARKED, Span, sentence_spans, usual_sentences
from nmt.data.text import is_visible


def cut(text: str) -> list[str]:
    return [text[span.start : span.end] for span in sentence_spans(text)]


# Laws

BITS = (
    ". . . ! ? … ... ?! 。 ！ ？ ． । ። ؟ ; ; : , \" ' ” “ « » ( ) [ ] 」 「 》 ¿ ¡ – - 😀 :) 1 12 1990 3,5 "
    "A J S I a b Dr z.B e.g usw No "
    "am Mai The der Danach Said Tom said iPhone 我们 他 と の Καλά καλά Он г т.е ა ბ ก มา "
    "\u0301 \u200b \u200f \u00ad \ufeff \x00 [1] ¹ "
    "- # $ % / @ www.a.com ល។ ། Mr Weltkrieg \ufe0f I'm C'est"
).split(" ")
GAPS = ["", "", " ", " ", "  ", "\n", "\r\n", "\u2028", "\t", "\u00a0", "\u3000"]
TEXTS = st.one_of(
    st.text(),
    st.lists(st.tuples(st.sampled_from(BITS), st.sampled_from(GAPS)), max_size=25).map(
        lambda pairs: "".join(bit + gap for bit, gap in pairs)
    ),
)


@pytest.mark.slow
@given(TEXTS)
@example("A x! 3 y. z w. z")
@example('. "')
@settings(max_examples=600, deadline=None)
def test_sentences_are_in_order_and_cover_all_that_is_visible(text: str) -> None:
    spans = sentence_spans(text)
    end = 0
    for span in spans:
        assert end <= span.start < span.end
        assert not is_visible(text[end : span.start])
        assert is_visible(text[span.start])
        assert is_visible(text[span.end - 1])
        assert len(text[span.start : span.end].splitlines()) == 1
        end = span.end
    assert not is_visible(text[end:])


@pytest.mark.slow
@given(TEXTS)
@settings(max_examples=600, deadline=None)
def test_a_sentence_is_one_sentence(text: str) -> None:
    for sentence in cut(text):
        assert sentence_spans(sentence) == [Span(0, len(sentence))], sentence


@pytest.mark.slow
@given(TEXTS)
@settings(max_examples=300, deadline=None)
def test_no_word_is_cut(text: str) -> None:
    for before, after in pairwise(sentence_spans(text)):
        if before.end == after.start:
            assert not (text[before.end - 1].isalnum() and text[after.start].isalnum())


@pytest.mark.parametrize(
    "text",
    [char * 10**6 for char in '.a 。😀"-(']
    + [
        "Hello there. " * 8_000,
        "a. " * 30_000,
        ". " * 50_000,
        '." ' * 40_000,
        "1. " * 30_000,
        "ก " * 50_000,
        ". - " * 30_000,
    ],
    ids=lambda text: repr(text[:6]),
)
def test_the_time_grows_with_the_text_alone(text: str) -> None:
    def seconds(part: str) -> float:
        start = process_time()
        sentence_spans(part)
        return process_time() - start

    seconds(text[:1000])
    assert seconds(text) < 12 * seconds(text[: len(text) // 4]) + 0.5


# Known answers: | is where a text is cut.

KNOWN = {
    "English": [
        "Which chest did they lock? | Please show Christina their novel! | She has the gloves.",
        "Dr. Smith met Mr. J. S. Bach on Jan. 5. | They spoke, e.g. Tom did. | Then No. 5 won.",
        '"Stop!" he said. | "Why?" Tom asked. | "Go." | "No!" | He went.',
        "He lives in the U.S. Army base at 5 p.m. | The end came in the U.S. | But why?",
        "It costs 3.50 at 10.30 in version 2.0.1. | See www.example.com. | Mail me@x.org or read.me.txt now.",
        "Wait... what? | Really?! | Yes... | No way!!! | $5 is enough. | 12 came.",
        "Great! 😀 | Let's go! :) | (See below.) | Then we left [sic]. | [1] is wrong.[2] | So it is.",
        "1. Introduction",
        "Steps: 1. Open it. | 2. Close it.",
        "I met him at St. Helena and on Mt. Fuji. | So do I. | Tom is here.",
        "iPhone sales fell. | iPhones are cheap. | Yahoo.com is not.",
        "i went home. | then i slept! | ok? | e.g. this, that etc. and so on",
        "a man is here . | he runs .",
        "It was 5 °C. | Marie and M. Curie left.",
        "It is my brother's. | Tom knows 'A. Miller' and O'Neill.",
    ],
    "German": [
        "Am 3. Mai kam er z. B. mit Autos usw. nach Hause. | Danach ging er.",
        "Im 2. Weltkrieg war er 12. | Das war 1990. | Danach nicht mehr, vgl. Abs. 2 und Nr. 5.",
        "Er feiert seinen 20. Geburtstag im 19. Stock. | Prof. Müller bzw. Dr. Meier, d.h. beide, kamen.",
        "„Halt!“, rief er. | „Danke!“ | – „Nichts zu danken!“",
        "»Halt!« rief er. | »Was?«",
    ],
    "French": [
        "« Bonjour ! » | Il part. | M. Dupont et Mme. Curie arrivent. | « Oui ! » dit-il.",
        "Vraiment ?! | C'est vrai. | L'art. 5 le dit.",
    ],
    "Spanish": ["¡Hola!|¿Qué tal? | ¿bien? | El Sr. Pérez y la Sra. Gómez van a EE. UU. en la pág. 5."],
    "Italian": ["Il dott. Rossi, ecc. ecc., è qui. | Vedi pag. 5. | Perché?"],
    "Dutch": ["Dat mag. | Ik wil bijv. kaas, d.w.z. eten. | Mevr. Jansen komt."],
    "Czech": ["Přišel např. Karel, tj. on. | Bylo to 3. května."],
    "Polish": ["Przyszedł m.in. Jan, tzn. on. | Było to w 1990 r. w Krakowie."],
    "Swedish": ["Han kom t.ex. Kl. 5 idag. | Sedan gick han."],
    "Russian": [
        "Он родился в 1990 г. в Москве и т. д. | Потом уехал. | Это т.е. Москва.",
        "А. С. Пушкин жил на ул. Ленина. | «Стой!» — сказал он. | Где он?",
    ],
    "Greek": ["Τι κάνεις; | Καλά, π.χ. Εγώ. | Εσύ;", "Α; | Β"],
    "no Greek": ["what; This is it"],
    "Georgian": ["გამარჯობა. | როგორ ხარ? | კარგად."],
    "Armenian": ["Բարև։ | Ինչպե՞ս ես։ | Լավ։"],
    "Chinese": [
        "他说你好。|我很好！|真的吗？|“是的。”|他走了。",
        "他看了《你好吗？》这本书。|你（真的吗？）好。|（笑。）|好。",
        "你好!|我很好. | 他用3.5元。|你好 ?|我很好",
        "“你好！”的意思是什么？ | 好",
    ],
    "Japanese": ["「行こう。」と彼は言った。|「そう。」|そして帰った。|本当！？　|長さは３．５です。"],
    "Korean": ["안녕하세요. | 잘 지내요? | 네."],
    "Arabic": ["هل أنت بخير؟ | نعم. | د. أحمد هنا."],
    "Persian": ["سلام. | حال شما چطور است؟ | خوبم."],
    "Urdu": ["یہ کیا ہے؟ | یہ کتاب ہے۔ | اچھا۔"],
    "Hebrew": ["שלום. | מה שלומך? | טוב."],
    "Hindi": ["मैं घर गया। | वह आया।|ठीक है॥ | डॉ. शर्मा आए।"],
    "Amharic": ["ሰላም። | እንዴት ነህ፧|ደህና።"],
    "Khmer": ["ខ្ញុំទៅផ្ទះ។ | គាត់មក ។ល។ | ហើយ។"],
    "Burmese": ["သူသွားသည်။ | သူလာသည်။"],
    "Tibetan": ["བཀྲ་ཤིས། | བདེ་ལེགས། །"],
    "Thai": ["ฉันไปบ้าน เขามา พ.ศ. 2560 นาย ก. มา", "ไปไหน? | ไปบ้าน"],
    "lines": ["One line\n|and another\r\n|\u2028|third. | Fourth."],
}


@pytest.mark.parametrize(("language", "marked"), [(name, text) for name, texts in KNOWN.items() for text in texts])
def test_known_answers(language: str, marked: str) -> None:
    parts = [part.strip() for part in marked.split("|")]
    assert cut(marked.replace("|", "")) == [part for part in parts if part], language


@pytest.mark.parametrize("word", sorted(NEVER_LAST))
def test_no_sentence_ends_with_these(word: str) -> None:
    assert len(sentence_spans(f"Hier steht {word}. The end")) == 1


def test_a_long_text_in_thai_is_cut_at_spaces() -> None:
    chance = random.Random(1)
    words = ["ก" * chance.randint(1, 60) for _ in range(100)]
    parts = cut(" ".join(words))
    assert " ".join(parts).split() == words
    assert all(len(part) <= LONGEST_UNMARKED for part in parts)
    assert all(len(first) + len(after.split()[0]) >= LONGEST_UNMARKED for first, after in pairwise(parts))
    assert cut("ก" * 1000) == ["ก" * 1000]  # no space


@pytest.mark.parametrize(
    ("lines", "usual"),
    [
        ([], 1),
        (["", ""], 1),
        (["One."], 1),
        (["One. Two. Three."], 3),
        (["One.", "One. Two.", "One. Two. Three."], 2),
        (["One.", "One. Two. Three."], 1),
    ],
)
def test_the_usual_number_of_sentences_is_that_of_half_of_the_lines(lines: list[str], usual: int) -> None:
    assert usual_sentences(lines) == usual
