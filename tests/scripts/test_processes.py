"""What scripts start ends with them, whatever stops them, and has the time to save."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.neighbours import busy_neighbours
from command_line import SCRIPTS
from processes import ended, side_by_side

SAVING = (
    "import pathlib, time\ntry:\n    {begun}time.sleep(60)\nexcept BaseException:\n    time.sleep(0.5)\n    {saved}"
)


def script(body: str) -> list[str]:
    """A script with one part, whose work this is."""
    lines = ["import sys, types", f"sys.path[:0] = [{str(SCRIPTS)!r}, {str(SCRIPTS.parent)!r}]", "import command_line"]
    lines += ["def main(words):", *(f"    {line}" for line in body.splitlines()), "    return 0"]
    lines += ["sys.modules['small_part'] = types.SimpleNamespace(main=main)"]
    return [
        sys.executable,
        "-c",
        "\n".join([*lines, "sys.exit(command_line.run('x', {'part': 'small_part'}, ['part']))"]),
    ]


def saver(folder: Path, signals: bool = False) -> list[str]:
    """A process that saves when it is stopped."""
    handler = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))\n" if signals else ""
    begun, saved = (f"pathlib.Path({str(folder / name)!r}).touch(); " for name in ("begun", "saved"))
    return [sys.executable, "-c", handler + SAVING.format(begun=begun, saved=saved)]


def heeding_all() -> None:
    """What a shell starts in the background ignores Ctrl-C, and what nohup starts ignores that its terminal closes."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def wait_for(path: Path) -> None:
    """Until it is there."""
    end = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [(signal.SIGINT, 130, "interrupted\n"), (signal.SIGTERM, 143, ""), (signal.SIGHUP, 129, "")],
)
def test_what_stops_a_script_leaves_its_process_the_time_to_save(
    number: signal.Signals, code: int, said: str, tmp_path: Path
) -> None:
    command = script(f"from processes import ended\nended({saver(tmp_path, signals=True)})")
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=heeding_all
    ) as process:
        wait_for(tmp_path / "begun")
        if number == signal.SIGINT:  # as from a terminal
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        assert process.communicate(timeout=60)[1] == said
    assert process.returncode == code
    assert (tmp_path / "saved").exists()


def test_a_terminal_that_nohup_has_ignored_stays_ignored(tmp_path: Path) -> None:
    body = f"import pathlib, time\npathlib.Path({str(tmp_path / 'begun')!r}).touch()\ntime.sleep(1)"
    with subprocess.Popen(["nohup", *script(body)], stdout=-1, stderr=-1, stdin=-3) as process:
        wait_for(tmp_path / "begun")
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=60)
    assert process.returncode == 0


def test_the_reader_of_the_output_may_leave() -> None:
    command = script("for _ in range(100000): print('line')")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_a_fork_ends_as_any_process_does(tmp_path: Path) -> None:
    body = "import os, signal, time\nchild = os.fork()\nif child == 0: time.sleep(60)\ntime.sleep(0.3)\n"
    body += (
        "os.kill(child, signal.SIGTERM)\nassert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM"
    )
    assert subprocess.run(script(body), preexec_fn=heeding_all).returncode == 0


def test_exit_codes_are_passed_on() -> None:
    assert ended([sys.executable, "-c", "raise SystemExit(7)"]) == 7


def echo(number: int) -> list[str]:
    return [
        sys.executable,
        "-c",
        f"import time; time.sleep(0.{5 - number}); print({number}); raise SystemExit({number})",
    ]


def test_results_come_in_the_order_of_the_commands() -> None:
    done = [(each.stdout, each.returncode) for each in side_by_side([echo(number) for number in range(4)], 2)]
    assert done == [(f"{number}\n", number) for number in range(4)]


def test_a_stop_ends_what_runs_and_begins_nothing_more(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()
    commands: Sequence[Sequence[str]] = [saver(tmp_path / name, signals=True) for name in "abc"]
    results = side_by_side(commands, 2)

    def stop(number: int, frame: object) -> None:
        raise SystemExit(3)

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 3)
        with pytest.raises(SystemExit):
            list(results)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert [(tmp_path / name / "saved").exists() for name in "abc"] == [True, True, False]


def test_neighbours_end_with_the_process_that_measures(tmp_path: Path) -> None:
    body = "import time\nfrom bench.neighbours import busy_neighbours\nwith busy_neighbours(2):\n    time.sleep(60)"
    with subprocess.Popen(script(body)) as process:
        children: list[str] = []
        while len(children) < 2:
            time.sleep(0.1)
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        time.sleep(0.5)
        process.kill()
    end = time.monotonic() + 30
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < end
        time.sleep(0.1)


def test_neighbours_are_busy_while_the_block_runs() -> None:
    with busy_neighbours(1):
        [child] = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()[-1:]
        time.sleep(0.5)
        before = _ticks(child)
        time.sleep(0.5)
        assert _ticks(child) > before
    assert not Path(f"/proc/{child}").exists()


def _ticks(process: str) -> int:
    """Of its processor time."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11])
