"""What a training run shows and records: progress on the console, metrics.jsonl, and tensorboard."""

from __future__ import annotations

import html
import json
import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from io import TextIOBase
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

from torch import Tensor
from tqdm import tqdm

from nmt.training.history import keep_known_events, keep_known_lines, known_points
from nmt.training.interval import LogInterval, _if_fine, _interval
from nmt.training.progress import Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch.utils.tensorboard import SummaryWriter

METRICS_FILE = "metrics.jsonl"
TENSORBOARD_FOLDER = "tensorboard"
MANY_DIGITS = 1e6  # perplexity from which the console shows a power of ten


class Reporter:
    """Call `update` after every optimiser step, and the other methods whenever there is something to report.

    Nothing is written before the first call. When a run is resumed, points that `resumed` does not know are removed
    from metrics.jsonl and tensorboard, so that every update is there once.
    """

    def __init__(
        self,
        run_dir: Path,
        total_updates: int | None,
        resumed: Progress,
        log_every: int,
        stream: TextIO | TextIOBase | None = None,
        validate_every: int | None = None,
    ) -> None:
        """`validate_every`: updates between validations, to estimate the time left; None: there are no validations."""
        self.run_dir = run_dir
        self.total_updates = total_updates
        self.log_every = log_every
        self.stream = sys.stderr if stream is None else stream
        self._resume_update = resumed.update
        self._known = known_points(resumed)
        self._interval = _interval(resumed.sums)
        self.validate_every = validate_every
        self.validation_s = 0.0  # seconds that a validation takes, as far as known
        self._seconds_per_update: float | None = None
        self._validated = False  # has there been a validation since the last update?
        self._last_update: float | None = None  # time when the last update ended
        self._last_call: float | None = None  # time when the last update ended; None once anything else came after it
        self._last_point = (resumed.update, resumed.epoch)
        self._writer: SummaryWriter | None = None
        self._metrics: TextIO | None = None
        self._bar: tqdm[NoReturn] | None = None

    def update(
        self,
        update: int,
        epoch: int,
        loss_per_token: float | Tensor,
        nll_per_token: float | Tensor,
        tokens: int | Tensor,
        learning_rate: float,
        grad_norm: float | Tensor,
        waited_s: float,
        fine: bool | Tensor = True,
    ) -> None:
        """Reports one optimiser step.

        The loss as trained on and the plain negative log-likelihood (for perplexity) are means over `tokens` real
        target tokens, in nats. `epoch`: epochs done so far. `waited_s`: seconds of waiting for data. A step that was
        not `fine` changed nothing; it is counted, but the means leave it out.

        Tensors are read only every `log_every` updates, so that the run does not wait for a GPU. The clock runs from
        one update to the next: an update that follows anything else (validation, the start) is not timed.
        """
        self._open()
        interval = self._interval
        interval.updates += 1
        interval.fine = interval.fine + fine
        interval.tokens = interval.tokens + tokens * fine
        interval.loss = interval.loss + _if_fine(loss_per_token, fine) * tokens
        interval.nll = interval.nll + _if_fine(nll_per_token, fine) * tokens
        interval.grad_norm = interval.grad_norm + _if_fine(grad_norm, fine)
        timed = self._last_call is not None
        interval.timed_updates += timed
        interval.timed_tokens = interval.timed_tokens + (tokens if timed else 0)
        interval.waited_s += waited_s if timed else 0.0
        interval.learning_rate = learning_rate
        self._last_point = (update, epoch)
        due = update % self.log_every == 0
        if due:
            interval.settle()
        now = time.perf_counter()
        interval.seconds += now - self._last_call if self._last_call is not None else 0.0
        self._last_call = now
        self._time_validation(now)
        if self._bar is not None:
            self._bar.update(update - self._bar.n)
        if due:
            self._log()

    def validation(self, update: int, epoch: int, values: Mapping[str, float], best: bool) -> None:
        """Reports dev scores (loss, perplexity, bleu, …) after `update`; `best`: are they the best so far?"""
        writer = self._open()
        self._validated = True
        self._record({"kind": "dev", "update": update, "epoch": epoch, **values, "best": best})
        for name, value in values.items():
            writer.add_scalar(f"dev/{name}", value, update)
        writer.flush()
        shown = "  ".join(_shown(name, value) for name, value in values.items())
        self.note(f"dev, update {update:,}:  {shown}" + ("  (best so far)" if best else ""))

    def event(self, update: int, what: str, text: str) -> None:
        """Reports something out of the ordinary on the console and in metrics.jsonl."""
        self._open()
        self._record({"kind": "event", "update": update, "event": what, "text": text})
        self.note(f"note: {text}")

    def examples(self, update: int, rows: Sequence[tuple[str, str, str]]) -> None:
        """Writes translations (source, reference, hypothesis): all to tensorboard, the first also to the console."""
        writer = self._open()
        lines = ["| source | reference | translation |", "|---|---|---|"]
        lines += ["| " + " | ".join(_markdown(text) for text in row) + " |" for row in rows]
        writer.add_text("examples", "\n".join(lines), update)
        for title, text in zip(("source", "reference", "translation"), rows[0] if rows else (), strict=False):
            self.note(f"    {title:<12} {''.join(c if c.isprintable() else ' ' for c in text)}")

    def attention(self, update: int, i: int, figure: Figure) -> None:
        """Writes the attention matrix of example i to tensorboard, as a picture."""
        from nmt.figures.figure import pixels

        self._open().add_image(f"attention/{i}", pixels(figure), update, dataformats="HWC")
        self._last_call = None

    def note(self, text: str) -> None:
        """Prints a line on the console, above the progress bar."""
        self._open()
        self._last_call = None
        if self._bar is None:
            print(text, file=self.stream, flush=True)
        else:
            self._bar.write(text, file=self.stream)

    def sums(self) -> dict[str, float]:
        """Sums over the updates since the last log point, for the checkpoint, so that a resumed run logs the same."""
        return self._interval.sums()

    def flush(self) -> None:
        """Writes all points to tensorboard's files. metrics.jsonl has every point at once."""
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        """Logs the rest of the last interval and closes the files, if anything was reported at all."""
        if self._writer is not None and self._interval.updates:
            self._interval.settle()
            self._log()
        if self._bar is not None:
            self._bar.close()
        if self._metrics is not None:
            self._metrics.close()
        if self._writer is not None:
            self._writer.close()

    def _open(self) -> SummaryWriter:
        """tensorboard's writer. The first call opens all files and the progress bar."""
        if self._writer is None:
            from torch.utils.tensorboard import SummaryWriter

            self.run_dir.mkdir(parents=True, exist_ok=True)
            metrics = self.run_dir / METRICS_FILE
            damaged = keep_known_lines(metrics, self._known)
            damaged += keep_known_events(self.run_dir / TENSORBOARD_FOLDER, self._known)
            self._metrics = metrics.open("a", encoding="utf-8")
            later = self._resume_update + 1  # a tensorboard that is running removes these points too
            self._writer = SummaryWriter(str(self.run_dir / TENSORBOARD_FOLDER), purge_step=later)
            if _can_redraw(self.stream):
                self._bar = _progress_bar(self.stream, self.total_updates, self._resume_update)
            for text in damaged:
                self.event(self._resume_update, "damaged", text)
        return self._writer

    def _record(self, entry: Mapping[str, float | str | None]) -> None:
        """Writes one line to metrics.jsonl; infinity and NaN, which JSON does not know, become null."""
        assert self._metrics is not None
        finite = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in entry.items()}
        self._metrics.write(json.dumps(finite) + "\n")
        self._metrics.flush()

    def _log(self) -> None:
        """Logs a point for the interval, which must be settled, and starts the next interval."""
        update, epoch = self._last_point
        interval, self._interval = self._interval, LogInterval()
        values = interval.means() | {"learning_rate": interval.learning_rate}
        self._record({"kind": "train", "update": update, "epoch": epoch, "tokens": int(interval.tokens), **values})
        for name, value in values.items():
            self._open().add_scalar(f"train/{name}", value, update)
        if interval.timed_updates:
            self._seconds_per_update = interval.seconds / interval.timed_updates
        shown = [_shown(name, values[name]) for name in ("loss", "perplexity", "tokens_per_s") if name in values]
        left = self._left(update)
        if self._bar is not None:
            if left is not None:
                self._bar.bar_format = _bar_format(self.total_updates, left)
            self._bar.set_postfix_str(" ".join(shown))
        else:
            shown.append(_shown("learning_rate", interval.learning_rate))
            self._print_line(update, epoch, shown if left is None else [*shown, f"{left} left"])

    def _time_validation(self, now: float) -> None:
        """Called after an update; measures the validation before it, if there was one."""
        if self._validated and self._last_update is not None and self._seconds_per_update is not None:
            self.validation_s = max(0.0, now - self._last_update - self._seconds_per_update)
        self._validated, self._last_update = False, now

    def _left(self, update: int) -> str | None:
        """Estimated time until the end, from the last interval and the last validation; None: unknown."""
        if self.total_updates is None or self._seconds_per_update is None:
            return None
        updates = max(self.total_updates - update, 0)
        validations = 0 if self.validate_every is None else -(-updates // self.validate_every)
        return tqdm.format_interval(updates * self._seconds_per_update + validations * self.validation_s)

    def _print_line(self, update: int, epoch: int, shown: list[str]) -> None:
        of = "" if self.total_updates is None else f"/{self.total_updates:,}"
        print(f"update {update:,}{of}  epochs {epoch}", *shown, sep="  ", file=self.stream, flush=True)


class NoReport(Reporter):
    """Shows and records nothing, in a process that leaves reports to the first process of the training."""

    def update(self, *_: object) -> None:
        pass

    def validation(self, *_: object) -> None:
        pass

    def event(self, *_: object) -> None:
        pass

    def examples(self, *_: object) -> None:
        pass

    def attention(self, *_: object) -> None:
        pass

    def note(self, text: str) -> None:
        pass


def _can_redraw(stream: TextIO | TextIOBase) -> bool:
    """Is this a terminal with room for a bar? On one of 0 rows, as in some containers, tqdm shows nothing at all."""
    if not stream.isatty():
        return False
    try:
        size = os.get_terminal_size(stream.fileno())
    except OSError:
        return True
    return size.columns > 0 and size.lines > 1


def _progress_bar(stream: TextIO | TextIOBase, total: int | None, done: int) -> tqdm[NoReturn]:
    ending = _bar_format(total, "{remaining}")
    return tqdm(total=total, initial=done, file=stream, dynamic_ncols=True, bar_format=ending)


def _bar_format(total: int | None, left: str) -> str:
    if total is None:
        return "{n_fmt} updates [{elapsed}{postfix}]"
    return f"{{percentage:3.0f}}%|{{bar:8}}| {{n_fmt}}/{{total_fmt}} [{{elapsed}}<{left}{{postfix}}]"


def _shown(name: str, value: float) -> str:
    """A value with its short name, for the console."""
    ppl = "ppl {:.2f}" if value < MANY_DIGITS else "ppl {:.1e}"
    formats = {"perplexity": ppl, "bleu": "BLEU {:.2f}", "learning_rate": "lr {:.2e}"}
    formats["tokens_per_s"] = "{:,.0f} tokens/s"
    return formats.get(name, name + " {:.4f}").format(value)


def _markdown(text: str) -> str:
    """The text, escaped so that tensorboard's Markdown shows it unchanged."""
    return html.escape(text).replace("|", "&#124;").replace("\n", " ")
