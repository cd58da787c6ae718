"""A model that has learned next to nothing says so, with the likely cause; a file that nmt did not write is refused."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from nmt.errors import CheckpointError
from nmt.runs.learned import LEARNED_FILE, Learned, caution_of, read_learned, write_learned

GOOD = Learned(
    bleu=30.0,
    nll=2.0,
    nll_of_others=7.0,
    nll_of_frequencies=6.0,
    last_nll=2.1,
    updates=3000,
    warmup=400,
    pairs=29_000,
    length_correlation=0.9,
    unknown=0.0,
)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"bleu": None},
        {"bleu": 5.0},
        {"bleu": 1.0, "finished": False},
        {"nll": None, "last_nll": None, "bleu": None},
        {"bleu": 85.0, "nll_of_others": 2.08},
        {"bleu": 23.0, "least_bleu": 13.0},
        {"bleu": 70.0, "least_bleu": 13.0, "nll_of_others": 2.08},
        {"length_correlation": None},
        {"pairs": 300},
        {"length_correlation": 0.0},
    ],
)
def test_a_model_that_translates_has_no_caution(changes: dict[str, Any]) -> None:
    assert replace(GOOD, **changes).caution() is None


@pytest.mark.parametrize(("others", "is_good"), [(1.1524461, False), (1.16, False), (1.17, True)])
def test_targets_that_are_alike_hide_no_model_that_ignores_its_sources(others: float, is_good: bool) -> None:
    said = replace(GOOD, bleu=49.0, nll=1.1524460, nll_of_others=others).caution()
    assert (said is None) == is_good
    assert is_good or "a sentence's own source tells it no more of the translation than another sentence's" in str(said)


@pytest.mark.parametrize(
    ("changes", "sign"),
    [
        ({"bleu": 0.02}, "its greedy translations of the dev split have 0.02 BLEU. "),
        ({"bleu": 9.7, "least_bleu": 13.1}, "have 9.70 BLEU; references of other sentences have 13.10. "),
        ({"bleu": 20.0, "least_bleu": 13.1, "nll_of_others": 2.05}, "no more of the translation than another"),
        ({"bleu": None, "nll_of_others": 2.05}, "no more of the translation than another sentence's (2.00 and 2.05"),
        ({"bleu": None, "nll": 6.5}, "knows dev translations no better (6.50 nats per token) than"),
        ({"bleu": 4.9, "nll_of_others": 2.05}, "no more of the translation than another sentence's"),
        ({"bleu": 0.02, "nll_of_others": None, "nll_of_frequencies": None}, "have 0.02 BLEU"),
    ],
)
def test_what_shows_it(changes: dict[str, Any], sign: str) -> None:
    said = replace(GOOD, **changes).caution()
    assert said is not None
    assert said.startswith("the model has learned next to nothing: ")
    assert sign in said


@pytest.mark.parametrize(("bleu", "least_bleu"), [(1.0, 1.0), (4.99, 1.0), (22.9, 13.0), (7.4, 1.5)])
def test_a_finished_model_that_hardly_translates_is_weak(bleu: float, least_bleu: float) -> None:
    said = replace(GOOD, bleu=bleu, least_bleu=least_bleu, pairs=360).caution()
    weak = (
        f"the model is weak: its greedy translations of the dev split have {bleu:.2f} BLEU. There are most likely too "
    )
    assert said is not None
    assert said.startswith(weak)


def test_without_dev_sentences_few_pairs_are_the_sign() -> None:
    said = replace(GOOD, nll=None, last_nll=None, bleu=None, nll_of_others=None, pairs=5).caution()
    assert said is not None
    assert said.startswith("the run has no dev split, so nothing shows whether the model has learned to translate. ")
    assert "too few pairs, 5;" in said


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        (
            {"updates": 2},
            "It was trained for 2 updates, the warm-up took 2; train longer, or set schedule.warmup lower",
        ),
        ({"updates": 900, "warmup": 0}, "It was trained for 900 updates only; train longer"),
        ({"updates": 0}, "No update changed its weights"),
        ({"updates": 900, "warmup": 0, "epochs": 5}, None),
    ],
)
def test_without_dev_sentences_a_short_training_is_the_sign(changes: dict[str, Any], cause: str | None) -> None:
    said = replace(GOOD, nll=None, last_nll=None, bleu=None, nll_of_others=None, **changes).caution()
    unknown = "the run has no dev split, so nothing shows whether the model has learned to translate. "
    assert said == (cause and unknown + cause)


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"spelled": 0.8}, "80% of the pieces of the dev translations are single bytes"),
        ({"unknown": 0.4}, "Its vocabulary cannot write 40% of the dev translations"),
        ({"length_correlation": 0.02}, "The files are most likely not parallel"),
        ({"nll": 6.5}, "Training has most likely diverged; lower optimizer.lr"),
        ({"last_nll": 4.0}, "Training has most likely diverged; lower optimizer.lr"),
        ({"updates": 500}, "It was trained for 500 updates, the warm-up took 400"),
        ({"updates": 4, "nll": 6.5, "last_nll": 6.5}, "It was trained for 4 updates, the warm-up took 4"),
        ({"updates": 90, "warmup": 0, "nll": 6.5}, "It was trained for 90 updates only; train longer"),
        ({"pairs": 396}, "There are most likely too few pairs, 396"),
        ({"pairs": 300, "updates": 777, "warmup": 100, "epochs": 40}, "There are most likely too few pairs, 300"),
        ({"pairs": 400, "epochs": 60, "last_nll": 5.5}, "There are most likely too few pairs, 400"),  # learned by heart
        ({"pairs": 400, "epochs": 60, "nll": 6.5}, "Training has most likely diverged"),
        ({"pairs": 12_000, "nll_of_others": 2.05}, "Or the files are not parallel: compare some lines"),
        ({"nll_of_others": 2.05}, "Either the files are not parallel, so compare some lines, or optimizer.lr"),
        ({}, "Train longer"),
    ],
)
def test_the_likely_cause_and_what_helps(changes: dict[str, Any], cause: str) -> None:
    said = replace(GOOD, **({"bleu": 0.0} | changes)).caution()
    assert said is not None
    assert cause in said


def test_while_it_is_trained_it_is_said_of_so_far() -> None:
    said = replace(GOOD, bleu=0.0, nll_of_others=None, nll_of_frequencies=None, finished=False).caution()
    assert said is not None
    assert said.startswith("so far, the model has learned next to nothing: ")


def test_files_of_earlier_versions_are_read(tmp_path: Path) -> None:
    earlier = {key: value for key, value in asdict(GOOD).items() if key not in ("epochs", "finished", "spelled")}
    (tmp_path / LEARNED_FILE).write_text(json.dumps(earlier))
    assert read_learned(tmp_path) == GOOD


def test_it_is_kept_with_the_run(tmp_path: Path) -> None:
    assert read_learned(tmp_path) is None
    assert caution_of(tmp_path) is None
    write_learned(tmp_path, GOOD)
    assert read_learned(tmp_path) == GOOD
    assert caution_of(tmp_path) is None
    write_learned(tmp_path, replace(GOOD, bleu=0.0))
    assert "next to nothing" in (caution_of(tmp_path) or "")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "{}", json.dumps(asdict(GOOD) | {"nll": "2"}), '{"nll": ' * 10_000, "[" * 9_000],
)
def test_a_file_that_nmt_did_not_write_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / LEARNED_FILE).write_text(text)
    with pytest.raises(CheckpointError, match=r"learned\.json (is not what nmt writes|has 80,000 bytes)"):
        caution_of(tmp_path)
