"""Units of text (words, tokens), the pieces that spell them, and the links that attention makes between them.

Words from pieces alone (`words`): a piece that begins with '▁' begins a word. In scripts written without spaces
(Chinese, Japanese, Thai, …) every piece is a word of its own; the script of the characters decides, not the language.
The byte pieces of one character (<0xE2><0x82><0xAC>) always stay together and are treated as that character.

Units from a text and its pieces (`units`, `cover`): in scripts without spaces every character is a unit, and a piece
of several characters belongs to all of their units.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nmt.config.sections import Unit
from nmt.data.tokenizer import ESCAPE

Cover = NDArray[np.bool_]  # [pieces, units]: does the piece spell (a part of) the unit?

SPACE = "▁"  # SentencePiece's sign for the space before a word
UNKNOWN = "<unk>"  # the piece for characters without a piece of their own
_ANY = "\ue000"  # its spelling here: a private-use character, which is in no text

# first and last character of the scripts that are written without spaces between words
_SPACELESS = (
    ("\u0e00", "\u0eff"),  # Thai, Lao
    ("\u0f00", "\u0fff"),  # Tibetan
    ("\u1000", "\u109f"),  # Myanmar
    ("\u1780", "\u17ff"),  # Khmer
    ("\u1950", "\u19ff"),  # Tai Le, New Tai Lue, symbols of Khmer
    ("\u1a20", "\u1aaf"),  # Tai Tham
    ("\u1b00", "\u1b7f"),  # Balinese
    ("\u2e80", "\u312f"),  # CJK radicals and punctuation, kana, bopomofo
    ("\u3190", "\ua4cf"),  # more kana, CJK ideographs, Yi
    ("\ua980", "\ua9ff"),  # Javanese, more Myanmar
    ("\uaa60", "\uaadf"),  # more Myanmar, Tai Viet
    ("\uf900", "\ufaff"),  # CJK compatibility ideographs
    ("\ufe30", "\ufe4f"),  # CJK compatibility forms
    ("\uff00", "\uffef"),  # full-width and half-width forms
    ("\U00017000", "\U00018cff"),  # Tangut, Khitan
    ("\U0001b000", "\U0001b16f"),  # more kana
    ("\U00020000", "\U0003ffff"),  # more CJK ideographs
)


def spaceless(char: str) -> bool:
    """Does the character belong to a script that puts no spaces between words?"""
    return char >= _SPACELESS[0][0] and any(first <= char <= last for first, last in _SPACELESS)


def unspaced(char: str) -> bool:
    """Does the character belong to a script that puts no spaces between sentences either?"""
    return spaceless(char) and char >= "\u2e80" and not "\ua980" <= char <= "\uaadf"  # Chinese, Japanese, Yi, Tangut


def units(text: str, unit: Unit) -> list[str]:
    """The text without its spaces, cut into units.

    words: the text between spaces; in scripts without spaces every character (with its marks).
    tokens: words, with the punctuation at their edges split off; each punctuation mark is a token.
    """
    found: list[str] = []
    start: int | None = None  # beginning of the current unit
    for place, char in enumerate(text):
        space = char.isspace()
        if start is not None and (space or _are_apart(text[place - 1], char)):
            found.append(text[start:place])
            start = None
        if start is None and not space:
            start = place
    if start is not None:
        found.append(text[start:])
    return found if unit == "words" else [token for word in found for token in _tokens(word)]


def source_length(sentence: str) -> int:
    """The number of words between spaces; in scripts without spaces, of characters (marks do not count)."""
    return len(units(sentence, "words"))


def words(pieces: Sequence[str]) -> list[range]:
    """The pieces of each word; together they cover all pieces, in order."""
    starts: list[int] = []
    word = ""  # visible text of the current word so far
    for number, text in enumerate(characters(pieces)):
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


def cover(pieces: Sequence[str], own: Sequence[str]) -> Cover:
    """The units that each piece spells; `own` are the units of the text that the pieces spell.

    A tokenizer may rewrite characters: where pieces and text differ, they are matched in order. A piece without visible
    characters, such as a space, belongs to the unit after it (at the end, to the last unit).
    """
    spelt, owners = "", []  # visible characters of the pieces, and the piece of each
    for number, (piece, text) in enumerate(zip(pieces, characters(pieces), strict=True)):
        shown = _ANY if piece == UNKNOWN else "".join(text.replace(SPACE, "").split())
        spelt += shown
        owners += [number] * len(shown)
    escaped = [(unit, text.replace(ESCAPE, f"{ESCAPE}0").replace(SPACE, f"{ESCAPE}1")) for unit, text in enumerate(own)]
    given = "".join(text for _, text in escaped)
    places = [unit for unit, text in escaped for _ in text]
    result = np.zeros((len(pieces), len(own)), np.bool_)
    for start, end, first, last in _matched(spelt, given):
        length, size = end - start, last - first
        for k in range(length):
            begin, beyond = k * size // length, -(-(k + 1) * size // length)
            result[owners[start + k], places[first + begin : first + beyond]] = True
    return _complete_cover(result, pieces)


def fold(weights: NDArray[np.floating], src: Cover, tgt: Cover) -> NDArray[np.floating]:
    """Attention [target units, source units] from attention [target pieces, source pieces].

    Weights are summed over the pieces of a source unit, and averaged over the pieces of a target unit.
    """
    sums = weights @ src.astype(weights.dtype)
    counts = np.maximum(tgt.sum(0), 1).astype(weights.dtype)
    folded: NDArray[np.floating] = tgt.T.astype(weights.dtype) @ sums / counts[:, None]
    return folded


def word_attention(
    weights: NDArray[np.floating], src_pieces: Sequence[str], tgt_pieces: Sequence[str]
) -> tuple[NDArray[np.floating], list[str], list[str]]:
    """Attention [target words, source words], the source words and the target words.

    `weights`, [target pieces, source pieces], are summed over source pieces and averaged over target pieces. The ends
    of the sentences have none, so that a row may sum to less than 1.
    """
    src_words, tgt_words = words(src_pieces), words(tgt_pieces)
    result = fold(weights, _partition(src_words), _partition(tgt_words))
    return result, [_word(src_pieces, w) for w in src_words], [_word(tgt_pieces, w) for w in tgt_words]


def align(weights: NDArray[np.floating]) -> list[tuple[int, int]]:
    """Links (source i, target j) of each target word with its heaviest source word; no link if all weights are 0."""
    if weights.size == 0:
        return []
    best = weights.argmax(axis=1)
    return [(int(i), j) for j, i in enumerate(best) if weights[j, i] > 0]


def argmax_links(weights: NDArray[np.floating], src: Cover) -> frozenset[tuple[int, int]]:
    """Links of each target unit with its heaviest source unit, and with source units spelled by the same pieces."""
    groups = np.unique(src, axis=1, return_inverse=True)[1].ravel() if src.size else np.zeros(0)
    return frozenset((int(twin), j) for i, j in align(weights) for twin in np.flatnonzero(groups == groups[i]))


def threshold_links(weights: NDArray[np.floating], threshold: float) -> frozenset[tuple[int, int]]:
    """Every link whose weight is at least `threshold`."""
    return frozenset((int(i), int(j)) for j, i in np.argwhere(weights >= threshold))


def pharaoh(links: Iterable[tuple[int, int]]) -> str:
    """Links as "i-j i-j …", from 0, in the order of the source."""
    return " ".join(f"{i}-{j}" for i, j in sorted(links))


def _are_apart(before: str, char: str) -> bool:
    """Does a unit end between these two neighbouring characters?"""
    return (spaceless(char) or spaceless(before)) and not _is_mark(char)


def _is_mark(char: str) -> bool:
    return unicodedata.category(char).startswith("M")


def _tokens(word: str) -> list[str]:
    """The word without the punctuation at its edges, and each of those punctuation marks."""
    inner = [place for place, char in enumerate(word) if not unicodedata.category(char).startswith("P")]
    if not inner:
        return list(word)
    first, last = inner[0], inner[-1] + 1
    return [*word[:first], word[first:last], *word[last:]]


def _matched(spelt: str, given: str) -> Iterator[tuple[int, int, int, int]]:
    """Spans of both texts that correspond, in order; a common beginning and a common end are not searched.

    The time of the search grows with the product of the remaining lengths, and long lines differ in a place or two.
    """
    first = _alike(spelt, given)
    last = _alike(spelt[first:][::-1], given[first:][::-1])
    beyond, given_beyond = len(spelt) - last, len(given) - last
    yield 0, first, 0, first
    between = SequenceMatcher(None, spelt[first:beyond], given[first:given_beyond], autojunk=False)
    for _, start, end, given_start, given_end in between.get_opcodes():
        yield first + start, first + end, first + given_start, first + given_end
    yield beyond, len(spelt), given_beyond, len(given)


def _alike(a: str, b: str) -> int:
    """The number of characters with which both texts begin."""
    return next((place for place, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _complete_cover(result: Cover, pieces: Sequence[str]) -> Cover:
    """Gives units to the pieces without visible characters."""
    for number in range(1, len(pieces)):  # the bytes of a character after its first byte
        if not result[number].any() and _byte(pieces[number]) is not None and _byte(pieces[number - 1]) is not None:
            result[number] = result[number - 1]
    following = result.shape[1] - 1
    for number in reversed(range(len(pieces) if result.size else 0)):
        if not result[number].any():
            result[number, following] = True
        following = int(result[number].argmax())
    return result


def _partition(ranges: Sequence[range]) -> Cover:
    """The cover of words without common pieces."""
    result = np.zeros((sum(map(len, ranges)), len(ranges)), np.bool_)
    for number, own in enumerate(ranges):
        result[own.start : own.stop, number] = True
    return result


def _byte(piece: str) -> int | None:
    """The value of a byte piece such as <0xE2>; None for another piece."""
    if len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
        try:
            return int(piece[3:5], 16)
        except ValueError:
            return None
    return None


def characters(pieces: Sequence[str]) -> list[str]:
    """The text of each piece; the first byte piece of a character has the character, its other byte pieces ''."""
    texts = list(pieces)
    number = 0
    while number < len(pieces):
        lead = _byte(pieces[number])
        if lead is None:
            number += 1
            continue
        run = [lead]
        length = 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)  # the first byte of UTF-8 tells
        for piece in pieces[number + 1 : number + length]:
            if (byte := _byte(piece)) is None:
                break
            run.append(byte)
        texts[number : number + len(run)] = [bytes(run).decode("utf-8", errors="replace")] + [""] * (len(run) - 1)
        number += len(run)
    return texts


def _word(pieces: Sequence[str], word: range) -> str:
    text = "".join(characters(pieces[word.start : word.stop])).replace(SPACE, "")
    return text.replace(f"{ESCAPE}1", SPACE).replace(f"{ESCAPE}0", ESCAPE)  # undoes the tokenizer's escapes
