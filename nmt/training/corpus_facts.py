"""Facts about a training split, from which the recipe follows: its amount of text, scripts, copies and tokens."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any
from unicodedata import east_asian_width

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from nmt.config.sections import DataConfig
from nmt.data.batching import Mix
from nmt.data.corpus import Corpus
from nmt.data.encoded import Numbers
from nmt.data.prepare import within_limits
from nmt.data.tables import count_rows, read_batches, spread
from nmt.data.tokenizer import TokenizerPair
from nmt.scoring.cautions import scripts_of

# Facts are taken from so many pairs at most, from all over the corpus:
LOOKED_AT = 100_000  # pairs to count characters in
ENCODED = 10_000  # pairs to count pieces and words in
WORDS = 40_000  # running words of which some occur once: fewer of a longer text do
WORD_LENGTHS = (2, 15)  # characters of a word in the mean; what lies outside is no text with spaces between words
COVERAGE = 0.998  # share of the text's characters that get a piece, where there are many different ones
LONGEST_PIECE = 16  # characters of a piece at most, as SentencePiece trains them
ALONE = 1.2  # times the share of words that occur once, on the only side that has words
WIDE = 3  # letters that a wide character is worth: a Chinese, Japanese or Korean one is a word or a syllable
SIDES = ("src", "tgt")


@dataclass(frozen=True)
class Facts:
    """What the recipe knows about a training split."""

    pairs: int
    size: int  # characters of the smaller side, a wide one counted WIDE times; pairs that occur twice count once
    alphabets: tuple[int, int]  # different characters that make up COVERAGE of the source and of the target
    one_script: bool  # are both sides mostly in the same script?
    seen_once: float  # share of different words that occur once in WORDS of them, on the side with more
    tokens: int = 0  # of the longer side, summed over the pairs; 0 before there is a tokenizer
    epoch: float = 1.0  # share of the tokens that an epoch has; below 1 where parts of the corpus have weights
    whole_part: float = 1.0  # share of the tokens in the part that an epoch reads as a whole
    kept: float = 1.0  # share of the size in pairs within the limits that data.filters has for pieces
    new: float = 1.0  # share of the text in pairs that have not occurred before


@cache
def facts_of(train: Path, max_tokens: int | None) -> Facts:
    """Facts about the table of a training split; cached, because every job of a sweep asks for them.

    A pair that has more than `max_tokens` pieces even if they are all as long as can be does not count: it will be
    dropped. Memory holds a hash and two lengths for each pair.
    """
    hashes, lengths = [], []
    for batch in read_batches(train):
        length = np.array([pc.utf8_length(batch[side]).to_numpy() for side in SIDES])
        stays = short_enough(length, max_tokens)
        pairs = zip(*(batch[side].to_pylist() for side in SIDES), strict=True)
        hashes.append(np.fromiter(map(hash, pairs), np.int64, batch.num_rows)[stays])
        lengths.append(length[:, stays])
    letters: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    for batch in spread(train, LOOKED_AT):
        for count, side in zip(letters, SIDES, strict=True):
            count.update("".join(batch[side].to_pylist()))
    src, tgt = letters
    length = np.concatenate(lengths, axis=1)
    new = length[:, np.unique(np.concatenate(hashes), return_index=True)[1]].sum(axis=1)
    return Facts(
        pairs=length.shape[1],
        size=max(1, min(map(in_letters, new.tolist(), letters))),
        alphabets=(most_common(src), most_common(tgt)),
        one_script=main_script(src) == main_script(tgt),
        seen_once=share_seen_once(train),
        new=float(new.sum() / length.sum()) if length.any() else 1.0,
    )


def short_enough(characters: NDArray[Any], max_tokens: int | None) -> NDArray[np.bool_]:
    """Which pairs have at most `max_tokens` pieces a side if each is LONGEST_PIECE long; `characters`: [2, pairs]."""
    longer: NDArray[Any] = characters.max(axis=0)
    return longer <= (np.inf if max_tokens is None else LONGEST_PIECE * max_tokens)


def share_seen_once(train: Path) -> float:
    """Share of the different words that occur once, on the side with more of them; 1 where no side has words.

    Texts that are repeated count once. A text without spaces, or with spaces between characters, has no words. Where
    only one side has words, its share counts more: Vietnamese, with a space after each syllable, has 0.48.
    """
    texts: tuple[dict[str, None], dict[str, None]] = {}, {}  # dictionaries keep the order
    for batch in spread(train, ENCODED):
        for side, column in enumerate(SIDES):
            texts[side].update(dict.fromkeys(batch[column].to_pylist()))
    shares: list[float] = []
    shortest, longest = WORD_LENGTHS
    for each in texts:
        mixed = Random(0).sample(list(each), len(each))  # words from all over the corpus
        words = list(islice((word for text in mixed for word in text.split()), WORDS))
        if words and shortest <= sum(map(len, words)) / len(words) <= longest:
            counts = Counter(words)
            shares.append(sum(count == 1 for count in counts.values()) / len(counts))
    if len(shares) == 1:
        return min(1.0, ALONE * shares[0])
    return max(shares, default=1.0)


def with_pieces(facts: Facts, corpus: Corpus, tokenizers: TokenizerPair, data: DataConfig) -> Facts:
    """Adds the facts that need tokenizers; large corpora are judged by some of their pairs.

    A pair that `data.filters` drops for its pieces does not count in the size and the tokens from here on.
    """
    train = corpus.path("train")
    sample = sample_of(train, tokenizers)
    stays = within_limits(sample.pieces, data, Counter())
    tokens = np.where(stays, sample.pieces.max(axis=0) + 1, 0)
    so_far = short_enough(sample.characters, data.filters.max_tokens)  # the pairs in `facts.size`
    kept = min(1.0, sample.size(stays) / max(1, sample.size(so_far)))
    size = max(1, round(kept * facts.size))
    facts = replace(facts, tokens=int(tokens.sum()) * count_rows(train) // len(tokens), size=size, kept=kept)
    if data.train.weights is None or not stays.any():
        return facts
    count, parts = len(data.train.weights), corpus.parts_of(sample.index)
    all_parts = (corpus.parts_of(batch["index"].to_numpy()) for batch in read_batches(train))
    found = sum(np.bincount(each, minlength=count) for each in all_parts)
    looked_at, left, in_part = (np.bincount(parts, each, count) for each in (None, stays, tokens))
    sizes = found * np.where(looked_at, left / np.maximum(1, looked_at), 1)  # a part so small that none is looked at
    means = np.where(left, in_part / np.maximum(1, left), tokens.sum() / stays.sum())
    epoch, whole_part = of_epoch([max(1, round(size)) for size in sizes], data.train.weights, means)
    return replace(facts, epoch=epoch, whole_part=whole_part)


@dataclass(frozen=True, eq=False)
class Sample:
    """Some pairs from all over a training split."""

    index: Numbers  # number of each pair, as read
    characters: Numbers  # of both sides, [2, pairs]
    pieces: Numbers  # [2, pairs]
    letters: tuple[Counter[str], Counter[str]]  # the characters of each side

    def size(self, pairs: NDArray[np.bool_]) -> int:
        """The letters that the smaller side of these pairs is worth."""
        return min(map(in_letters, self.characters[:, pairs].sum(axis=1).tolist(), self.letters))


def sample_of(train: Path, tokenizers: TokenizerPair) -> Sample:
    """At most ENCODED pairs of a table."""
    index, characters, pieces = [], [], []
    letters: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    for batch in spread(train, ENCODED):
        texts = [batch[side].to_pylist() for side in SIDES]
        encoded = [each.encode_batch(side) for each, side in zip((tokenizers.src, tokenizers.tgt), texts, strict=True)]
        index.append(batch["index"].to_numpy())
        characters.append(np.array([list(map(len, side)) for side in texts], np.int64))
        pieces.append(np.array([list(map(len, side)) for side in encoded], np.int64))
        for count, side in zip(letters, texts, strict=True):
            count.update("".join(side))
    return Sample(np.concatenate(index), np.concatenate(characters, axis=1), np.concatenate(pieces, axis=1), letters)


def of_epoch(sizes: Sequence[int], weights: Sequence[int | float], means: NDArray[np.float64]) -> tuple[float, float]:
    """Shares of all tokens: those of an epoch, and those in the part that an epoch reads as a whole.

    `sizes`: pairs of each part; `means`: their tokens in the mean.
    """
    counts = Mix(sizes, weights).counts
    whole = min(size * mean for size, mean, count in zip(sizes, means, counts, strict=True) if count == size)
    total = sizes @ means
    return float(counts @ means / total), float(whole / total)


def in_letters(length: int, characters: Counter[str]) -> int:
    """How many letters of an alphabet a text of this length is worth, judged by some of its characters."""
    wide = sum(count for character, count in characters.items() if east_asian_width(character) in "WF")
    return round(length * (1 + (WIDE - 1) * wide / max(1, characters.total())))


def most_common(letters: Counter[str]) -> int:
    """How many of the most frequent characters make up COVERAGE of the text."""
    left = COVERAGE * letters.total()
    for number, (_, count) in enumerate(letters.most_common(), 1):
        left -= count
        if left <= 0:
            return number
    return len(letters)


def main_script(letters: Counter[str]) -> str | None:
    """The script of most letters; None: there are no letters."""
    return next((script for script, _ in scripts_of(letters).most_common(1)), None)
