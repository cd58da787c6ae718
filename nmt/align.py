"""`nmt align`: word alignments of given sentence pairs, out of a model's attention."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt.aer import AlignmentScores, Gold, Links, alignment_scores, check_gold, diagonal, read_gold
from nmt.alignment import Unit, argmax_links, cover, fold, threshold_links, units
from nmt.translator import Translation, Translator

CHUNK = 1024  # sentence pairs read ahead, so that those of similar length are forced together


@dataclass(frozen=True)
class Extraction:
    """How links are drawn from attention."""

    unit: Unit
    threshold: float | None  # least weight of a link; None: each target unit's heaviest source unit
    layer: int | None  # from 0; None: the mean of all
    head: int | None  # likewise

    def links(self, pair: Translation) -> Links:
        """The links of a sentence pair that was forced with attention; none without attention."""
        if pair.attention is None:
            return frozenset()
        layers = pair.attention.mean(0) if self.layer is None else pair.attention[self.layer]
        weights = layers.mean(0) if self.head is None else layers[self.head]
        src = cover(pair.src_pieces, units(pair.source, self.unit))
        tgt = cover(pair.tgt_pieces, units(pair.text, self.unit))
        folded = fold(weights, src, tgt)
        return argmax_links(folded, src) if self.threshold is None else threshold_links(folded, self.threshold)


def forced(translator: Translator, sources: Sequence[str], targets: Sequence[str]) -> Iterator[Translation]:
    """The pairs with their attention, in order; only some of them are in memory at a time."""
    for start in range(0, len(sources), CHUNK):
        part = slice(start, start + CHUNK)
        yield from translator.force(sources[part], targets[part])


def load_gold(path: Path, reverse: bool, sources: Sequence[str], references: Sequence[str], unit: Unit) -> list[Gold]:
    """The gold links of these sentence pairs, checked; `reverse`: the file counts the target first."""
    gold = read_gold(path, reverse)
    check_gold(
        gold, [(len(units(s, unit)), len(units(t, unit))) for s, t in zip(sources, references, strict=True)], path
    )
    return gold


def gold_scores(
    translator: Translator, sources: Sequence[str], references: Sequence[str], gold: Sequence[Gold], unit: Unit
) -> AlignmentScores | None:
    """How well the model's mean attention, forced to the references, aligns (argmax); None without attention."""
    if not translator.has_attention:
        return None
    how = Extraction(unit, threshold=None, layer=None, head=None)
    return alignment_scores([how.links(pair) for pair in forced(translator, sources, references)], gold)


def diagonal_scores(
    sources: Sequence[str], references: Sequence[str], gold: Sequence[Gold], unit: Unit
) -> AlignmentScores:
    """The same of the baseline that knows lengths alone."""
    lengths = [(len(units(s, unit)), len(units(t, unit))) for s, t in zip(sources, references, strict=True)]
    return alignment_scores([diagonal(S, T) for S, T in lengths], gold)
