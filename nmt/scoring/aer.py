"""Word alignments and gold: files, alignment error rate, a baseline, and how two directions are joined.

A link (i, j) joins source unit i and target unit j, both counted from 0.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt.config.sections import Unit
from nmt.data.paths import read_lines
from nmt.errors import DataError, counted
from nmt.scoring.alignment import units

Links = frozenset[tuple[int, int]]

FEW_PAIRS = 10  # of so many linked sentence pairs, some link a first unit
_FIELD = re.compile(r"([0-9]+)([-p])([0-9]+)")
_NEIGHBOURS = ((0, -1), (-1, 0), (0, 1), (1, 0), (-1, -1), (1, -1), (-1, 1), (1, 1))  # beside, above and below first


@dataclass(frozen=True)
class Gold:
    """The gold links of one sentence pair: links that a correct alignment must have, and links that it may have."""

    sure: Links
    possible: Links  # includes the sure links


@dataclass(frozen=True)
class AlignmentScores:
    """Shares from 0 to 1 over a corpus."""

    aer: float  # alignment error rate, lower is better
    precision: float  # share of the proposed links that are possible
    recall: float  # share of the sure links that were found

    def cells(self) -> dict[str, str]:
        """Column name to percent."""
        shares = {"AER": self.aer, "precision": self.precision, "recall": self.recall}
        return {name: f"{100 * share:.2f}" for name, share in shares.items()}


def read_gold(path: Path, reverse: bool) -> list[Gold]:
    """The gold links of every line: `i-j` is sure, `ipj` possible; with `reverse`, i is the target unit."""
    if not path.exists():
        raise DataError(f"no file {path}, gold alignments; check the path")
    return [_parse(line, f"{path}, line {number}", reverse) for number, line in enumerate(read_lines(path), 1)]


def check_gold(gold: Sequence[Gold], lengths: Sequence[tuple[int, int]], path: Path) -> None:
    """Refuses gold links that do not fit sentence pairs with `lengths` (source, target) units."""
    if len(gold) != len(lengths):
        raise DataError(
            f"{path} has {counted(len(gold), 'line')} of gold alignments for {counted(len(lengths), 'sentence pair')}; "
            "it needs one line for each, empty where nothing is aligned"
        )
    for number, (links, (S, T)) in enumerate(zip(gold, lengths, strict=True), 1):
        for i, j in sorted(links.possible):
            if i >= S or j >= T:
                raise DataError(
                    f"{path}, line {number}: the link of source unit {i} and target unit {j}, counted from 0, lies "
                    f"outside of the sentences, which have {S} and {T}; check the order of the languages, what "
                    "counts as a unit, and whether the file counts from 0"
                )
    linked = [links.possible for links in gold if links.possible]
    if len(linked) >= FEW_PAIRS and all(i > 0 and j > 0 for links in linked for i, j in links):
        raise DataError(
            f"{path} links no first unit in any of {len(linked):,} lines, as if it counted from 1; "
            "subtract 1 from every number"
        )
    if not any(links.sure for links in gold):
        raise DataError(f"{path} has no sure link, i-j; the alignment error rate needs at least one")


def alignment_scores(links: Sequence[Links], gold: Sequence[Gold]) -> AlignmentScores:
    """Alignment error rate, precision and recall (Och & Ney 2003) over a corpus; the gold must have sure links.

    AER = 1 - (|A∩S| + |A∩P|) / (|A| + |S|), precision = |A∩P| / |A| (0 where nothing is linked),
    recall = |A∩S| / |S|; every count is a sum over sentence pairs.
    """
    proposed = sum(map(len, links))
    sure = sum(len(g.sure) for g in gold)
    assert sure
    found = sum(len(a & g.sure) for a, g in zip(links, gold, strict=True))
    allowed = sum(len(a & g.possible) for a, g in zip(links, gold, strict=True))
    return AlignmentScores(1 - (found + allowed) / (proposed + sure), allowed / max(proposed, 1), found / sure)


def diagonal(S: int, T: int) -> Links:
    """A baseline that knows only lengths: links each of T target units to the source unit at the same place among S."""
    return frozenset(((2 * j + 1) * S // (2 * T), j) for j in range(T) if S)


def intersection(forward: Links, backward: Links) -> Links:
    """Links that both directions have."""
    return forward & backward


def union(forward: Links, backward: Links) -> Links:
    """Links that either direction has."""
    return forward | backward


def grow_diag_final_and(forward: Links, backward: Links) -> Links:
    """GROW-DIAG-FINAL-AND of Koehn et al. (2005), between intersection and union.

    It starts from the intersection. GROW-DIAG scans the links, including links just added, target by target and source
    by source, until nothing changes. Each link adds those of its 8 neighbours that are in the union and join a source
    or target unit without a link so far. FINAL-AND then adds links of `forward`, and after them links of `backward`,
    in the same order, if neither of their units has a link so far.
    """
    either = forward | backward
    chosen = set(forward & backward)
    sources, targets = {i for i, _ in chosen}, {j for _, j in chosen}

    def add(i: int, j: int) -> None:
        chosen.add((i, j))
        sources.add(i)
        targets.add(j)

    before = -1
    while before < len(chosen):
        before = len(chosen)
        for i, j in sorted(either, key=_by_target):
            for right, down in _NEIGHBOURS if (i, j) in chosen else ():
                near = (i + right, j + down)
                if near in either and (near[0] not in sources or near[1] not in targets):
                    add(*near)
    for direction in (forward, backward):
        for i, j in sorted(direction, key=_by_target):
            if i not in sources and j not in targets:
                add(i, j)
    return frozenset(chosen)


SYMMETRISE: dict[str, Callable[[Links, Links], Links]] = {
    "intersection": intersection,
    "union": union,
    "grow-diag-final-and": grow_diag_final_and,
}


def transposed(links: Links) -> Links:
    """The links with source and target swapped."""
    return frozenset((j, i) for i, j in links)


def _by_target(link: tuple[int, int]) -> tuple[int, int]:
    return link[1], link[0]


def _parse(line: str, where: str, reverse: bool) -> Gold:
    fields = list(_fields(line, where))
    sure = frozenset(link for link, kind in fields if kind == "-")
    possible = frozenset(link for link, _ in fields)
    return Gold(transposed(sure), transposed(possible)) if reverse else Gold(sure, possible)


def _fields(line: str, where: str) -> Iterator[tuple[tuple[int, int], str]]:
    for field in line.split():
        match = _FIELD.fullmatch(field)
        if match is None:
            raise DataError(
                f"'{field}' is not a link, {where}; write i-j for a sure link and ipj for a possible one, counted "
                "from 0"
            )
        yield (int(match[1]), int(match[3])), match[2]


def load_gold(path: Path, reverse: bool, sources: Sequence[str], references: Sequence[str], unit: Unit) -> list[Gold]:
    """The gold links of these sentence pairs, checked; with `reverse`, the file puts the target unit first."""
    gold = read_gold(path, reverse)
    check_gold(gold, lengths(sources, references, unit), path)
    return gold


def diagonal_scores(
    sources: Sequence[str], references: Sequence[str], gold: Sequence[Gold], unit: Unit
) -> AlignmentScores:
    """The alignment scores of the `diagonal` baseline."""
    return alignment_scores([diagonal(S, T) for S, T in lengths(sources, references, unit)], gold)


def lengths(sources: Sequence[str], targets: Sequence[str], unit: Unit) -> list[tuple[int, int]]:
    """The number of units in each source and in its target."""
    return [(len(units(s, unit)), len(units(t, unit))) for s, t in zip(sources, targets, strict=True)]
