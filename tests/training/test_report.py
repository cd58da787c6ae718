"""Training reports: every update once, also after a resume; tensors read at log points; clean plain lines."""

import contextlib
import io
import json
import math
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import (
    EventAccumulator,
)

from nmt.figures.attention import attention_figure
from nmt.training.history import keep_known_lines, known_points
from nmt.training.progress import Progress, Validation
from nmt.training.report import METRICS_FILE, TENSORBOARD_FOLDER, Reporter


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def progress_at(update: int, validate_every: int) -> Progress:
    """What a checkpoint of `run` at a log point says."""
    done = range(validate_every, update + 1, validate_every)
    return Progress(update=update, validations=[Validation(u, 0, 2.0, 2.0, None) for u in done])


def run(folder: Path, start: int, end: int, stream: io.StringIO, log_every: int = 5, validate_every: int = 10) -> None:
    """A training run from update `start` to `end` as the trainer would report it."""
    reporter = Reporter(folder, 100, progress_at(start, validate_every), log_every, stream)
    for update in range(start + 1, end + 1):
        reporter.update(
            update, update // 20, torch.tensor(5.0 / update), 1.0, 100 + update, 1e-3, torch.tensor(0.5), 0.0
        )
        if update % validate_every == 0:
            reporter.validation(update, update // 20, {"loss": 2.0, "bleu": float(update)}, best=True)
            reporter.examples(update, [("a | b", "<i>c</i>", f"translation {update}")])
            figure = attention_figure(np.eye(3), list("abc"), list("xyz"))
            reporter.attention(update, 0, figure)
    reporter.close()


def entries(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / METRICS_FILE).read_text().splitlines()]


def events(folder: Path) -> EventAccumulator:
    accumulator = EventAccumulator(str(folder / TENSORBOARD_FOLDER), size_guidance={"images": 0, "tensors": 0})
    accumulator.Reload()
    return accumulator


@pytest.mark.slow
@pytest.mark.parametrize("killed_at", [20, 23, 25, 38])
def test_a_resumed_run_has_every_point_once_like_an_uninterrupted_one(tmp_path: Path, killed_at: int) -> None:
    run(tmp_path / "whole", 0, 40, io.StringIO())
    run(tmp_path / "parts", 0, killed_at, io.StringIO())
    run(tmp_path / "parts", 20, 40, io.StringIO())

    whole, parts = entries(tmp_path / "whole"), entries(tmp_path / "parts")
    for entry in [*whole, *parts]:
        for name in ("tokens_per_s", "data_waiting_share"):
            entry.pop(name, None)
    assert parts == whole
    assert [e["update"] for e in whole if e["kind"] == "train"] == list(range(5, 41, 5))
    assert [e["update"] for e in whole if e["kind"] == "dev"] == [10, 20, 30, 40]

    accumulator = events(tmp_path / "parts")
    for name in ("loss", "perplexity", "learning_rate", "grad_norm", "tokens_per_s", "data_waiting_share"):
        assert [e.step for e in accumulator.Scalars(f"train/{name}")] == list(range(5, 41, 5))
    for name in ("loss", "bleu"):
        assert [e.step for e in accumulator.Scalars(f"dev/{name}")] == [10, 20, 30, 40]
    assert [e.step for e in accumulator.Images("attention/0")] == [10, 20, 30, 40]
    texts = accumulator.Tensors("examples/text_summary")
    assert [e.step for e in texts] == [10, 20, 30, 40]
    shown = texts[0].tensor_proto.string_val[0].decode()
    assert "| a &#124; b | &lt;i&gt;c&lt;/i&gt; | translation 10 |" in shown


def test_the_loss_is_the_mean_over_tokens_and_the_perplexity_that_of_the_plain_one(tmp_path: Path) -> None:
    reporter = Reporter(tmp_path, None, Progress(), 7, io.StringIO())
    rng = random.Random(0)
    steps = [(rng.uniform(0, 9), rng.randint(1, 500), rng.uniform(0, 3)) for _ in range(7)]
    for number, (loss, tokens, norm) in enumerate(steps, 1):
        as_tensor = number % 2 == 0
        given = (torch.tensor(loss), torch.tensor(loss / 2)) if as_tensor else (loss, loss / 2)
        reporter.update(number, 0, *given, tokens, 0.1, torch.tensor(norm), 0.0)
    reporter.close()
    (entry,) = entries(tmp_path)
    total = sum(tokens for _, tokens, _ in steps)
    assert entry["tokens"] == total
    assert entry["loss"] == pytest.approx(sum(loss * tokens for loss, tokens, _ in steps) / total, rel=1e-5)
    assert entry["perplexity"] == pytest.approx(math.exp(entry["loss"] / 2))
    assert entry["grad_norm"] == pytest.approx(sum(norm for _, _, norm in steps) / 7, rel=1e-5)


