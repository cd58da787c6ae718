"""Prefixes: searches for translations that begin with a given text.

The prefix is a constraint on characters, not on pieces: "Ein Hu" may go on as "Ein Hund" even if no piece of that word
is "Hu". Every hypothesis knows how many bytes of the prefix it has spelled, and only pieces that spell more of it may
follow. (Knowles and Koehn 2016 force whole words, but users type characters.)
"""

import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt.data.tokenizer import EOS
from nmt.scoring.alignment import spaceless
from nmt.search.hypotheses import Beam, SearchStep

Move = tuple[int, int]  # a piece, and the place after it: bytes of the prefix spelled (plus 1 behind a whole last word)


class Spelling:
    """The spelling of a vocabulary's pieces; `surfaces` are their bytes, empty for pieces that spell nothing."""

    def __init__(self, surfaces: Sequence[bytes]) -> None:
        self.surfaces = surfaces
        self.ordered = sorted((surface, piece) for piece, surface in enumerate(surfaces) if surface)
        self.keys = [surface for surface, _ in self.ordered]
        self.longest = max(map(len, self.keys), default=0)
        self.all = [EOS, *(piece for _, piece in self.ordered)]  # pieces that can occur in a translation
        self.apart = [  # pieces that may follow a whole word: the end, a new word, punctuation
            EOS,
            *(piece for surface, piece in self.ordered if not _joins(surface)),
        ]

    def of(self, pieces: Iterable[int]) -> bytes:
        """The bytes that the pieces spell together."""
        return b"".join(self.surfaces[piece] for piece in pieces)

    def moves(self, prefix: bytes, place: int, whole: bool) -> list[Move]:
        """The pieces that may follow the first `place` bytes of the prefix.

        They spell a part of the remaining bytes, or all of them and more. If the prefix's last word is `whole`, a piece
        that goes beyond the prefix must not make this word longer.
        """
        rest, size = prefix[place:], len(prefix)
        found = [
            (piece, place + length)
            for length in range(1, min(self.longest, len(rest)) + 1)
            for piece in self._starting(rest[:length], only=True)
        ]
        beyond = [piece for piece in self._starting(rest, only=False) if self.surfaces[piece] != rest]
        if whole:
            return found + [(piece, size + 1) for piece in beyond if not _joins(self.surfaces[piece][len(rest) :])]
        return found + [(piece, size) for piece in beyond]

    def _starting(self, surface: bytes, only: bool) -> list[int]:
        """The pieces that begin with `surface`; `only`: the pieces that spell exactly this."""
        begin = end = bisect_left(self.keys, surface)
        while end < len(self.keys) and (self.keys[end] == surface or (not only and self.keys[end].startswith(surface))):
            end += 1
        return [piece for _, piece in self.ordered[begin:end]]


def _joins(surface: bytes) -> bool:
    """Would the piece make the word before it longer? Letters, digits, marks and bytes of longer characters do."""
    try:
        first = surface.decode()[0]
    except UnicodeDecodeError:
        return True
    return not spaceless(first) and (first.isalnum() or first in "_'’-" or unicodedata.combining(first) > 0)


@dataclass(frozen=True)
class Prefix:
    """The beginning of a translation. `moves[n]` holds the pieces that may follow when n bytes of it are spelled."""

    moves: list[dict[int, int]]  # at each place: piece -> place after it
    pieces: list[Int[Tensor, " _"]]  # the pieces of `moves`, to index log-probabilities with

    @classmethod
    def of(cls, spelling: Spelling, text: bytes, whole: bool) -> "Prefix | None":
        """The prefix of these bytes; if its last word is `whole`, it may not go on. None: no pieces spell the bytes."""
        size = len(text)
        moves: list[dict[int, int]] = [dict(spelling.moves(text, place, whole)) for place in range(size)]
        if whole:
            moves.append(dict.fromkeys(spelling.apart, size + 1))
        for place in range(size - 1, -1, -1):  # remove pieces after which the prefix cannot be completed
            moves[place] = {piece: after for piece, after in moves[place].items() if after >= size or moves[after]}
        if not moves[0]:
            return None
        return cls(moves, [torch.tensor(list(each), dtype=torch.long) for each in moves])

    def __len__(self) -> int:
        """The number of places before a hypothesis is free; also the most pieces that can spell the prefix."""
        return len(self.moves)


class Prefixes:
    """The prefix of each sentence of a batch; None: its translation may begin in any way."""

    def __init__(self, each: Sequence[Prefix | None]) -> None:
        self.each = each

    def begun(self, beam: Beam, max_length: int | None) -> Beam:
        """The first hypotheses, placed at the beginning of their prefixes.

        Length limits are raised to leave room for the whole prefix, up to `max_length`.
        """
        lengths = [0 if prefix is None else len(prefix) for prefix in self.each]
        limit = beam.limit.maximum(beam.limit.new_tensor(lengths))
        if max_length is not None:
            limit = limit.clamp(max=max_length)
        return replace(beam, limit=limit, place=torch.zeros_like(beam.log_prob, dtype=torch.long))

    def held(
        self, log_probs: Float[Tensor, "R V"], beam: Beam
    ) -> list[tuple[int, Int[Tensor, " _"], Float[Tensor, " _"]]]:
        """For each row that is within a prefix: its number, the pieces allowed, and their log-probabilities."""
        if beam.place is None:
            return []
        found = []
        K = beam.place.shape[1]
        for n, (sentence, places) in enumerate(zip(beam.sentence.tolist(), beam.place.tolist(), strict=True)):
            prefix = self.each[sentence]
            for k, place in enumerate(places):
                if prefix is not None and place < len(prefix):
                    pieces = prefix.pieces[place].to(log_probs.device)
                    found.append((n * K + k, pieces, log_probs[n * K + k, pieces]))
        return found

    def advanced(self, beam: Beam, step: SearchStep) -> Beam:
        """The hypotheses after this step, with places moved on from their parents' places; None once all are free."""
        if beam.place is None:
            return beam
        sentences = beam.sentence.tolist()
        rows = zip(sentences, beam.place.tolist(), step.token.tolist(), strict=True)
        places = [[self._next(sentence, *each) for each in zip(*own, strict=True)] for sentence, *own in rows]
        free = all(
            self._is_free(sentence, place) for sentence, own in zip(sentences, places, strict=True) for place in own
        )
        return replace(beam, place=None if free else beam.place.new_tensor(places))

    def _is_free(self, sentence: int, place: int) -> bool:
        """Is the sentence's prefix, if it has one, spelled to its end?"""
        prefix = self.each[sentence]
        return prefix is None or place >= len(prefix)

    def _next(self, sentence: int, place: int, token: int) -> int:
        if (prefix := self.each[sentence]) is None or self._is_free(sentence, place):
            return place
        return prefix.moves[place].get(token, place)  # a hypothesis of probability 0 stays where it is
