"""Run folders made by somebody who means harm: each is refused with one line, nothing is executed, no memory taken."""

import hashlib
import json
import os
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from training_runs import corpus, resume, signals_after, start

import nmt
from nmt import checkpoint
from nmt.errors import NmtError
from nmt.interrupts import SAVED
from nmt.training_state import checkpoint_folder

MODEL_FILES = ["manifest.json", "config.yaml", "src.spm", "tgt.spm", "model.safetensors"]
STATE_FILES = ["weights.safetensors", "training.safetensors", "training.json"]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run stopped after update 6."""
    runs = tmp_path_factory.mktemp("runs")
    with signals_after({6}):
        assert start(corpus(tmp_path_factory.mktemp("corpus")), runs) == SAVED
    return runs / "run"


@pytest.fixture
def run(stopped: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(stopped, tmp_path / "run"))


def outcome(act: Callable[[], Any]) -> Any:
    """What comes out, or the error's one line."""
    try:
        return act()
    except NmtError as error:
        return str(error)


def refusal(act: Callable[[], Any]) -> str:
    message = outcome(act)
    assert isinstance(message, str), f"not refused: {message}"
    assert "\n" not in message
    return message


def forge(run: Path, text: str) -> None:
    """A configuration written by somebody else, with a manifest that agrees."""
    (run / "config.yaml").write_text(text)
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["sha256"]["config.yaml"] = hashlib.sha256(text.encode()).hexdigest()
    (run / "manifest.json").write_text(json.dumps(manifest))


def test_nothing_stored_is_executed(run: Path, tmp_path: Path) -> None:
    trap = tmp_path / "executed"
    command = f"touch {trap}"
    config = yaml.safe_load((run / "config.yaml").read_text())
    config["trust"] = ["os", "subprocess"]  # nothing stored can extend what is trusted
    tagged = yaml.safe_dump(config) + f"evil: !!python/object/apply:os.system ['{command}']\n"
    targets: list[tuple[str, dict[str, Any]]] = [
        ("decoder", {**config["decoder"], "_target_": "os.system", "command": command}),
        ("decoder", {**config["decoder"], "class": "os.system"}),
        ("decoder", {**config["decoder"], "class": "subprocess.Popen", "args": command}),
        ("attention", {**config["attention"], "class": "subprocess.Popen", "args": command}),
        ("optimizer", {"class": "subprocess.Popen", "args": command}),
        ("model", {**config["model"], "_target_": "os.system"}),
    ]
    for text in [tagged, "[1, 2", "- 1", "model: 3", *(yaml.safe_dump(config | {k: v}) for k, v in targets)]:
        forge(run, text)
        outcomes = [outcome(lambda: checkpoint.load_model(run)), outcome(lambda: resume(run))]
        refusals = [message for message in outcomes if isinstance(message, str)]
        assert refusals
        assert not any("\n" in message for message in refusals)
        assert not trap.exists()


def read_refusal(run: Path, text: str) -> str:
    """What every verb that opens a run with this configuration says."""
    forge(run, text)
    message = refusal(lambda: checkpoint.read_run(run))
    assert message == refusal(lambda: checkpoint.load_model(run)) == refusal(lambda: resume(run))
    assert len(message) < 500
    return message


def deep(depth: int) -> str:
    return "[" * depth + "]" * depth


