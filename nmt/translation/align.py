"""`nmt align`: word alignments of given sentence pairs, from a model's attention."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice, zip_longest

from nmt.config.sections import Unit
from nmt.data.streams import file_lines
from nmt.errors import ConfigError, DataError, counted
from nmt.machine.home import expanded
from nmt.scoring.aer import (
    SYMMETRISE,
    AlignmentScores,
    Gold,
    Links,
    alignment_scores,
    transposed,
)
from nmt.scoring.alignment import argmax_links, cover, fold, threshold_links, units
from nmt.translation.translations import Translation
from nmt.translation.translator import Translator

PAIRS_AHEAD = 1024  # sentence pairs read ahead, so that pairs of similar length are forced together

LinePair = tuple[str, str]


@dataclass(frozen=True)
class Extraction:
    """How links are drawn from attention."""

    unit: Unit
    threshold: float | None  # smallest weight of a link; None: link each target unit with its heaviest source unit
    layer: int | None  # from 0; None: the mean of all layers
    head: int | None  # from 0; None: the mean of all heads

    def links(self, pair: Translation) -> Links:
        """The links of a forced sentence pair; empty if the model has no attention."""
        if pair.attention is None:
            return frozenset()
        layers = pair.attention.mean(0) if self.layer is None else pair.attention[self.layer]
        weights = layers.mean(0) if self.head is None else layers[self.head]
        src = cover(pair.src_pieces, units(pair.source, self.unit))
        tgt = cover(pair.tgt_pieces, units(pair.text, self.unit))
        folded = fold(weights, src, tgt)
        return argmax_links(folded, src) if self.threshold is None else threshold_links(folded, self.threshold)


def check_model(translator: Translator, how: Extraction, shown: str) -> None:
    """Refuses a model without attention, or without the wanted layer or head; `shown`: the model as typed."""
    if not translator.has_attention:
        raise ConfigError(f"the model has no attention to align with, {shown}; name one with attention")
    weights = translator.force([""], [""])[0].attention
    assert weights is not None
    for name, size in zip(("layer", "head"), weights.shape, strict=False):
        wanted = getattr(how, name)
        if wanted is not None and wanted >= size:
            have = "only 1" if size == 1 else f"1 to {size}"
            raise ConfigError(f"{name}={wanted + 1} is not there, {shown}; it has {have}, null means them all")


def count_pairs(src: str, tgt: str) -> int | None:
    """The number of sentence pairs; None if it cannot be known before they are read (pipes)."""
    for key, name in (("src", src), ("tgt", tgt)):
        if not expanded(name).exists():
            raise DataError(f"no file {name}, {key}={name}; check the path")
    if not all(expanded(name).is_file() for name in (src, tgt)):
        return None
    return sum(1 for _ in read_pairs(src, tgt))


def read_pairs(src: str, tgt: str) -> Iterator[LinePair]:
    """The lines in pairs. Files of different lengths are refused, when the shorter one ends."""
    sides = (file_lines(expanded(name)) for name in (src, tgt))
    for number, (source, target) in enumerate(zip_longest(*sides), 1):
        if source is None or target is None:
            shorter, longer = (src, tgt) if source is None else (tgt, src)
            raise DataError(
                f"{shorter} has {counted(number - 1, 'line')}, {longer} has more; line N of one must translate line N "
                "of the other"
            )
        yield source, target


def aligned(
    translator: Translator, other: Translator | None, pairs: Iterable[LinePair], how: Extraction, symmetrise: str | None
) -> Iterator[Links]:
    """The links of every pair, in order; with a second model, the links of both directions, symmetrised."""
    pending = iter(pairs)
    for first in count(1, PAIRS_AHEAD):
        if not (chunk := list(islice(pending, PAIRS_AHEAD))):
            return
        sources, targets = ([pair[side] for pair in chunk] for side in (0, 1))
        forward = [how.links(pair) for pair in translator.force(sources, targets, first)]
        if other is None or symmetrise is None:
            yield from forward
            continue
        backward = [transposed(how.links(pair)) for pair in other.force(targets, sources, first)]
        yield from map(SYMMETRISE[symmetrise], forward, backward)


def gold_scores(
    translator: Translator, sources: Sequence[str], references: Sequence[str], gold: Sequence[Gold], unit: Unit
) -> AlignmentScores | None:
    """Alignment scores of the model's mean attention on the references (argmax links); None without attention."""
    if not translator.has_attention:
        return None
    how = Extraction(unit, threshold=None, layer=None, head=None)
    pairs = zip(sources, references, strict=True)
    return alignment_scores(list(aligned(translator, None, pairs, how, None)), gold)
