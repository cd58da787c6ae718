"""What is best, and when a run stops early: BLEU where it is a signal, dev loss elsewhere."""

from dataclasses import replace

import pytest

from nmt.config.compose import command_of
from nmt.config.sections import TrainConfig
from nmt.training.progress import Progress, Validation


def progress(*scores: tuple[float | None, float], every: int = 10) -> Progress:
    """Validations of these BLEU scores and dev losses."""
    validations = [Validation(every * number, 0, loss, loss, bleu) for number, (bleu, loss) in enumerate(scores, 1)]
    return Progress(update=every * len(scores), validations=validations)


def settings(patience: int) -> TrainConfig:
    train: TrainConfig = command_of("train", []).run.train
    return replace(train, patience=patience, max_updates=None, max_epochs=None)


def best(found: Progress, metric: str = "bleu") -> int:
    return found.ranked(metric)[0].update  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scores", "update"),
    [
        ([(5.0, 3.0), (7.0, 3.5), (6.0, 2.5)], 20),  # BLEU decides
        ([(0.01, 7.0), (0.0, 5.0), (0.0, 6.0)], 20),  # it says nothing here
        ([(0.9, 7.0), (1.0, 8.0), (0.99, 6.0)], 20),  # from 1 on it does
        ([(5.0, 3.0), (5.0, 2.0), (5.0, 2.5)], 20),  # in ties, loss
        ([(None, 3.0), (None, 2.0)], 20),
        ([(5.0, 2.0), (5.0, 2.0)], 10),  # the earlier of equals
    ],
)
def test_bleu_decides_where_it_is_a_signal(scores: list[tuple[float | None, float]], update: int) -> None:
    assert best(progress(*scores)) == update


def test_bleu_that_chance_brings_is_no_signal() -> None:
    scores = [(9.0, 3.0), (7.0, 2.5), (8.0, 2.8)]
    others = [Validation(n, 0, loss, loss, bleu, least_bleu=9.5) for n, (bleu, loss) in enumerate(scores, 1)]
    assert best(Progress(update=3, validations=others)) == 2
    assert best(Progress(update=3, validations=[replace(each, least_bleu=8.5) for each in others])) == 1


def test_loss_decides_where_it_is_asked_for() -> None:
    assert best(progress((9.0, 3.0), (1.0, 2.0)), "loss") == 20


def test_a_run_goes_on_while_its_dev_loss_falls() -> None:
    falling = progress(*[(10.0 - number, 5.0 - number / 10) for number in range(9)])
    assert not falling.is_at_end(settings(patience=3), warmup=0)
    flat = progress(*[(10.0 - number, 5.0) for number in range(9)])
    assert flat.is_at_end(settings(patience=8), warmup=0)
    assert not flat.is_at_end(settings(patience=9), warmup=0)


def test_a_run_goes_on_while_its_bleu_rises() -> None:
    rising = progress(*[(10.0 + number, 5.0 + number / 10) for number in range(9)])
    assert not rising.is_at_end(settings(patience=1), warmup=0)


def test_no_run_ends_inside_its_warm_up_and_validations_there_do_not_count() -> None:
    flat = progress(*[(0.0, 5.0)] * 9)  # the first is the best: eight are without gain, up to update 90
    assert flat.is_at_end(settings(patience=4), warmup=50)
    assert not flat.is_at_end(settings(patience=5), warmup=50)
    assert not flat.is_at_end(settings(patience=1), warmup=90)


def test_at_the_start_there_is_nothing_to_wait_for() -> None:
    assert not Progress().is_at_end(settings(patience=1), warmup=0)