HOSTILE = {
    "a key that builds objects": ("_target_: os.system\ncommand: ls\n", "has the key '_target_', which nmt never"),
    "a key that merges": ("<<: {a: 1}\n_partial_: true\n", "has the key '_partial_'"),
    "a key that is no word": ("1: 2\n", "has the key 1, which nmt never writes"),
    "the environment": ("data2: {root: '${oc.env:HOME}'}\n", "holds '${oc.env:HOME}', a reference that nmt never"),
    "a resolver inside of a text": ("more: 'a${now:%Y}b'\n", "holds 'a${now:%Y}b', a reference"),
    "a reference": ("more: ['${seed}']\n", "holds '${seed}', a reference"),
    "a tag": ("more: !!python/name:os.system\n", "is no plain YAML"),
    "an object": ("more: !!python/object/new:type {}\n", "is no plain YAML"),
    "bytes": ("more: !!binary aGVsbG8=\n", "holds b'hello', which nmt never writes"),
    "a date": ("more: 2020-01-01\n", "holds datetime.date(2020, 1, 1), which nmt never writes"),
    "a date that is none": ("more: 2020-99-99\n", "is no plain YAML"),
    "an endless number": (f"more: {'9' * 5000}\n", "is no plain YAML"),
    "a pit": (f"more: {deep(3000)}\n", "is no plain YAML"),
    "a bomb": (
        "".join(f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 9) if i else 'x'}]\n" for i in range(40)),
        "holds more than 10,000 values",
    ),
    "a circle": ("more: &m [*m]\n", "holds more than 10,000 values"),
    "two documents": ("---\na: 1\n", "is no plain YAML"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_configuration_is_refused(run: Path, name: str) -> None:
    text, expected = HOSTILE[name]
    message = read_refusal(run, (run / "config.yaml").read_text() + text)
    assert str(run / "config.yaml") in message
    assert expected in message


@pytest.mark.parametrize(
    ("section", "key", "value", "expected"),
    [
        ("encoder", "layers", 10**6, "encoder.layers is 1000000; it must be at most 1,000"),
        ("decoder", "layers", 900, "does not fit its config.yaml"),
        ("decoder", "d_hidden", 10**6, "does not fit its config.yaml"),
        ("decoder", "d_hidden", 10**30, "decoder.d_hidden is 1000000000000000000000000000000; it must be at most"),
        ("model", "d_embed", 10**6, "does not fit its config.yaml"),
        ("model", "d_embed", -1, "model.d_embed is -1; it must be at least 1"),
        ("encoder", "d_hidden", "1e9", "encoder.d_hidden='1e9'"),
        ("encoder", "d_hidden", None, "encoder.d_hidden"),
    ],
)
def test_absurd_sizes_are_refused_before_they_take_memory(
    run: Path, section: str, key: str, value: Any, expected: str
) -> None:
    config = yaml.safe_load((run / "config.yaml").read_text())
    config[section][key] = value
    forge(run, yaml.safe_dump(config))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert expected in refusal(lambda: checkpoint.load_model(run))
    refusal(lambda: resume(run))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # kB


def test_a_search_that_no_memory_holds_is_refused(run: Path) -> None:
    config = yaml.safe_load((run / "config.yaml").read_text())
    config["search"]["beam"] = 10**9
    forge(run, yaml.safe_dump(config))
    assert "search.beam=1000000000 cannot be used in a search; give 10,000 or less" in refusal(
        lambda: nmt.load(run).translate(["a"])
    )


@pytest.mark.parametrize("claimed", [2**60, 2**63 + 5, 10**8, 0])
def test_a_header_that_claims_too_much_is_refused(run: Path, claimed: int) -> None:
    for path in (run / "model.safetensors", checkpoint_folder(run, 6) / "weights.safetensors"):
        content = path.read_bytes()
        path.write_bytes(claimed.to_bytes(8, "little") + content[8:])
    assert "model.safetensors is damaged" in refusal(lambda: checkpoint.load_model(run))
    assert "weights.safetensors is damaged" in refusal(lambda: resume(run))


def test_a_tensor_that_claims_terabytes_is_refused(run: Path) -> None:
    header = json.dumps({"a": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}).encode()
    (run / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    assert "model.safetensors is damaged" in refusal(lambda: checkpoint.load_model(run))


@pytest.mark.parametrize("name", ["manifest.json", "checkpoints/00000006/training.json"])
@pytest.mark.parametrize("text", [deep(200_000), "[]", "null", '{"format": 3}', '{"a": ' + "9" * 5000 + "}", "\x00"])
def test_hostile_json_is_refused(run: Path, name: str, text: str) -> None:
    (run / name).write_text(text)
    assert "damaged" in refusal(lambda: resume(run))


def test_a_pickle_in_place_of_a_file_is_no_model(run: Path, tmp_path: Path) -> None:
    trap = tmp_path / "executed"

    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.system, (f"touch {trap}",)

    for name in [*MODEL_FILES, *(f"checkpoints/00000006/{name}" for name in STATE_FILES)]:
        own = Path(shutil.copytree(run, tmp_path / name.replace("/", "_")))
        torch.save(Trap(), own / name)
        loaded, resumed = outcome(lambda own=own: checkpoint.load_model(own)), outcome(lambda own=own: resume(own))
        assert isinstance(loaded, str) or isinstance(resumed, str)
        assert not trap.exists()
