"""Errors of a run that cannot go on, and the message of one that goes on but can no longer be repeated exactly."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from torch import nn

from nmt.errors import NmtError
from nmt.runs.checkpoints import checkpoint_folder, last_resumable
from nmt.training.batches import TrainingData
from nmt.training.optim import Optimiser
from nmt.training.step import NoRoom

HOPELESS_UPDATES = 20  # skipped in a row, they end the run: the weights are spoiled, or the rate is far too high


def diverged(what: str, run: Path, sentences: Sequence[int], skipping_helps: bool) -> NmtError:
    """The error of a run with infinite or NaN numbers, at the update that read these training sentences."""
    last = last_resumable(run)
    folder = None if last is None else checkpoint_folder(run, last)
    good = "none is saved" if folder is None else f"the last good checkpoint is {folder}"
    remedies = [*(["look at them"] if sentences else []), "lower optimizer.lr", "set train.precision=fp32"]
    if skipping_helps and folder is None:
        remedies.append("set train.on_nonfinite=skip")
    elif skipping_helps:
        words = f"nmt train resume={run} train.on_nonfinite=skip resume_with=train.on_nonfinite"
        remedies.append(f"go on without such updates: {words}")
    batch = f"its batch holds training sentences {', '.join(map(str, sentences))} (counted from 0); "
    return NmtError(f"{what}; {good}; {batch if sentences else ''}{', '.join(remedies[:-1])}, or {remedies[-1]}")


@contextmanager
def quiet_writers() -> Iterator[None]:
    """Hides the traceback of a failed write in tensorboard's thread: its next call raises the error again."""
    shown = threading.excepthook

    def hook(failure: threading.ExceptHookArgs) -> None:
        if not issubclass(failure.exc_type, OSError):
            shown(failure)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = shown


def is_sound(model: nn.Module, optimiser: Optimiser) -> bool:
    """Are all weights and the optimiser's state finite?"""
    states = (tensor for state in optimiser.state.values() for tensor in state.values())
    return all(bool(tensor.isfinite().all()) for tensor in (*model.parameters(), *states))


def hopeless(skipped: Sequence[int]) -> bool:
    """Do the updates skipped so far end with too many in a row?"""
    return len(skipped) >= HOPELESS_UPDATES and skipped[-1] - skipped[-HOPELESS_UPDATES] == HOPELESS_UPDATES - 1


def halved(update: int, times: int) -> str:
    """The message about an update whose batch was halved because it did not fit in memory."""
    said = f"update {update}: memory did not hold a batch, halved {'once' if times == 1 else f'{times} times'}"
    return f"{said}; from here on the run is not the same, bit for bit, as one with more memory"


def no_room(error: NoRoom, update: int, data: TrainingData) -> NmtError:
    """The error for a single sentence pair that does not fit in memory."""
    [sentence] = data.sentences([error.rows])
    lengths = f"{error.batch.src.shape[1]} source and {error.batch.tgt_out.shape[1]} target tokens"
    return NmtError(
        f"there is not enough memory for training sentence {sentence} (counted from 0; {lengths} with padding) at "
        f"update {update}; free some, drop such sentences with data.filters.max_tokens, or make the model smaller"
    )
