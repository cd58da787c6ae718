"""What is chosen when a run begins."""

import pytest

from nmt.config import defaults
from nmt.config.compose import command_of
from nmt.config.defaults import default_parts, with_chosen


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Two cores, no GPU, no torchrun."""
    monkeypatch.setattr(defaults, "cores", lambda: 2)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("count", "batch_tokens", "parts"),
    [(1, 4096, 1), (2, 4096, 2), (3, 4096, 4), (4, 4096, 4), (64, 4096, 16), (64, 1250, 8), (8, 299, 1), (8, 300, 2)],
)
def test_every_core_gets_a_part_that_is_not_too_small(
    machine: pytest.MonkeyPatch, count: int, batch_tokens: int, parts: int
) -> None:
    machine.setattr(defaults, "cores", lambda: count)
    assert default_parts(batch_tokens, "cpu") == parts
    assert default_parts(batch_tokens, "auto") == parts


@pytest.mark.parametrize(
    ("processes", "of_machine", "parts"),
    [(2, 2, 2), (4, 4, 4), (3, 3, 4), (4, 2, 4), (2, 1, 4), (6, 1, 8), (64, 1, 64)],
)
def test_every_process_and_every_core_of_their_machines_gets_a_part(
    machine: pytest.MonkeyPatch, processes: int, of_machine: int, parts: int
) -> None:
    machine.setenv("WORLD_SIZE", str(processes))
    machine.setenv("LOCAL_WORLD_SIZE", str(of_machine))
    assert default_parts(1250, "cpu") == parts


def test_a_gpu_takes_a_batch_as_a_whole(machine: pytest.MonkeyPatch) -> None:
    machine.setattr("nmt.config.defaults.GPU_FILES", ("/dev/null",))
    machine.setattr("torch.cuda.is_available", lambda: True)
    assert (default_parts(4096, "auto"), default_parts(4096, "cuda"), default_parts(4096, "cpu")) == (1, 1, 2)
    machine.setenv("WORLD_SIZE", "2")
    assert default_parts(4096, "auto") == 2


def test_without_the_file_of_a_gpu_torch_is_not_asked(machine: pytest.MonkeyPatch) -> None:
    machine.setattr("sys.platform", "linux")
    machine.setattr("nmt.config.defaults.GPU_FILES", ("/dev/no-such-gpu",))
    machine.setattr("torch.cuda.is_available", lambda: pytest.fail("torch was asked"))
    assert default_parts(4096, "auto") == 2


def test_a_run_stores_what_was_chosen_and_what_was_typed_wins(machine: pytest.MonkeyPatch) -> None:
    assert command_of("train", []).run.train.parts == 2
    assert command_of("train", ["train.batch_tokens=200"]).run.train.parts == 1
    assert command_of("train", ["train.parts=3"]).run.train.parts == 3
    assert with_chosen({"model": "m"}) == {"model": "m"}  # of a verb that does not train


@pytest.mark.parametrize(
    ("given", "folder"),
    [(None, "~/.cache/nmt"), ("", "~/.cache/nmt"), ("here", "~/.cache/nmt"), ("/scratch/me", "/scratch/me/nmt")],
)
def test_the_cache_is_where_the_user_keeps_caches(
    monkeypatch: pytest.MonkeyPatch, given: str | None, folder: str
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if given is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", given)
    assert command_of("prepare", []).run.cache_dir == folder
    if given != "/scratch/me":  # all verbs have it from the same place
        return
    for verb in ("train", "compare", "tune"):
        assert command_of(verb, []).run.cache_dir == folder
    for verb in ("evaluate", "shortlist"):
        assert command_of(verb, ["model=m"]).cache_dir == folder
        assert command_of(verb, ["model=m", "cache_dir=own"]).cache_dir == "own"
    assert command_of("doctor", []).cache_dir == folder
    assert command_of("interactive", ["model=m"]).history == f"{folder}/history"
    assert command_of("interactive", ["model=m", "history=null"]).history is None
    assert command_of("interactive", ["model=m", "history=./auto"]).history == "./auto"
