"""Searches whose translations begin with a given text.

The prefix is a constraint on characters, not on pieces: "Ein Hu" may go on as "Ein Hund" although the piece "Hu" never
comes up in that word. Every hypothesis knows how many bytes of the prefix it has spelled, and may only be continued by
pieces that spell more of it (Knowles and Koehn 2016 force whole words; characters are what a user types).
"""

import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt.data.tokenizer import EOS
from nmt.scoring.alignment import spaceless
from nmt.search.hypotheses import Beam, SearchStep

Move = tuple[int, int]  # a piece, and how many bytes of the prefix are spelled after it


class Spelling:
    """What the pieces of a vocabulary spell; `surfaces` are their bytes, empty for pieces that spell nothing."""

    def __init__(self, surfaces: Sequence[bytes]) -> None:
        self.surfaces = surfaces
        self.ordered = sorted((surface, piece) for piece, surface in enumerate(surfaces) if surface)
        self.keys = [surface for surface, _ in self.ordered]
        self.longest = max(map(len, self.keys), default=0)
        self.all = [EOS, *(piece for _, piece in self.ordered)]  # that may come at all
        self.apart = [  # pieces that may follow a whole word: the end, a new word, punctuation
            EOS,
            *(piece for surface, piece in self.ordered if not _joins(surface)),
        ]

    def moves(self, prefix: bytes, place: int, whole: bool) -> list[Move]:
        """The pieces that spell what follows the first `place` bytes of the prefix, or begin with all of that.

        Where its last word is `whole`, what such a piece spells behind the prefix does not make the word longer.
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
        """Pieces that begin so, or spell that only."""
        begin = end = bisect_left(self.keys, surface)
        while end < len(self.keys) and (self.keys[end] == surface or (not only and self.keys[end].startswith(surface))):
            end += 1
        return [piece for _, piece in self.ordered[begin:end]]


def _joins(surface: bytes) -> bool:
    """Would the piece make the word before it longer? So do letters, digits, marks and bytes of longer characters."""
    try:
        first = surface.decode()[0]
    except UnicodeDecodeError:
        return True
    return not spaceless(first) and (first.isalnum() or first in "_'’-" or unicodedata.combining(first) > 0)


@dataclass(frozen=True)
class Prefix:
    """What a translation begins with. Place n of `moves` has what may follow when n bytes of it are spelled."""

    moves: list[dict[int, int]]  # piece -> place after it
    pieces: list[Int[Tensor, " _"]]  # the same, as rows of log-probabilities are indexed

    @classmethod
    def of(cls, spelling: Spelling, text: bytes, whole: bool) -> "Prefix | None":
        """A prefix of these bytes, whose last word may not go on if it is `whole`; None: no pieces spell it."""
        size = len(text)
        moves: list[dict[int, int]] = [dict(spelling.moves(text, place, whole)) for place in range(size)]
        if whole:
            moves.append(dict.fromkeys(spelling.apart, size + 1))
        for place in range(size - 1, -1, -1):  # no way may end before the prefix does
            moves[place] = {piece: after for piece, after in moves[place].items() if after >= size or moves[after]}
        if not moves[0]:
            return None
        return cls(moves, [torch.tensor(list(each), dtype=torch.long) for each in moves])

    def __len__(self) -> int:
        """Places before the hypothesis is free; no way through the prefix has more pieces."""
        return len(self.moves)


class Prefixes:
    """The prefix of each sentence of a batch; None: its translation may begin in any way."""

    def __init__(self, each: Sequence[Prefix | None]) -> None:
        self.each = each

    def begun(self, beam: Beam, max_length: int | None) -> Beam:
        """The first hypotheses, at the beginning of their prefixes.

        Their limits leave room for the whole prefix, but none is above `max_length`.
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
        """The hypotheses that this step has made, whose places are still their parents'; None once all are free."""
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
        """Is the prefix, if there is one, spelled to its end?"""
        prefix = self.each[sentence]
        return prefix is None or place >= len(prefix)

    def _next(self, sentence: int, place: int, token: int) -> int:
        if (prefix := self.each[sentence]) is None or self._is_free(sentence, place):
            return place
        return prefix.moves[place].get(token, place)  # a hypothesis of probability 0 stays where it is
