"""Run folders: damage is named and never loaded, a failed or killed write costs nothing, nothing stored is executed."""

import errno
import hashlib
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
import torch
from helpers.forked import Forked
from helpers.training_runs import assert_same, corpus, resume, run_config, same, signals_after, start, tensors
from safetensors.torch import load
from torch import Tensor

from nmt.cli.main import main
from nmt.config.run import RunConfig, read_run_config
from nmt.data.letter_case import LETTER_CASE_FILE, LetterCase
from nmt.errors import CheckpointError, ConfigError, NmtError
from nmt.machine.safe_files import draft, join_files, read_file, refuse_unwritable, write_atomically
from nmt.machine.signals import SAVED
from nmt.runs import checkpoints as training_state
from nmt.runs.checkpoints import checkpoint_folder, last_resumable, prune, read_record, save_checkpoint, saved_updates
from nmt.runs.folder import FORMAT, SENTENCES_FILE, load_model, read_letter_case, read_usual_sentences
from nmt.runs.lock import PLACE, hold_run
from nmt.runs.stored_config import config_bytes, read_config
from nmt.runs.tensors import packed, parameters_of, read_signed, read_tensors, signed, write_tensors
from nmt.training import run as training_run
from nmt.training.report import Reporter
from nmt.training.trainer import Trainer

