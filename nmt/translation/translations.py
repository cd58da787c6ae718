"""The results of translating: text, scores, and the attention behind them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nmt.data.text import one_line
from nmt.scoring.alignment import SPACE, align, spaceless, unspaced, word_attention


@dataclass(frozen=True)
class Candidate:
    """One translation of a sentence."""

    text: str
    score: float  # after length and coverage penalties; the search ranks by it
    log_prob: float  # nats, end of sentence included; with a shortlist, normalised over its pieces


def distinct(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The first candidate of each text; several sequences of pieces may spell the same text."""
    first: dict[str, Candidate] = {}
    for candidate in candidates:
        first.setdefault(candidate.text, candidate)
    return list(first.values())


@dataclass(frozen=True)
class WordLinks:
    """The words of a sentence and of its translation, and the links between them."""

    src: list[str]
    tgt: list[str]
    links: list[tuple[int, int]]  # (source word, target word), from 0


@dataclass(frozen=True)
class Translation:
    """A sentence's translations, the best first, and the attention behind the best."""

    source: str
    n_best: list[Candidate]
    src_pieces: list[str]
    tgt_pieces: list[str]
    attention: NDArray[np.float32] | None  # [L, H, T, S]; None: not asked for, not in the model, or a very long line
    kept_links: WordLinks | None = None  # word links, drawn from attention that was not kept
    sentences: int = 1  # sentences that were translated one by one
    parts: int = 1  # parts that were searched one by one: more than sentences if one is too long; 0: no text
    dropped: int = 0  # source pieces at the end that were not translated

    @property
    def text(self) -> str:
        """The best translation."""
        return self.n_best[0].text

    @property
    def score(self) -> float:
        """The best translation's score."""
        return self.n_best[0].score

    @property
    def log_prob(self) -> float:
        """The best translation's log-probability."""
        return self.n_best[0].log_prob

    @property
    def mean_attention(self) -> NDArray[np.float32]:
        """Attention [T, S] between pieces, the mean of layers and heads; zeros if there is no attention."""
        if self.attention is None:
            return np.zeros((len(self.tgt_pieces), len(self.src_pieces)), np.float32)
        mean: NDArray[np.float32] = self.attention.mean((0, 1))
        return mean

    @property
    def word_attention(self) -> tuple[NDArray[np.floating], list[str], list[str]]:
        """Mean attention [target words, source words] behind the best translation; source words; target words."""
        return word_attention(self.mean_attention, self.src_pieces, self.tgt_pieces)

    @property
    def word_links(self) -> WordLinks:
        """The words, and a link from each target word to where its attention is highest; empty without attention."""
        if self.kept_links is not None:
            return self.kept_links
        if self.attention is None:
            return WordLinks([], [], [])
        weights, src, tgt = self.word_attention
        return WordLinks(src, tgt, align(weights))

    @property
    def alignment(self) -> list[tuple[int, int]]:
        """Links (source word, target word), from 0: where each target word's attention is highest."""
        return self.word_links.links

    def without_attention(self) -> "Translation":
        """The translation with word links in place of attention, which grows with the square of the length."""
        return self if self.attention is None else replace(self, attention=None, kept_links=self.word_links)


NOTHING = [Candidate("", 0.0, 0.0)]  # the translations of an empty text


def joined(source: str, parts: Sequence[Translation], dropped: int) -> Translation:
    """The translation of a line from those of its parts: log-probabilities added, scores averaged."""
    if not parts:
        return Translation(source, NOTHING, [], [], None, parts=0)
    if len(parts) == 1:
        return replace(parts[0], source=source, dropped=dropped)
    return _joined(source, parts, lambda before, after, _: "" if spaceless(before) else " ", len(parts), dropped)


def joined_sentences(source: str, sentences: Sequence[Translation], gaps: Sequence[str]) -> Translation:
    """The translation of a line from those of its sentences, with the source's white space between them.

    Attention is kept if every sentence has it. Each sentence attends to its own source alone.
    """
    if len(sentences) == 1:
        return replace(sentences[0], source=source)
    sentences = [sentences[0], *map(with_space, sentences[1:])]
    parts, dropped = sum(each.parts for each in sentences), sum(each.dropped for each in sentences)
    whole = _joined(source, sentences, lambda before, after, n: gap_between(before, after, gaps[n]), parts, dropped)
    blocks = [each.attention for each in sentences if each.parts]
    found = [block for block in blocks if block is not None]
    if not found or len(found) < len(blocks):
        return replace(whole, sentences=len(sentences))
    return replace(whole, sentences=len(sentences), attention=side_by_side(found), kept_links=None)


def gap_between(before: str, after: str, gap: str) -> str:
    """The white space between two translated sentences, if the source has `gap` between them.

    `before` and `after` are the characters of the translation on both sides.
    """
    white = "".join(char for char in gap if char.isspace()).replace("\u3000", " ")
    if unspaced(before) or unspaced(after):
        return white if one_line(white) != white else ""
    return white or " "


def side_by_side(blocks: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """The attention [L, H, T, S] of consecutive texts as one; no text attends to another's source."""
    L, H = blocks[0].shape[:2]
    whole = np.zeros(
        (L, H, sum(block.shape[2] for block in blocks), sum(block.shape[3] for block in blocks)), np.float32
    )
    t = s = 0
    for block in blocks:
        T, S = block.shape[2:]
        whole[:, :, t : t + T, s : s + S] = block
        t, s = t + T, s + S
    return whole


def _joined(
    source: str, parts: Sequence[Translation], gap: Callable[[str, str, int], str], searched: int, dropped: int
) -> Translation:
    """The translation of a whole text from those of its parts.

    `gap(before, after, n)`: the text between parts n and n + 1, whose translations end and begin with these characters.
    """
    n_best = []
    for candidates in zip(*(part.n_best for part in parts), strict=False):  # as many as every part has
        text = ""
        for number, candidate in enumerate(candidates):
            apart = gap(text[-1], candidate.text[0], number - 1) if text and candidate.text else ""
            text += apart + candidate.text
        scores = [candidate.score for candidate in candidates]
        n_best.append(Candidate(text, sum(scores) / len(scores), sum(c.log_prob for c in candidates)))
    src = [piece for part in parts for piece in part.src_pieces]
    tgt = [piece for part in parts for piece in part.tgt_pieces]
    links = joined_links([part.word_links for part in parts])
    return Translation(source, n_best, src, tgt, None, links, parts=searched, dropped=dropped)


def with_space(sentence: Translation) -> Translation:
    """The sentence with a space as its first piece, so that it can follow another; a model may leave the space out."""
    if not sentence.tgt_pieces or sentence.tgt_pieces[0].startswith(SPACE):
        return sentence
    attention = sentence.attention
    padded = None if attention is None else np.pad(attention, ((0, 0), (0, 0), (1, 0), (0, 0)))
    return replace(sentence, tgt_pieces=[SPACE, *sentence.tgt_pieces], attention=padded)


def joined_links(parts: Sequence[WordLinks]) -> WordLinks:
    """The word links of the whole text; a word that is divided between two parts is one word in each."""
    src: list[str] = []
    tgt: list[str] = []
    links: list[tuple[int, int]] = []
    for part in parts:
        links += [(len(src) + i, len(tgt) + j) for i, j in part.links]
        src += part.src
        tgt += part.tgt
    return WordLinks(src, tgt, links)
