"""What a run says that cannot go on, or that goes on without being the same any more."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import nn

from nmt.errors import NmtError
from nmt.runs.checkpoints import checkpoint_folder, last_resumable
from nmt.training.batches import TrainingData
from nmt.training.step import NoRoom

HOPELESS_UPDATES = 20  # in a row that may be skipped; more: the weights are spoiled, or the rate is far too high


def diverged(what: str, run: Path, sentences: Sequence[int], skipping_helps: bool) -> NmtError:
    """Numbers that are none, at the update whose training sentences these are."""
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
    """tensorboard writes in a thread; what fails there is raised again at its next call, so no traceback is shown."""
    shown = threading.excepthook

    def hook(failure: threading.ExceptHookArgs) -> None:
        if not issubclass(failure.exc_type, OSError):
            shown(failure)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = shown


def is_sound(model: nn.Module, optimiser: torch.optim.Optimizer) -> bool:
    """Are all weights and the optimiser's state finite?"""
    states = (tensor for state in optimiser.state.values() for tensor in state.values())
    return all(bool(tensor.isfinite().all()) for tensor in (*model.parameters(), *states))


def hopeless(skipped: Sequence[int]) -> bool:
    """Do the updates skipped so far end with too many in a row?"""
    return len(skipped) >= HOPELESS_UPDATES and skipped[-1] - skipped[-HOPELESS_UPDATES] == HOPELESS_UPDATES - 1


def halved(update: int, times: int) -> str:
    """A batch that had to be made smaller."""
    said = f"update {update}: memory did not hold a batch, halved {'once' if times == 1 else f'{times} times'}"
    return f"{said}; from here on the run is not the same, bit for bit, as one with more memory"


def no_room(error: NoRoom, update: int, data: TrainingData) -> NmtError:
    """A single pair that memory does not hold."""
    [sentence] = data.sentences([error.rows])
    lengths = f"{error.batch.src.shape[1]} source and {error.batch.tgt_out.shape[1]} target tokens"
    return NmtError(
        f"memory does not hold training sentence {sentence} (counted from 0; {lengths} with padding) at update "
        f"{update}; free some, drop such sentences with data.filters.max_tokens, or make the model smaller"
    )