MODEL_FILES = [
    "manifest.json", "config.json", "letter_case.json", "sentences.json", "src.spm", "tgt.spm", "model.safetensors"
]  # fmt: skip
STATE_FILES = ["weights.safetensors", "training.safetensors", "training.json"]
ROOT = Path(__file__).parents[2]
T = TypeVar("T")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def stopped(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run stopped after update 6, with separate vocabularies."""
    runs = tmp_path_factory.mktemp("runs")
    with signals_after({6}):
        assert start(data, runs, tokenizer__joint=False) == SAVED
    return runs / "run"


@pytest.fixture
def run(stopped: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(stopped, tmp_path / "run"))


@pytest.fixture(params=[0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """How files are made while the test runs."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run, uninterrupted."""
    runs = tmp_path_factory.mktemp("whole")
    start(data, runs, tokenizer__joint=False)
    return runs / "run"


def weights(seed: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(3, 4, generator=generator) for name in "ab"}


def refusal(act: Callable[[], Any]) -> str:
    with pytest.raises(CheckpointError) as raised:
        act()
    message = str(raised.value)
    assert "\n" not in message
    return message


def test_a_run_of_an_earlier_nmt_knows_no_forms_of_words(run: Path) -> None:
    assert read_letter_case(run).forms
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest["sha256"][LETTER_CASE_FILE]
    (run / "manifest.json").write_text(json.dumps(manifest))
    (run / LETTER_CASE_FILE).unlink()
    assert load_model(run).letter_case == LetterCase()


@pytest.mark.slow
def test_a_run_knows_how_many_sentences_its_training_lines_have(run: Path, data: Path, tmp_path: Path) -> None:
    assert read_usual_sentences(run) == load_model(run).usual_sentences == 1
    several = corpus(tmp_path / "several")
    lines = [f"Eins {line}. Zwei {line}? Drei!" for line in (several / "train.src").read_text().splitlines()]
    (several / "train.src").write_text("".join(f"{line}\n" for line in lines))
    assert start(several, tmp_path, name="of_three", train__max_updates=1, data__dev_size=0) == 0
    assert read_usual_sentences(tmp_path / "of_three") == 3
    manifest = json.loads((run / "manifest.json").read_text())
    for content in ("{}", '{"usual": 1e999}', '{"usual": "x"}', "[", "[" * 1000):
        manifest["sha256"][SENTENCES_FILE] = hashlib.sha256(content.encode()).hexdigest()
        (run / "manifest.json").write_text(json.dumps(manifest))
        (run / SENTENCES_FILE).write_text(content)
        assert refusal(lambda: load_model(run)) == f"{run / SENTENCES_FILE} is damaged; restore it from a copy"
    del manifest["sha256"][SENTENCES_FILE]
    (run / "manifest.json").write_text(json.dumps(manifest))
    assert load_model(run).usual_sentences == 1  # as of an earlier nmt


def test_a_model_that_is_trained_further_knows_the_words_of_both_corpora(run: Path, tmp_path: Path) -> None:
    new = corpus(tmp_path / "new")
    lines = [f"zz {line} Xerxes" for line in (new / "train.src").read_text().splitlines()]
    (new / "train.src").write_text("".join(f"{line}\n" for line in lines))
    assert start(new, tmp_path, name="tuned", init_from=str(run), train__max_updates=1, data__dev_size=0) == 0
    before, after = read_letter_case(run).forms, read_letter_case(tmp_path / "tuned").forms
    assert before.keys() < after.keys()
    assert after["xerxes"] == "Xerxes"


@pytest.mark.parametrize("name", MODEL_FILES)
def test_a_missing_or_cut_file_of_a_model_is_named(run: Path, name: str) -> None:
    content = (run / name).read_bytes()
    for kept in (0, len(content) // 2, len(content) - 1):
        (run / name).write_bytes(content[:kept])
        assert name in refusal(lambda: load_model(run))
    (run / name).unlink()
    assert name in refusal(lambda: load_model(run))


def outcome(act: Callable[[], T]) -> T | str:
    """What comes out, or the message of the refusal."""
    try:
        return act()
    except NmtError as error:
        return str(error)


def flips(content: bytes, count: int) -> Iterator[bytes]:
    """Copies with one bit changed, in the first bytes and at random."""
    rng = random.Random(len(content))
    for place in [*range(3), len(content) - 1, *(rng.randrange(len(content)) for _ in range(count))]:
        changed = bytearray(content)
        changed[place] ^= 1 << rng.randrange(8)
        yield bytes(changed)


@pytest.mark.parametrize("name", MODEL_FILES)
def test_a_flipped_bit_is_found_or_changes_nothing(run: Path, name: str) -> None:
    whole = load_model(run)
    for changed in flips((run / name).read_bytes(), 40):
        (run / name).write_bytes(changed)
        found = outcome(lambda: load_model(run))
        if isinstance(found, str):
            assert name in found or name == "manifest.json"  # a wrong checksum there: the other file is named
            continue
        assert name == "manifest.json" or name.endswith(".safetensors")
        assert found.config == whole.config
        assert same(parameters_of(found.model), parameters_of(whole.model))


@pytest.mark.parametrize("name", STATE_FILES)
def test_a_damaged_training_state_is_named_and_not_gone_on_with(run: Path, name: str) -> None:
    path = checkpoint_folder(run, 6) / name
    content = path.read_bytes()
    for changed in [b"", content[: len(content) // 2], *flips(content, 40)]:
        path.write_bytes(changed)
        if name.endswith(".json"):
            record = outcome(lambda: read_record(path.parent))
            known = {key: value for key, value in json.loads(content).items() if key != "sha256"}
            assert record == known or name in record
        else:
            found = outcome(lambda: read_tensors(path))
            assert name in found if isinstance(found, str) else same(found, load(content))
    path.write_bytes(content[:-9])
    assert name in refusal(lambda: resume(run))
    path.unlink()
    assert name in refusal(lambda: resume(run))


def test_a_training_state_of_another_model_is_refused(run: Path) -> None:
    path = checkpoint_folder(run, 6) / "training.safetensors"
    write_tensors(path, {f"{name}.other": value for name, value in tensors(path).items()})
    assert f"{path} does not fit the model" in refusal(lambda: resume(run))


def test_weights_of_another_model_are_refused(run: Path) -> None:
    own = tensors(run / "model.safetensors")
    name = sorted(own)[0]
    for other in (
        {**own, "x": own[name].clone()},
        {k: v for k, v in own.items() if k != name},
        {**own, name: own[name][:-1]},
    ):
        write_tensors(run / "model.safetensors", other)
        assert "model.safetensors does not fit its config.json" in refusal(lambda: load_model(run))


def test_another_format_version_is_refused(run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps(manifest | {"format": 99}))
    message = f"{run} has format 99, this nmt reads format {FORMAT}"
    assert message in refusal(lambda: load_model(run))
    assert message in refusal(lambda: resume(run))


def test_a_run_with_a_configuration_in_yaml_is_refused(run: Path) -> None:
    (run / "config.json").rename(run / "config.yaml")
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["sha256"]["config.yaml"] = manifest["sha256"].pop("config.json")
    (run / "manifest.json").write_text(json.dumps(manifest | {"format": 4}))
    message = f"{run} has format 4, this nmt reads format {FORMAT}; use the nmt version that wrote it"
    assert message == refusal(lambda: load_model(run)) == refusal(lambda: resume(run))


def test_what_is_no_run_folder_is_refused(tmp_path: Path) -> None:
    assert "is not a folder" in refusal(lambda: load_model(tmp_path / "nowhere"))
    assert "manifest.json is missing" in refusal(lambda: load_model(tmp_path))


def test_a_run_without_validation_holds_no_model_yet(run: Path) -> None:
    (run / "model.safetensors").unlink()
    message = refusal(lambda: load_model(run))
    assert "holds no model yet: model.safetensors appears after the first validation; continue the run" in message


def test_a_checkpoint_comes_back_bit_for_bit(tmp_path: Path) -> None:
    values = {"x": torch.tensor(2.5), "low": torch.randn(3, 2).bfloat16(), "empty": torch.zeros(0, 4)}
    values["nan"] = torch.tensor([float("nan"), -0.0])
    save_checkpoint(tmp_path, 12, signed(weights(1)), signed(values), {"update": 12, "loss": 0.1 + 0.2})
    folder = checkpoint_folder(tmp_path, 12)
    assert same(read_tensors(folder / "weights.safetensors"), weights(1))
    found = read_tensors(folder / "training.safetensors")
    assert found.keys() == values.keys()
    for name, value in values.items():
        assert found[name].dtype == value.dtype
        assert found[name].shape == value.shape
        torch.testing.assert_close(found[name], value, rtol=0, atol=0, equal_nan=True)
    record = read_record(folder)
    assert (record["update"], record["loss"]) == (12, 0.1 + 0.2)


class Counted:
    """SHA-256 that notes how many bytes of tensors it is given."""

    def __init__(self, given: list[int], digest: Any) -> None:
        self.given = given
        self.digest = digest
        self.hexdigest = digest.hexdigest

    def update(self, content: bytes | memoryview) -> None:
        if isinstance(content, memoryview):  # a tensor's; its name comes as bytes
            self.given.append(content.nbytes)
        self.digest.update(content)


@pytest.mark.parametrize("dev_size", [10, 0])
def test_a_validation_reads_every_tensor_once_for_its_checksum(
    data: Path, tmp_path: Path, dev_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, validate = tmp_path / "run", Trainer.validate
    seen: list[int] = []

    def counted(trainer: Trainer) -> None:
        given: list[int] = []
        with pytest.MonkeyPatch.context() as patch:
            sha256 = hashlib.sha256
            patch.setattr(hashlib, "sha256", lambda *content: Counted(given, sha256(*content)))
            validate(trainer)
        update = trainer.progress.update
        folder = checkpoint_folder(run, update)
        parts = [folder / "weights.safetensors", folder / "training.safetensors"]
        assert sum(given) == sum(tensor.nbytes for path in parts for tensor in tensors(path).values()) > 0
        known, optimiser = (read_signed(path)[1] for path in parts)
        record = read_record(folder)
        assert (record["weights"], record["optimiser"]) == (known, optimiser)
        if trainer.validator is None:
            best = update
        else:
            assert trainer.progress.validations[-1].checksum == known
            best = trainer.progress.ranked("loss")[0].update
        assert (read_signed(run / "model.safetensors")[1] == known) == (best == update)
        seen.append(update)

    monkeypatch.setattr(Trainer, "validate", counted)
    assert start(data, tmp_path, train__validate_every=2, train__metric="loss", data__dev_size=dev_size) == 0
    assert seen == [2, 4, 6, 8, 10, 11]


def test_the_same_tensors_are_the_same_bytes_every_time() -> None:
    assert len({packed(signed({"b": torch.arange(3), "a": torch.ones(2, 2)})) for _ in range(20)}) == 1


def test_pruning_keeps_the_named_and_the_last_and_nothing_half_written(tmp_path: Path) -> None:
    for seed in range(8):
        rng = random.Random(seed)
        updates = sorted(rng.sample(range(1, 30), rng.randint(1, 6)))
        keep = rng.sample(range(1, 30), 12)
        run = tmp_path / str(seed)
        for update in updates:
            save_checkpoint(run, update, signed(weights(update)), signed(weights(update)), {"update": update})
        leftover = run / "checkpoints" / ".00000100.writing"
        leftover.mkdir()
        (leftover / "weights.safetensors").write_bytes(b"half")
        assert last_resumable(run) == updates[-1]
        prune(run, keep)
        assert saved_updates(run) == sorted({*(set(keep) & set(updates)), updates[-1]})
        assert last_resumable(run) == updates[-1]
        assert not leftover.exists()
        for update in saved_updates(run):
            files = {path.name for path in checkpoint_folder(run, update).iterdir()}
            assert files == (set(STATE_FILES) if update == updates[-1] else {"weights.safetensors"})


def fail_at(patch: pytest.MonkeyPatch, name: str) -> None:
    """The disk is full whenever something of this name is to be written or put in place."""
    replace, record, write = os.replace, Reporter._record, Path.write_bytes
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def refusing(source: Any, target: Any) -> None:
        if Path(target).name == name:
            raise full
        replace(source, target)

    def refusing_record(self: Reporter, entry: dict[str, Any]) -> None:
        if name == "metrics.jsonl" and entry["update"] > 6:
            raise full
        record(self, entry)

    def refusing_bytes(path: Path, content: bytes) -> int:
        if path.name == name:
            write(path, content[: len(content) // 2])
            raise full
        return write(path, content)

    patch.setattr(os, "replace", refusing)
    patch.setattr(Path, "write_bytes", refusing_bytes)
    patch.setattr(Reporter, "_record", refusing_record)


@pytest.mark.parametrize("name", [*STATE_FILES, "00000008", "model.safetensors", "metrics.jsonl"])
def test_a_full_disk_is_one_line_and_the_run_can_be_resumed(
    run: Path, whole: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        fail_at(patch, name)
        message = refusal(lambda: resume(run))
    assert message.startswith("cannot write ")
    assert "(No space left on device)" in message
    good = last_resumable(run)
    assert good is not None
    assert good >= 6
    if name != "model.safetensors":
        assert message.endswith(
            f"the last good checkpoint is {checkpoint_folder(run, good)}: make room, then nmt train resume={run}"
        )
    assert not [path for path in run.rglob("*.writing") if path.is_file()]
    assert resume(run) == 0
    assert_same(whole, run)


def test_a_write_that_fails_keeps_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")
    with monkeypatch.context() as patch:
        fail_at(patch, "file")
        assert f"cannot write {path} (No space left on device)" in refusal(lambda: write_atomically(path, b"new"))
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_is_on_the_disk_before_it_takes_the_name_and_the_name_before_it_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[str, str]] = []
    fsync, replace = os.fsync, os.replace

    def noting_fsync(handle: int) -> None:
        done.append(("fsync", os.path.relpath(os.readlink(f"/proc/self/fd/{handle}"), tmp_path)))
        fsync(handle)

    def noting_replace(source: Path, target: Path) -> None:
        done.append(("rename", os.path.relpath(target, tmp_path)))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noting_fsync)
    monkeypatch.setattr(os, "replace", noting_replace)
    write_atomically(tmp_path / "file", b"new")
    assert [what for what, _ in done] == ["fsync", "rename", "fsync"]
    assert done[0][1].startswith(".file.")
    assert done[1:] == [("rename", "file"), ("fsync", ".")]
    done.clear()
    save_checkpoint(tmp_path, 1, signed({}), signed({}), {"update": 1})
    beside = done[-3][1]
    assert re.fullmatch(r"checkpoints/\.00000001\.[0-9a-f]{8}\.writing", beside)
    written = [("fsync", f"{beside}/{name}") for name in sorted(STATE_FILES)]
    named = [("rename", "checkpoints/00000001"), ("fsync", "checkpoints")]
    assert done == [("fsync", "."), *written, ("fsync", beside), *named]


def test_writing_follows_no_link_and_keeps_the_usual_permissions(tmp_path: Path, umask: int) -> None:
    precious, part = tmp_path / "precious", tmp_path / "part"
    precious.write_text("mine")
    part.write_bytes(b"new")
    for write in (lambda path: write_atomically(path, b"new"), lambda path: join_files(path, [part])):
        folder = tmp_path / write.__code__.co_names[-1]
        folder.mkdir()
        (folder / "file").symlink_to(precious)
        (folder / ".file.writing").symlink_to(precious)  # the name that drafts once had
        write(folder / "file")
        assert precious.read_text() == "mine"
        assert (folder / "file").read_bytes() == b"new"
        assert (folder / "file").lstat().st_mode == 0o100666 & ~umask
        assert sorted(path.name for path in folder.iterdir()) == [".file.writing", "file"]


def test_what_a_killed_write_left_is_no_checkpoint_and_goes_away(run: Path, whole: Path) -> None:
    leftover = run / "checkpoints" / ".00000100.writing"
    leftover.mkdir()
    (leftover / "weights.safetensors").write_bytes(b"half")
    for place in (run, run / "tensorboard", checkpoint_folder(run, 6)):
        draft(place / "file").write_bytes(b"half")
    (run / "model.safetensors").unlink()  # killed between the checkpoint and the model that it makes best
    assert last_resumable(run) == 6
    assert resume(run) == 0
    assert_same(whole, run)


def test_a_run_is_written_by_one_process_only(run: Path) -> None:
    held = "with nmt.runs.lock.hold_run(pathlib.Path(sys.argv[1])): print('held', flush=True); input()"
    words = [sys.executable, "-c", f"import sys, pathlib, nmt.runs.lock\n{held}", str(run)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        assert f"{run} is being written by another process" in refusal(lambda: resume(run))
        other.kill()
    assert resume(run) == 0


def test_where_nothing_can_be_locked_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_locks(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", no_locks)
    with hold_run(tmp_path):
        said = f"note: {tmp_path} is on a file system without locks: do not start a second process for it\n"
        assert capsys.readouterr().err == said


def test_an_unwritable_folder_is_said_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    message = refusal(lambda: refuse_unwritable(tmp_path / "file" / "runs" / "x", PLACE))
    place = tmp_path / "file" / "runs" / "x"
    assert message == f"cannot write {place} (Not a directory); check that place, or choose another runs_dir or name"
    for good in (tmp_path / "new" / "runs" / "x", tmp_path):
        refuse_unwritable(good, PLACE)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    assert f"cannot write {tmp_path}/link/x (No such file" in refusal(
        lambda: refuse_unwritable(tmp_path / "link/x", "x")
    )


def started_or_resumed(run: Path, new: dict[str, Any]) -> int:
    """A process that trains."""
    torch.set_num_threads(1)
    return resume(run) if run.exists() else training_run.start(read_run_config(new, []))


@pytest.mark.slow
def test_a_run_killed_at_random_instants_ends_as_if_it_had_not(data: Path, tmp_path: Path) -> None:
    settings = {"train__validate_every": 2, "train__max_updates": 60, "train__log_every": 7}
    start(data, tmp_path / "whole", **settings)
    run = tmp_path / "parts" / "run"
    new = run_config(data, tmp_path / "parts", **settings).plain()
    rng, kills = random.Random(time.time()), 0
    while True:
        process = Forked(started_or_resumed, run, new)
        if kills < 5:
            before = last_resumable(run)
            while last_resumable(run) == before and process.poll() is None:
                time.sleep(0.01)
            time.sleep(rng.random() * 0.5)
            process.send_signal(signal.SIGKILL)
            kills += process.wait() == -signal.SIGKILL
        if process.wait() == 0:
            break
        assert process.returncode == -signal.SIGKILL
    assert_same(tmp_path / "whole" / "run", run)


def test_a_run_that_was_cut_short_while_it_pruned_for_the_last_time_ends_like_a_whole_one(
    whole: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pruned = training_state.prune

    def cut_short(run: Path, keep: Sequence[int]) -> None:
        if last_resumable(run) == 11:
            raise OSError(errno.EROFS, "Read-only file system")
        pruned(run, keep)

    with monkeypatch.context() as patch:
        patch.setattr("nmt.training.trainer.prune", cut_short)
        with pytest.raises(NmtError, match="Read-only file system"):
            start(data, tmp_path, tokenizer__joint=False)
    assert resume(tmp_path / "run") == 0
    assert_same(whole, tmp_path / "run")


def test_checkpoints_that_are_gone_are_not_begun_anew(run: Path) -> None:
    kept = (run / "model.safetensors").read_bytes()
    shutil.rmtree(run / "checkpoints")
    message = refusal(lambda: resume(run))
    assert message == (
        f"{run / 'checkpoints'} no longer holds a checkpoint; restore it from a copy, or start a new run with "
        f"init_from={run}"
    )
    assert (run / "model.safetensors").read_bytes() == kept


@pytest.mark.parametrize("name", ["weights.safetensors", "training.safetensors"])
def test_a_file_of_another_checkpoint_is_not_gone_on_with(run: Path, tmp_path: Path, name: str) -> None:
    here = checkpoint_folder(run, 6) / name
    shutil.copytree(run, tmp_path / "other")
    assert resume(tmp_path / "other") == 0
    (other,) = (tmp_path / "other" / "checkpoints").glob(f"*/{'training.json'}")
    here.write_bytes((other.parent / name).read_bytes())
    assert refusal(lambda: resume(run)).startswith(f"{here} belongs to another checkpoint or run")


@pytest.mark.parametrize("name", ["checkpoints", "model.safetensors", "metrics.jsonl", "tensorboard"])
def test_what_is_left_of_a_run_is_never_mixed_with_a_new_one(data: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "run" / name).mkdir(parents=True)
    message = refusal(lambda: start(data, tmp_path))
    assert message == (
        f"{tmp_path / 'run'} holds {name} of a run whose manifest.json is gone; restore that, or choose another name="
    )


def test_a_file_that_may_not_be_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    (tmp_path / "a").write_text("")
    monkeypatch.setattr(os, "open", forbid)
    message = refusal(lambda: read_file(tmp_path / "a"))
    assert message == f"cannot read {tmp_path}/a (Permission denied); check its permissions"


def test_files_that_cannot_be_joined_leave_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "all").write_text("old")
    (tmp_path / "a").write_text("a")
    message = refusal(lambda: join_files(tmp_path / "all", [tmp_path / "a", tmp_path / "none"]))
    assert message == f"cannot write {tmp_path}/all (No such file or directory); check that place, or write elsewhere"
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"all": "old", "a": "a"}


def test_a_run_that_cannot_be_held_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    def hold() -> None:
        with hold_run(tmp_path / "file" / "run"):
            raise AssertionError

    assert (
        refusal(hold)
        == f"cannot write {tmp_path}/file/run (Not a directory); check that place, or choose another runs_dir or name"
    )


def test_a_stored_configuration_is_json_and_comes_back(tmp_path: Path) -> None:
    odd = {"data__root": '狗\udcff\x1b\n"', "optimizer__lr": 1e-9, "optimizer__eps": 3, "data__gold": None}
    config = run_config(tmp_path, tmp_path, **odd)
    content = config_bytes(config)
    assert json.loads(content.decode("utf-8")) == config.plain()
    assert "狗" in content.decode("utf-8")
    back = read_config(Path("config.json"), content, [])
    assert repr(back.plain()) == repr(config.plain())  # types and order too
    assert config_bytes(back) == content


@pytest.mark.parametrize(
    ("plain", "odd"),
    [({"a": math.inf}, "holds the number inf"), ({"a": [{"_x": 2}]}, "has the key '_x'"), ({1: 2}, "has the key 1")],
)
def test_a_configuration_that_could_not_be_read_is_not_written(
    plain: dict[str, Any], odd: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    expected = "the configuration {}, which a run folder cannot store; change or remove it"
    with pytest.raises(ConfigError, match=re.escape(expected.format("holds 'a${b}', a reference"))):
        config_bytes(run_config(tmp_path, tmp_path, cache_dir="a${b}"))
    monkeypatch.setattr(RunConfig, "plain", lambda _: plain)  # as a part of another package may have it
    with pytest.raises(ConfigError, match=re.escape(expected.format(odd))):
        config_bytes(run_config(tmp_path, tmp_path))


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"{}", ": name has no value, so this"),
        (b'{"model": 3}', ": name has no value, so this"),
        (b"[1]", " has no keys, so"),
        (b"null", " has no keys, so"),
        (b"", " is not JSON as nmt writes it;"),
        (b"seed: 1", " is not JSON as nmt writes it;"),
        ('{"model": 3}'.encode("utf-16"), " is not JSON as nmt writes it;"),
    ],
)
def test_a_configuration_without_its_sections_is_refused(content: bytes, what: str) -> None:
    message = refusal(lambda: read_config(Path("run/config.json"), content, None))
    assert message.startswith(f"run/config.json{what}")
    assert "restore it from a copy" in message


def test_what_is_left_after_a_failure_is_said(tmp_path: Path) -> None:
    assert training_state.last_good(tmp_path, "make room") == "no checkpoint is saved yet: make room and start again"
    (tmp_path / "checkpoints").write_text("")  # no folder: it cannot be listed
    message = f"what is saved lies in {tmp_path}/checkpoints: make room, then nmt train resume={tmp_path}"
    assert training_state.last_good(tmp_path, "make room") == message
    assert refusal(lambda: saved_updates(tmp_path)) == f"{tmp_path}/checkpoints is not a folder; restore it from a copy"


def test_a_folder_of_checkpoints_that_cannot_be_read_is_not_taken_for_an_empty_one(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listdir = os.listdir

    def forbidden(path: Path) -> list[str]:
        if Path(path).name == "checkpoints":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return listdir(path)

    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with monkeypatch.context() as patch:
        patch.setattr(os, "listdir", forbidden)
        assert main(["train", f"resume={run}"]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == f"error: cannot use {run}/checkpoints (Permission denied); make it writable, or use another folder"
    assert before == {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
