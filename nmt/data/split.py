"""One split of a corpus, found but not yet read; it may be joined from several."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from nmt.data.formats.referenced import ReferencedSegments
from nmt.data.formats.tally import Tally

Pair = tuple[str, str]


@dataclass(frozen=True)
class Split:
    """Where pairs come from."""

    content: list[str]  # digests of what will be read
    pairs: Callable[[], Iterator[Pair]]
    notes: tuple[str, ...] = ()  # for the report: what was found out about the files
    tallies: tuple[Tally, ...] = ()  # of files with units that may give no pair
    references: ReferencedSegments | None = None  # of a test set: all there are, by who made them
    counts: list[int] = field(default_factory=list)  # pairs of each split it is joined from, once they are read


def joined(splits: Sequence[Split]) -> Split:
    """The pairs of one split after those of another."""
    counts = [0] * len(splits)

    def pairs() -> Iterator[Pair]:
        for number, split in enumerate(splits):
            counts[number] = 0
            for pair in split.pairs():
                counts[number] += 1
                yield pair

    return Split(
        [part for split in splits for part in split.content],
        pairs,
        tuple(note for split in splits for note in split.notes),
        tuple(tally for split in splits for tally in split.tallies),
        counts=counts,
    )
