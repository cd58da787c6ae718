"""The settings that a process was given when it was started."""

import os
import subprocess
import sys

import pytest

from nmt.cli.main import main
from nmt.errors import ConfigError
from nmt.machine.launch import cores, machines, processes, quiet_torch, refuse_several
from nmt.machine.peers import joined


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A process that torchrun has not started."""
    for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE", "RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_a_process_is_alone_unless_torchrun_says_otherwise(alone: pytest.MonkeyPatch) -> None:
    assert (processes(), machines()) == (1, 1)
    refuse_several("a sweep")
    alone.setenv("WORLD_SIZE", "6")
    assert (processes(), machines()) == (6, 1)
    alone.setenv("LOCAL_WORLD_SIZE", "2")
    assert (processes(), machines()) == (6, 3)
    with pytest.raises(ConfigError, match=r"^WORLD_SIZE=6, but a sweep is one process; start it without torchrun$"):
        refuse_several("a sweep")


@pytest.mark.parametrize("text", ["", "many", "0", "-2", "1.5"])
def test_what_is_no_number_of_processes_is_refused(alone: pytest.MonkeyPatch, text: str) -> None:
    alone.setenv("WORLD_SIZE", text)
    with pytest.raises(ConfigError, match=rf"^WORLD_SIZE={text} is not a whole number from 1; torchrun sets it"):
        processes()


@pytest.mark.parametrize(("name", "text"), [("RANK", "x"), ("RANK", "-1"), ("MASTER_PORT", "x")])
def test_what_torchrun_did_not_set_is_refused(alone: pytest.MonkeyPatch, name: str, text: str) -> None:
    own = {"WORLD_SIZE": "2", "RANK": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "29400"} | {name: text}
    for key, value in own.items():
        alone.setenv(key, value)
    with (
        pytest.raises(ConfigError, match=rf"^{name}={text} is not a whole number from [01]; torchrun"),
        joined(1, "cpu"),
    ):
        pass


def test_the_command_line_says_so_in_one_line(alone: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    alone.setenv("WORLD_SIZE", "many")
    assert main(["status", "model=a"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith("error: WORLD_SIZE=many is not a whole number from 1; ")


def test_this_process_may_use_the_cores_it_is_bound_to() -> None:
    [one, *_] = os.sched_getaffinity(0)
    code = f"import os; os.sched_setaffinity(0, [{one}]); from nmt.machine.launch import cores; print(cores())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "1\n"
    assert cores() == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(("count", "level"), [("1", None), ("2", "ERROR")])
def test_of_several_processes_nmt_alone_says_which_is_lost(
    count: str, level: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", count)
    monkeypatch.setenv("TORCH_CPP_LOG_LEVEL", "")  # so that it is as before after this test
    monkeypatch.delenv("TORCH_CPP_LOG_LEVEL")
    quiet_torch()
    assert os.environ.get("TORCH_CPP_LOG_LEVEL") == level
    monkeypatch.setenv("TORCH_CPP_LOG_LEVEL", "INFO")
    quiet_torch()
    assert os.environ["TORCH_CPP_LOG_LEVEL"] == "INFO"
