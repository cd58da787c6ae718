"""One split of a corpus, found but not yet read; it may be joined from several splits."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from nmt.data.formats.referenced import ReferencedSegments
from nmt.data.formats.tally import Tally

Pair = tuple[str, str]
Block = tuple[list[str], list[str]]  # sources and targets


@dataclass(frozen=True)
class Split:
    """A source of sentence pairs."""

    content: list[str]  # digests of the content that will be read
    pairs: Callable[[], Iterator[Pair]]
    notes: tuple[str, ...] = ()  # lines about the files, for the report
    tallies: tuple[Tally, ...] = ()  # counts for files with units that may give no pair
    references: ReferencedSegments | None = None  # for a test set: all references, by their translator
    counts: list[int] = field(default_factory=list)  # for a joined split: pairs of each part, once they are read
    parts: tuple[int, ...] = ()  # for a joined split: how many items of `content` are of each part


def joined(splits: Sequence[Split]) -> Split:
    """One split with the pairs of all splits, one split after another."""
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
        parts=tuple(len(split.content) for split in splits),
    )


def blocks(pairs: Iterable[Pair], most: int, most_characters: int) -> Iterator[Block]:
    """At most so many pairs at a time, or fewer if they have about so many characters."""
    sources: list[str] = []
    targets: list[str] = []
    size = 0
    for src, tgt in pairs:
        sources.append(src)
        targets.append(tgt)
        size += len(src) + len(tgt)
        if len(sources) == most or size >= most_characters:
            yield sources, targets
            sources, targets, size = [], [], 0
    if sources:
        yield sources, targets
