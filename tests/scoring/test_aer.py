"""Alignment error rate, gold files, the diagonal baseline, and two directions made one."""

import random
import re
from pathlib import Path

import pytest

from nmt.data.paths import read_lines
from nmt.errors import DataError
from nmt.scoring.aer import (
    SYMMETRISE,
    AlignmentScores,
    Gold,
    Links,
    alignment_scores,
    check_gold,
    diagonal,
    diagonal_scores,
    grow_diag_final_and,
    load_gold,
    read_gold,
    transposed,
)

SEEDS = range(50)


def some_links(rng: random.Random, S: int, T: int, share: float = 0.3) -> Links:
    return frozenset((i, j) for i in range(S) for j in range(T) if rng.random() < share)


def some_gold(rng: random.Random, S: int, T: int) -> Gold:
    sure = some_links(rng, S, T) | {(0, 0)}
    return Gold(sure, sure | some_links(rng, S, T))


def test_a_hand_worked_example() -> None:
    first = Gold(frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1), (1, 2), (2, 2)}))
    links = frozenset({(0, 0), (1, 2), (2, 1)})  # one sure, one possible, one wrong
    one = alignment_scores([links], [first])
    assert (one.aer, one.precision, one.recall) == pytest.approx((1 - (1 + 2) / (3 + 2), 2 / 3, 1 / 2))
    second = Gold(frozenset({(0, 0)}), frozenset({(0, 0)}))
    both = alignment_scores([links, frozenset({(0, 0)})], [first, second])
    assert (both.aer, both.precision, both.recall) == pytest.approx((1 - (2 + 3) / (4 + 3), 3 / 4, 2 / 3))
    assert alignment_scores([frozenset()], [second]) == AlignmentScores(aer=1.0, precision=0.0, recall=0.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_published_definition(seed: int) -> None:
    """Och & Ney 2003, counted link by link."""
    rng = random.Random(seed)
    sizes = [(rng.randint(1, 6), rng.randint(1, 6)) for _ in range(rng.randint(1, 5))]
    gold = [some_gold(rng, *size) for size in sizes]
    links = [some_links(rng, *size) | {(0, 0)} for size in sizes]
    in_sure = in_possible = proposed = sure = 0
    for pair, a in zip(gold, links, strict=True):
        for link in a:
            proposed += 1
            in_sure += link in pair.sure
            in_possible += link in pair.possible
        for _ in pair.sure:
            sure += 1
    scores = alignment_scores(links, gold)
    assert scores.precision == pytest.approx(in_possible / proposed)
    assert scores.recall == pytest.approx(in_sure / sure)
    assert scores.aer == pytest.approx(1 - (in_sure + in_possible) / (proposed + sure))
    assert 0 <= scores.aer <= 1
    between = [pair.sure | {link for link in pair.possible if rng.random() < 0.5} for pair in gold]
    assert alignment_scores(between, gold) == AlignmentScores(aer=0.0, precision=1.0, recall=1.0)
    turned = [Gold(transposed(pair.sure), transposed(pair.possible)) for pair in gold]
    assert alignment_scores([transposed(a) for a in links], turned) == scores


@pytest.mark.parametrize("seed", SEEDS)
def test_the_diagonal_links_every_target_unit_once_and_in_order(seed: int) -> None:
    rng = random.Random(seed)
    S, T = rng.randint(1, 30), rng.randint(1, 30)
    sources = [i for i, _ in sorted(diagonal(S, T), key=lambda link: link[1])]
    assert [j for _, j in sorted(diagonal(S, T), key=lambda link: link[1])] == list(range(T))
    assert sources == sorted(sources)
    assert set(sources) <= set(range(S))
    assert all(abs((i + 0.5) / S - (j + 0.5) / T) <= 0.5 / S + 1e-9 for i, j in diagonal(S, T))
    assert diagonal(S, S) == {(i, i) for i in range(S)}
    assert diagonal(0, T) == diagonal(S, 0) == frozenset()


def published_gdfa(forward: Links, backward: Links, S: int, T: int) -> set[tuple[int, int]]:
    """The pseudocode, cell by cell; the target is its English, so that forward is its e2f."""
    neighbours = [(0, -1), (-1, 0), (0, 1), (1, 0), (-1, -1), (1, -1), (-1, 1), (1, 1)]
    alignment, either = set(forward & backward), forward | backward

    def free(source: int | None, target: int | None) -> bool:
        return not any(link[0] == source or link[1] == target for link in alignment)

    while True:
        before = len(alignment)
        for e in range(T):
            for f in range(S):
                if (f, e) in alignment:
                    for df, de in neighbours:
                        new = (f + df, e + de)
                        if (free(new[0], None) or free(None, new[1])) and new in either:
                            alignment.add(new)
        if len(alignment) == before:
            break
    for direction in (forward, backward):
        for e in range(T):
            for f in range(S):
                if free(f, None) and free(None, e) and (f, e) in direction:
                    alignment.add((f, e))
    return alignment


@pytest.mark.parametrize("seed", SEEDS)
def test_laws_of_symmetrisation(seed: int) -> None:
    rng = random.Random(seed)
    S, T = rng.randint(1, 9), rng.randint(1, 9)
    share = rng.choice((0.1, 0.3, 0.6))
    forward, backward = some_links(rng, S, T, share), some_links(rng, S, T, share)
    grown = grow_diag_final_and(forward, backward)
    assert grown == published_gdfa(forward, backward, S, T)
    found = {name: join(forward, backward) for name, join in SYMMETRISE.items()}
    assert found["intersection"] == {link for link in forward if link in backward}
    assert found["union"] == {*forward, *backward}
    assert found["intersection"] <= found["grow-diag-final-and"] <= found["union"]
    for join in SYMMETRISE.values():
        assert join(forward, forward) == forward


def test_a_hand_worked_symmetrisation() -> None:
    forward = frozenset({(0, 0), (1, 1), (2, 1), (3, 3)})
    backward = frozenset({(0, 0), (1, 1), (1, 2), (2, 5), (4, 4)})
    # (2, 1) and (1, 2) touch (1, 1) and bring a free unit; (3, 3) and (4, 4) touch nothing when growing, but both of
    # their units are free at the end; (2, 5) touches nothing and its source has a link
    assert grow_diag_final_and(forward, backward) == {(0, 0), (1, 1), (2, 1), (1, 2), (3, 3), (4, 4)}


def test_gold_files(tmp_path: Path) -> None:
    file = tmp_path / "gold"
    file.write_text("0-0 1p2\n\n 2-1  10-11\t2p1 \n")
    gold = read_gold(file, reverse=False)
    assert [pair.sure for pair in gold] == [{(0, 0)}, set(), {(2, 1), (10, 11)}]
    assert [pair.possible for pair in gold] == [{(0, 0), (1, 2)}, set(), {(2, 1), (10, 11)}]
    turned = read_gold(file, reverse=True)
    assert [transposed(pair.sure) for pair in turned] == [pair.sure for pair in gold]
    assert [transposed(pair.possible) for pair in turned] == [pair.possible for pair in gold]
    check_gold(gold, [(2, 3), (0, 0), (11, 12)], file)


@pytest.mark.parametrize("field", ["1?2", "1", "1-", "-1-2", "1-2-3", "a-b", "1:2", "1,2", "²-1", "1 - 2"])
def test_what_is_no_link_is_refused_with_its_place(tmp_path: Path, field: str) -> None:
    file = tmp_path / "gold"
    file.write_text(f"0-0\n1-1 {field}\n")
    message = f"'{field.split()[0]}' is not a link, {file}, line 2; write i-j for a sure link and ipj"
    with pytest.raises(DataError, match=re.escape(message)):
        read_gold(file, reverse=False)


def test_gold_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "gold"
    with pytest.raises(DataError, match=re.escape(f"no file {file}, gold alignments; check the path")):
        read_gold(file, reverse=False)
    file.write_text("0-0\n1p4\n")
    sources, references = ["a b", "a b"], ["a b c d e", "a b c d e"]
    assert len(load_gold(file, False, sources, references, "words")) == 2
    with pytest.raises(DataError, match=r"gold has 2 lines of gold alignments for 1 sentence pair; it needs one line"):
        load_gold(file, False, sources[:1], references[:1], "words")
    outside = r"line 2: the link of source unit 4 and target unit 1, .* which have 2 and 5; check the order"
    with pytest.raises(DataError, match=outside):
        load_gold(file, True, sources, references, "words")
    file.write_text("0p0\n\n")
    with pytest.raises(DataError, match=r"gold has no sure link, i-j; the alignment error rate needs at least one"):
        load_gold(file, False, sources, references, "words")


def test_cells_are_percents() -> None:
    cells = AlignmentScores(0.1234, 0.5, 1.0).cells()
    assert cells == {"AER": "12.34", "precision": "50.00", "recall": "100.00"}


@pytest.mark.parametrize(
    ("name", "src", "tgt", "sure", "possible", "aer"),
    [("en-fr", "en", "fr", 4038, 17438, 0.54), ("de-en-bicici", "en", "de", 1232, 1232, 0.67)],
)
def test_real_gold_alignments(
    data_dir: Path, name: str, src: str, tgt: str, sure: int, possible: int, aer: float
) -> None:
    """The figures that their source states, and what knowing lengths alone is worth."""
    file = data_dir / "align_gold" / f"{name}.gold"
    if not file.exists():
        pytest.skip(f"no gold alignments: {file} does not exist")
    sources, references = (list(read_lines(file.with_suffix(f".{lang}"))) for lang in (src, tgt))
    gold = load_gold(file, not name.startswith(src), sources, references, "words")
    assert (sum(len(g.sure) for g in gold), sum(len(g.possible) for g in gold)) == (sure, possible)
    assert diagonal_scores(sources, references, gold, "words").aer == pytest.approx(aer, abs=0.005)


def test_gold_that_counts_from_1_is_refused(tmp_path: Path) -> None:
    links = [frozenset({(1, 1), (2, 3)})] * 10
    sizes = [(5, 5)] * 10
    with pytest.raises(DataError, match=r"gold links no first unit in any of 10 lines, as if it counted from 1; sub"):
        check_gold([Gold(own, own) for own in links], sizes, tmp_path / "gold")
    for first in ((0, 2), (2, 0)):
        links[7] = frozenset({first})
        check_gold([Gold(own, own) for own in links], sizes, tmp_path / "gold")
    check_gold([Gold(own, own) for own in links[:7]], sizes[:7], tmp_path / "gold")  # few sentences prove nothing
