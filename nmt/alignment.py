"""Words out of pieces, and which source word each target word looked at.

A piece that begins with '▁' begins a word. In scripts written without spaces (Chinese, Japanese, Thai, …)
every piece is a unit of its own; the script of the characters decides, not the language. The byte pieces of
one character (<0xE2><0x82><0xAC>) always stay together and are treated as that character.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nmt.tokenizer import ESCAPE

SPACE = "▁"  # SentencePiece's sign for the space before a word

# first and last character of the scripts that are written without spaces between words
_SPACELESS = (
    ("\u0e00", "\u0eff"),  # Thai, Lao
    ("\u1000", "\u109f"),  # Myanmar
    ("\u1780", "\u17ff"),  # Khmer
    ("\u2e80", "\u312f"),  # CJK radicals and punctuation, kana, bopomofo
    ("\u3190", "\ua4cf"),  # more kana, CJK ideographs, Yi
    ("\uf900", "\ufaff"),  # CJK compatibility ideographs
    ("\ufe30", "\ufe4f"),  # CJK compatibility forms
    ("\uff00", "\uffef"),  # full-width and half-width forms
    ("\U0001b000", "\U0001b16f"),  # more kana
    ("\U00020000", "\U0003ffff"),  # more CJK ideographs
)


def spaceless(char: str) -> bool:
    """Does the character belong to a script that puts no spaces between words?"""
    return any(first <= char <= last for first, last in _SPACELESS)


def source_length(sentence: str) -> int:
    """Words between spaces; in scripts without spaces every character counts as one (its marks do not)."""
    words = 0
    in_word = False
    for char in sentence:
        if spaceless(char):
            words += not char.isspace() and not _is_mark(char)
            in_word = False
        else:
            words += not char.isspace() and not in_word
            in_word = not char.isspace()
    return words


def words(pieces: Sequence[str]) -> list[range]:
    """The pieces of each word; together they cover all pieces, in order."""
    starts: list[int] = []
    word = ""  # what the current word shows so far
    for number, text in enumerate(_characters(pieces)):
        visible = text.replace(SPACE, "")
        divided = bool(word and visible) and (spaceless(word[-1]) or spaceless(visible[0]))
        divided = divided and not _is_mark(visible[0])
        if not starts or (word and text.startswith(SPACE)) or divided:
            starts.append(number)
            word = ""
        word += visible
    if len(starts) > 1 and not word:  # only a space follows the last word
        starts.pop()
    return [range(start, end) for start, end in pairwise([*starts, len(pieces)])]


def word_attention(
    weights: NDArray[np.floating], src_pieces: Sequence[str], tgt_pieces: Sequence[str]
) -> tuple[NDArray[np.floating], list[str], list[str]]:
    """Attention [target words, source words], summed over source and averaged over target pieces; both words.

    `weights` is [target pieces, source pieces]; a last row and column for the end of the sentence are left
    out when they are there, so that a row may sum to less than 1.
    """
    T, S = len(tgt_pieces), len(src_pieces)
    assert weights.shape[0] in (T, T + 1)
    assert weights.shape[1] in (S, S + 1)
    src_words, tgt_words = words(src_pieces), words(tgt_pieces)
    result = np.zeros((len(tgt_words), len(src_words)), dtype=weights.dtype)
    for j, rows in enumerate(tgt_words):
        for i, columns in enumerate(src_words):
            block = weights[rows.start : rows.stop, columns.start : columns.stop]
            result[j, i] = block.sum(axis=1).mean()
    return result, [_word(src_pieces, w) for w in src_words], [_word(tgt_pieces, w) for w in tgt_words]


def align(weights: NDArray[np.floating]) -> list[tuple[int, int]]:
    """Links (source i, target j): each target word's heaviest source word, none where all weights are 0."""
    if weights.size == 0:
        return []
    best = weights.argmax(axis=1)
    return [(int(i), j) for j, i in enumerate(best) if weights[j, i] > 0]


def pharaoh(links: Iterable[tuple[int, int]]) -> str:
    """Links as "i-j i-j …", from 0, in the order of the source."""
    return " ".join(f"{i}-{j}" for i, j in sorted(links))


def _is_mark(char: str) -> bool:
    return unicodedata.category(char).startswith("M")


def _byte(piece: str) -> int | None:
    """The value of a byte piece such as <0xE2>."""
    if len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
        try:
            return int(piece[3:5], 16)
        except ValueError:
            return None
    return None


def _characters(pieces: Sequence[str]) -> list[str]:
    """Each piece's text; the first byte piece of a character has the character, its other bytes have ''."""
    texts = list(pieces)
    number = 0
    while number < len(pieces):
        lead = _byte(pieces[number])
        if lead is None:
            number += 1
            continue
        run = [lead]
        length = 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)  # UTF-8: the first byte tells
        for piece in pieces[number + 1 : number + length]:
            if (byte := _byte(piece)) is None:
                break
            run.append(byte)
        texts[number : number + len(run)] = [bytes(run).decode("utf-8", errors="replace")] + [""] * (len(run) - 1)
        number += len(run)
    return texts


def _word(pieces: Sequence[str], word: range) -> str:
    text = "".join(_characters(pieces[word.start : word.stop])).replace(SPACE, "")
    return text.replace(f"{ESCAPE}1", SPACE).replace(f"{ESCAPE}0", ESCAPE)  # what the tokenizer wrote for them
