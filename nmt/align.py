"""`nmt align`: word alignments of given sentence pairs, out of a model's attention."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice, zip_longest
from pathlib import Path
from typing import Any

from tqdm import tqdm

from nmt.aer import (
    SYMMETRISE,
    AlignmentScores,
    Gold,
    Links,
    alignment_scores,
    check_gold,
    diagonal,
    read_gold,
    transposed,
)
from nmt.alignment import Unit, argmax_links, cover, fold, pharaoh, threshold_links, units
from nmt.errors import ConfigError, DataError
from nmt.translate import file_lines, open_scorer, output_file
from nmt.translations import Translation
from nmt.translator import Translator

CHUNK = 1024  # sentence pairs read ahead, so that those of similar length are forced together

Pair = tuple[str, str]


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


def main(config: Mapping[str, Any], typed: Mapping[str, Any]) -> int:
    """Prints the links of every pair of lines, as "i-j i-j …"."""
    how = extraction(config)
    total = count_pairs(config["src"], config["tgt"])
    translator = open_scorer(config, typed)
    check_model(translator, config, "model")
    other = None
    if config["reverse_model"] is not None:
        other = open_scorer(config, typed, "reverse_model")
        check_model(other, config, "reverse_model")
        check_directions(translator, other, config)
    pairs = read_pairs(config["src"], config["tgt"])
    hidden = config["output"] is None and sys.stdout.isatty()  # the links themselves show how far it is
    bar = tqdm(total=total, unit=" pairs", leave=False, disable=hidden or None, dynamic_ncols=True)
    with bar, output_file(config["output"]) as file:
        for found in aligned(translator, other, pairs, how, config["symmetrise"]):
            print(pharaoh(found), file=file, flush=True)
            bar.update()
    return 0


def extraction(config: Mapping[str, Any]) -> Extraction:
    """How links are drawn; options that do not go together are refused."""
    threshold = config["threshold"]
    if config["rule"] == "threshold" and threshold is None:
        raise ConfigError("rule=threshold needs the least weight of a link; add, for example, threshold=0.2")
    if config["rule"] == "argmax" and threshold is not None:
        raise ConfigError(f"threshold={threshold} has no effect with rule=argmax; add rule=threshold, or leave it out")
    if threshold is not None and not 0 < threshold <= 1:
        raise ConfigError(f"threshold={threshold} is no share of attention; give one above 0, at most 1")
    if config["reverse_model"] is not None and config["symmetrise"] is None:
        raise ConfigError(
            "reverse_model is given, but not how both directions are joined; add symmetrise=grow-diag-final-and, for "
            "example"
        )
    if config["reverse_model"] is None and config["symmetrise"] is not None:
        raise ConfigError(
            f"symmetrise={config['symmetrise']} joins two directions; name a model of the other one, reverse_model=RUN"
        )
    layer, head = (None if config[key] is None else config[key] - 1 for key in ("layer", "head"))
    return Extraction(config["units"], threshold, layer, head)


def check_model(translator: Translator, config: Mapping[str, Any], key: str) -> None:
    """Refuses a model that has no attention, or not the layer or head that is asked for."""
    shown = f"{key}={config[key]}"
    if not translator.has_attention:
        raise ConfigError(f"the model has no attention to align with, {shown}; name one with attention")
    weights = translator.force([""], [""])[0].attention
    assert weights is not None
    for name, size in zip(("layer", "head"), weights.shape, strict=False):
        if config[name] is not None and not 1 <= config[name] <= size:
            have = "only 1" if size == 1 else f"1 to {size}"
            raise ConfigError(f"{name}={config[name]} is not there, {shown}; it has {have}, null means them all")


def check_directions(translator: Translator, other: Translator, config: Mapping[str, Any]) -> None:
    """Refuses a second model that is known not to translate the other way."""
    src, tgt = (translator.config["data"][key] for key in ("src_lang", "tgt_lang"))
    back = [other.config["data"][key] for key in ("src_lang", "tgt_lang")]
    if None not in (src, tgt, *back) and back != [tgt, src]:
        raise ConfigError(
            f"the model translates {back[0]} to {back[1]}, reverse_model={config['reverse_model']}; "
            f"name one of {tgt} to {src}"
        )


def count_pairs(src: str, tgt: str) -> int | None:
    """The number of sentence pairs, where it can be known before they are read (pipes)."""
    for key, name in (("src", src), ("tgt", tgt)):
        if not Path(name).expanduser().exists():
            raise DataError(f"no file {name}, {key}={name}; check the path")
    if not all(Path(name).expanduser().is_file() for name in (src, tgt)):
        return None
    return sum(1 for _ in read_pairs(src, tgt))


def read_pairs(src: str, tgt: str) -> Iterator[Pair]:
    """Lines that belong together; files of different length are refused where the shorter one ends."""
    sides = (file_lines(Path(name).expanduser()) for name in (src, tgt))
    for number, (source, target) in enumerate(zip_longest(*sides), 1):
        if source is None or target is None:
            shorter, longer = (src, tgt) if source is None else (tgt, src)
            raise DataError(
                f"{shorter} has {number - 1:,} lines, {longer} has more; line N of one must translate line N of the "
                "other"
            )
        yield source, target


def aligned(
    translator: Translator, other: Translator | None, pairs: Iterable[Pair], how: Extraction, symmetrise: str | None
) -> Iterator[Links]:
    """The links of every pair in order; with a second model, those of both directions made one."""
    pending = iter(pairs)
    for first in count(1, CHUNK):
        if not (chunk := list(islice(pending, CHUNK))):
            return
        sources, targets = ([pair[side] for pair in chunk] for side in (0, 1))
        forward = [how.links(pair) for pair in translator.force(sources, targets, first)]
        if other is None or symmetrise is None:
            yield from forward
            continue
        backward = [transposed(how.links(pair)) for pair in other.force(targets, sources, first)]
        yield from map(SYMMETRISE[symmetrise], forward, backward)


def load_gold(path: Path, reverse: bool, sources: Sequence[str], references: Sequence[str], unit: Unit) -> list[Gold]:
    """The gold links of these sentence pairs, checked; `reverse`: the file counts the target first."""
    gold = read_gold(path, reverse)
    check_gold(gold, lengths(sources, references, unit), path)
    return gold


def gold_scores(
    translator: Translator, sources: Sequence[str], references: Sequence[str], gold: Sequence[Gold], unit: Unit
) -> AlignmentScores | None:
    """How well the model's mean attention, forced to the references, aligns (argmax); None without attention."""
    if not translator.has_attention:
        return None
    how = Extraction(unit, threshold=None, layer=None, head=None)
    pairs = zip(sources, references, strict=True)
    return alignment_scores(list(aligned(translator, None, pairs, how, None)), gold)


def diagonal_scores(
    sources: Sequence[str], references: Sequence[str], gold: Sequence[Gold], unit: Unit
) -> AlignmentScores:
    """The same of the baseline that knows lengths alone."""
    return alignment_scores([diagonal(S, T) for S, T in lengths(sources, references, unit)], gold)


def lengths(sources: Sequence[str], targets: Sequence[str], unit: Unit) -> list[tuple[int, int]]:
    """Units of each source and target."""
    return [(len(units(s, unit)), len(units(t, unit))) for s, t in zip(sources, targets, strict=True)]