def test_tensors_are_read_at_log_points_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []
    current = 0
    for name in ("item", "__float__", "__int__", "__bool__", "tolist", "numpy", "cpu"):
        original = getattr(torch.Tensor, name)

        def spy(tensor: torch.Tensor, *args: Any, original: Any = original) -> Any:
            reads.append(current)
            return original(tensor, *args)

        monkeypatch.setattr(torch.Tensor, name, spy)
    reporter = Reporter(tmp_path, None, Progress(), 10, io.StringIO())
    loss, tokens, norm = torch.tensor(1.0), torch.tensor(8), torch.tensor(0.1)
    for current in range(1, 36):
        reporter.update(current, 0, loss, loss, tokens, 0.1, norm, 0.0)
    assert set(reads) == {10, 20, 30}
    reporter.close()


def test_validation_time_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    reporter = Reporter(tmp_path, 40, Progress(), 10, stream := io.StringIO())
    for update in range(1, 41):
        now += 2.0
        reporter.update(update, 0, 1.0, 1.0, 50, 0.1, 1.0, waited_s=900.0 if update % 5 == 1 else 0.5)
        if update % 5 == 0:
            now += 1000.0
            reporter.validation(update, 0, {"loss": 1.0}, best=False)
            now += 300.0  # saving
    reporter.close()
    rates = [entry["tokens_per_s"] for entry in entries(tmp_path) if entry["kind"] == "train"]
    assert rates == pytest.approx([25.0] * 4)
    waiting = [entry["data_waiting_share"] for entry in entries(tmp_path) if entry["kind"] == "train"]
    assert waiting == pytest.approx([0.25] * 4)
    left = [line.split()[-2] for line in stream.getvalue().splitlines() if line.endswith(" left")]
    assert left == ["01:00", "00:40", "00:20", "00:00"]


def test_the_time_left_has_validations_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    reporter = Reporter(tmp_path, 40, Progress(), 10, stream := io.StringIO(), validate_every=10)
    reporter.validation_s = 7.0  # as was measured before the run
    for update in range(1, 41):
        now += 2.0
        reporter.update(update, 0, 1.0, 1.0, 50, 0.1, 1.0, waited_s=0.0)
        if update % 10 == 0:
            now += 90.0
            reporter.validation(update, 0, {"loss": 1.0}, best=False)
            now += 10.0  # saving
    reporter.close()
    left = [line.split()[-2] for line in stream.getvalue().splitlines() if line.endswith(" left")]
    assert left == ["01:21", "04:00", "02:00", "00:00"]


def test_plain_streams_get_whole_lines_without_control_characters(tmp_path: Path) -> None:
    stream = io.StringIO()
    run(tmp_path, 0, 20, stream)
    lines = stream.getvalue().split("\n")
    assert all(line.isprintable() for line in lines)
    assert sum(line.startswith("update ") for line in lines) == 4
    assert lines[0].startswith("update 5/100  epochs 0  loss ")
    assert any(line.startswith("dev, update 20:  loss 2.0000  BLEU 20.00  (best so far)") for line in lines)
    assert any(line.endswith("translation 10") for line in lines)


def test_the_perplexity_of_a_training_that_diverges_stays_short(tmp_path: Path) -> None:
    stream = io.StringIO()
    reporter = Reporter(tmp_path, 100, Progress(), 1, stream)
    reporter.update(1, 0, 4.0, 4.0, 1, 0.1, 1.0, 0.0)
    reporter.update(2, 0, 300.0, 300.0, 1, 0.1, 1.0, 0.0)
    reporter.close()
    assert re.findall(r"ppl (\S+)", stream.getvalue()) == ["54.60", "1.9e+130"]


@pytest.mark.slow
def test_a_terminal_gets_a_bar_with_loss_perplexity_speed_and_time_left(tmp_path: Path) -> None:
    stream = Terminal()
    run(tmp_path, 0, 100, stream)
    text = stream.getvalue()
    assert "100/100" in text
    for pattern in (r"loss \d", r"ppl \d", r"\d tokens/s", r"\d\d:\d\d<\d\d:\d\d"):
        assert re.search(pattern, text)
    assert "dev, update 20:" in text


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are of Unix")
@pytest.mark.parametrize(("rows", "bar"), [(24, True), (0, False)])
def test_a_terminal_without_rows_gets_plain_lines(tmp_path: Path, rows: int, bar: bool) -> None:
    import fcntl
    import pty
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))
    with open(slave, "w", encoding="utf-8") as stream:
        reporter = Reporter(tmp_path, 4, Progress(), 2, stream)
        for update in range(1, 5):
            reporter.update(update, 0, 1.0, 1.0, 10, 0.1, 1.0, 0.0)
        reporter.close()
    shown = ""
    with contextlib.suppress(OSError):  # Linux's way to say that this was all
        while part := os.read(master, 10_000):
            shown += part.decode()
    os.close(master)
    assert ("update 4/4" in shown) is not bar
    assert ("100%" in shown) is bar
    assert not bar or max(len(line) for line in re.split(r"[\r\n]", shown)) <= 80


def test_a_run_of_unknown_length_has_a_bar_too(tmp_path: Path) -> None:
    reporter = Reporter(tmp_path, None, Progress(update=3), 2, stream := Terminal())
    for update in range(4, 9):
        reporter.update(update, 0, 1.0, 1.0, 10, 0.1, 1.0, 0.0)
    reporter.close()
    assert "8 updates" in stream.getvalue()


def test_losses_that_are_no_numbers_are_null_in_the_file(tmp_path: Path) -> None:
    reporter = Reporter(tmp_path, None, Progress(), 1, io.StringIO())
    reporter.update(1, 0, torch.tensor(float("nan")), 1.0, 10, 0.1, torch.tensor(float("inf")), 0.0)
    reporter.validation(1, 0, {"loss": math.inf}, best=False)
    reporter.update(2, 0, 1e6, 1e6, 10, 0.1, 1.0, 0.0)
    reporter.close()
    first, dev, second = entries(tmp_path)
    assert first["loss"] is first["grad_norm"] is dev["loss"] is None
    assert second["loss"] == 1e6


def test_the_last_incomplete_interval_is_recorded_on_closing(tmp_path: Path) -> None:
    run(tmp_path, 0, 13, io.StringIO(), log_every=10)
    assert [e["update"] for e in entries(tmp_path) if e["kind"] == "train"] == [10, 13]


def test_nothing_is_written_before_the_first_report(tmp_path: Path) -> None:
    Reporter(tmp_path / "run", None, Progress(), 10, io.StringIO()).close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("update", range(0, 9, 2))
def test_cutting_keeps_whole_lines_up_to_the_update(tmp_path: Path, update: int) -> None:
    metrics = tmp_path / METRICS_FILE
    known = known_points(Progress(update=update))
    keep_known_lines(metrics, known)
    assert not metrics.exists()
    lines = [json.dumps({"kind": "event", "update": n, "text": "a\u2028b"}, ensure_ascii=False) for n in range(8)]
    metrics.write_text("\n".join([*lines, lines[0][:-5]]))
    assert keep_known_lines(metrics, known) == []
    assert metrics.read_text().split("\n")[:-1] == lines[: update + 1]
    assert list(tmp_path.iterdir()) == [metrics]


DAMAGED = ["x", "[1]", "null", '{"update": 1}', '{"kind": "x", "update": 1}', '{"kind": "dev", "update": "1"}']
DAMAGED += ['{"kind": "train", "update": 1e300}', '{"kind": "train", "update": 1, "tokens": "1"}', "[" * 10_000]
DAMAGED += ['{"kind": "train", "update": 1, "tokenr": 1}', '{"kind": "dev", "update": 1}']


@pytest.mark.parametrize("damage", [DAMAGED[:1], DAMAGED[1:4], DAMAGED])
def test_damaged_lines_are_named_and_kept_aside_on_resuming(tmp_path: Path, damage: list[str]) -> None:
    metrics, stream = tmp_path / METRICS_FILE, io.StringIO()
    lines = [json.dumps({"kind": "train", "update": n, "tokens": 9}) for n in (2, 4)]
    before = "\n".join([lines[0], *damage, lines[1], ""])
    metrics.write_text(before)
    (tmp_path / f"damaged.1.{METRICS_FILE}").write_text("of an earlier time")
    Reporter(tmp_path, 100, Progress(update=4), 2, stream).note("begun")
    aside = tmp_path / f"damaged.2.{METRICS_FILE}"
    named = {1: "line 2 is", 3: "line 2, 3, 4 are", 11: "line 2, 3, 4, 5, 6 and 6 more are"}[len(damage)]
    said = f"{metrics}: {named} damaged, and left out; the damaged file is kept as {aside}"
    assert stream.getvalue() == f"note: {said}\nbegun\n"
    assert aside.read_text() == before
    *kept, last = metrics.read_text().splitlines()
    assert kept == lines
    assert json.loads(last) == {"kind": "event", "update": 4, "event": "damaged", "text": said}


def test_damaged_points_of_tensorboard_are_named_and_kept_aside_on_resuming(tmp_path: Path) -> None:
    run(tmp_path, 0, 30, io.StringIO())
    [file] = (tmp_path / "tensorboard").iterdir()
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    reporter = Reporter(tmp_path, 100, Progress(update=30), 5, stream := io.StringIO())
    reporter.note("begun")
    reporter.close()
    aside = file.with_name(f"damaged.1.{file.name.replace('tfevents', 'events')}")
    line, begun = stream.getvalue().splitlines()
    assert re.fullmatch(
        rf"note: {re.escape(str(file))}: damaged after \d+ of \d+ points; the damaged file is kept as (.*)", line
    )
    assert line.endswith(str(aside))
    assert aside.read_bytes() == content
    assert begun == "begun"


@pytest.mark.slow
def test_importing_the_module_imports_neither_tensorboard_nor_matplotlib() -> None:
    code = "import sys, nmt.training.report; sys.exit(bool({'matplotlib', 'tensorboard'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
