"""Run folders made by somebody who means harm: each is refused with one line, nothing is executed, no memory taken."""

import contextlib
import hashlib
import io
import json
import math
import os
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.models import refuse_unknown
from helpers.training_runs import corpus, resume, signals_after, start, tensors
from tensorboard.summary.writer.record_writer import masked_crc32c

import nmt
from nmt.cli.main import main
from nmt.commands import status
from nmt.config.run import read_run_config
from nmt.config.verbs import StatusCommand
from nmt.errors import NmtError
from nmt.machine.safe_files import read_file
from nmt.machine.signals import SAVED
from nmt.runs.checkpoints import checkpoint_folder, read_record, saved_updates, seal
from nmt.runs.folder import load_model, read_run
from nmt.runs.stored_config import read_config
from nmt.runs.tensors import write_tensors
from nmt.training.progress import SUMS, Progress
from nmt.translation.translator import Translator

MODEL_FILES = ["manifest.json", "config.json", "src.spm", "tgt.spm", "model.safetensors"]
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
    (run / "config.json").write_text(text)
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["sha256"]["config.json"] = hashlib.sha256(text.encode()).hexdigest()
    (run / "manifest.json").write_text(json.dumps(manifest))


def test_nothing_stored_is_executed(run: Path, tmp_path: Path) -> None:
    trap = tmp_path / "executed"
    command = f"touch {trap}"
    config = json.loads((run / "config.json").read_text())
    config["trust"] = ["os", "subprocess"]  # nothing stored can extend what is trusted
    tagged = json.dumps(config) + f"evil: !!python/object/apply:os.system ['{command}']\n"  # for a reader of YAML
    targets: list[tuple[str, dict[str, Any]]] = [
        ("decoder", {**config["decoder"], "_target_": "os.system", "command": command}),
        ("decoder", {**config["decoder"], "class": "os.system"}),
        ("decoder", {**config["decoder"], "class": "subprocess.Popen", "args": command}),
        ("attention", {**config["attention"], "class": "subprocess.Popen", "args": command}),
        ("optimizer", {"class": "subprocess.Popen", "args": command}),
        ("model", {**config["model"], "_target_": "os.system"}),
    ]
    for text in [tagged, "[1, 2", "[1]", '{"model": 3}', *(json.dumps(config | {k: v}) for k, v in targets)]:
        forge(run, text)
        outcomes = [outcome(lambda: load_model(run)), outcome(lambda: resume(run))]
        refusals = [message for message in outcomes if isinstance(message, str)]
        assert refusals
        assert not any("\n" in message for message in refusals)
        assert not trap.exists()


def read_refusal(run: Path, text: str) -> str:
    """What every verb that opens a run with this configuration says."""
    forge(run, text)
    message = refusal(lambda: read_run(run))
    assert message == refusal(lambda: load_model(run)) == refusal(lambda: resume(run))
    assert len(message) < 500
    return message


def deep(depth: int) -> str:
    return "[" * depth + "]" * depth


HOSTILE = {
    "a key that builds objects": (
        '"_target_": "os.system", "command": "ls"',
        "has the key '_target_', which nmt never",
    ),
    "a key for a call": ('"more": [{"_partial_": true}]', "has the key '_partial_'"),
    "the environment": ('"more": {"root": "${oc.env:HOME}"}', "holds '${oc.env:HOME}', a reference, which nmt never"),
    "a resolver inside of a text": ('"more": "a${now:%Y}b"', "holds 'a${now:%Y}b', a reference"),
    "a reference": ('"more": ["${seed}"]', "holds '${seed}', a reference"),
    "a tag of YAML": ('"more": !!python/name:os.system ""', "is not JSON as nmt writes it"),
    "a key twice": ('"seed": 1', "is not JSON as nmt writes it"),
    "a key twice in a section": ('"more": [{"a": 1, "\\u0061": 1}]', "is not JSON as nmt writes it"),
    "no number": ('"more": NaN', "holds the number nan, which nmt never writes"),
    "an infinite number": ('"more": -Infinity', "holds the number -inf"),
    "a number that becomes infinite": ('"more": 1e999', "holds the number inf"),
    "a number that no fraction holds": (f'"more": 1{"0" * 400}', "holds the number 1000000000"),
    "an endless number": (f'"more": {"9" * 5000}', "is not JSON as nmt writes it"),
    "a deep list": (f'"more": {deep(60)}', "has lists or sections more than 50 deep"),
    "a pit": (f'"more": {deep(300_000)}', "is not JSON as nmt writes it"),
    "too much text": (f'"more": "{"a" * 2**20}"', "bytes, more than the 1,048,576 it can have"),
    "two documents": ('"more": 1}{', "is not JSON as nmt writes it"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_configuration_is_refused(run: Path, name: str) -> None:
    text, expected = HOSTILE[name]
    message = read_refusal(run, f"{(run / 'config.json').read_text()[:-1]}, {text}}}")
    assert str(run / "config.json") in message
    assert expected in message


@pytest.mark.parametrize(
    ("section", "key", "value", "expected"),
    [
        ("encoder", "layers", 10**6, "encoder.layers is 1000000, so this nmt did not write it"),
        ("decoder", "layers", 900, "does not fit its config.json"),
        ("decoder", "d_hidden", 10**6, "does not fit its config.json"),
        ("decoder", "d_hidden", 10**30, f"decoder.d_hidden is {10**30}, so this nmt did not write it"),
        ("model", "d_embed", 10**6, "does not fit its config.json"),
        ("model", "d_embed", -1, "model.d_embed is -1, so this nmt did not write it"),
        ("encoder", "d_hidden", "1e9", "encoder.d_hidden='1e9'"),
        ("encoder", "d_hidden", None, "encoder.d_hidden"),
    ],
)
def test_absurd_sizes_are_refused_before_they_take_memory(
    run: Path, section: str, key: str, value: Any, expected: str
) -> None:
    config = json.loads((run / "config.json").read_text())
    config[section][key] = value
    forge(run, json.dumps(config))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert expected in refusal(lambda: load_model(run))
    refusal(lambda: resume(run))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # kB


@pytest.mark.slow
def test_a_configuration_full_of_values_takes_little_memory(run: Path) -> None:
    for many in ("[],", '{"":0},', "0.1,"):
        text = f'{(run / "config.json").read_text()[:-1]}, "more": [{many * (10**6 // len(many))}0]}}'
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert "unknown key 'more'" in refusal(lambda text=text: read_config(run / "config.json", text.encode(), []))
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


def test_a_search_that_no_memory_holds_is_refused(run: Path) -> None:
    config = json.loads((run / "config.json").read_text())
    config["search"]["beam"] = 10**9
    forge(run, json.dumps(config))
    assert "search.beam is 1000000000, so this nmt did not write it" in refusal(lambda: nmt.load(run).translate(["a"]))


@pytest.mark.parametrize("claimed", [2**60, 2**63 + 5, 10**8, 0])
def test_a_header_that_claims_too_much_is_refused(run: Path, claimed: int) -> None:
    for path in (run / "model.safetensors", checkpoint_folder(run, 6) / "weights.safetensors"):
        content = path.read_bytes()
        path.write_bytes(claimed.to_bytes(8, "little") + content[8:])
    assert "model.safetensors is damaged" in refusal(lambda: load_model(run))
    assert "weights.safetensors is damaged" in refusal(lambda: resume(run))


def test_a_tensor_that_claims_terabytes_is_refused(run: Path) -> None:
    header = json.dumps({"a": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}).encode()
    (run / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    assert "model.safetensors is damaged" in refusal(lambda: load_model(run))


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
        loaded, resumed = outcome(lambda own=own: load_model(own)), outcome(lambda own=own: resume(own))
        assert isinstance(loaded, str) or isinstance(resumed, str)
        assert not trap.exists()


PLACES = [
    ".metrics.jsonl.writing",
    "evaluations/test/.hypotheses.txt.writing",
    "evaluations/test",
    "metrics.jsonl",
    "checkpoints/00000006/training.json",
    "config.json",
    "checkpoints",
    "tensorboard",
]


@pytest.mark.parametrize("name", PLACES)
def test_a_link_in_a_run_folder_leads_nowhere(run: Path, tmp_path: Path, name: str) -> None:
    outside, path = tmp_path / "outside", run / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        path.rename(outside)
    else:
        outside.write_text("precious")
    path.symlink_to(outside)
    before = contents(outside)
    message = f"{path} is a link, and nmt never makes one; replace it with the file that it points to"
    for act in (lambda: load_model(run), lambda: resume(run), lambda: status.main(StatusCommand(str(run)))):
        assert message in refusal(act)
    if name.startswith("evaluations"):
        assert message in said("evaluate", f"model={run}", f"src={run / 'src.spm'}", f"ref={run / 'src.spm'}")
    assert before == contents(outside)


def contents(path: Path) -> dict[Path, bytes]:
    return {each: each.read_bytes() for each in (path, *path.rglob("*")) if each.is_file()}


def said(*words: str) -> str:
    """What a refused command prints as its error."""
    with contextlib.redirect_stderr(io.StringIO()) as error:
        assert main(list(words)) == 2
    message = error.getvalue()
    assert "Traceback" not in message
    assert "\x1b" not in message
    return message


def test_a_run_may_be_reached_by_a_link(run: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(run)
    assert resume(tmp_path / "link") == 0


@pytest.mark.parametrize(
    "name", [*MODEL_FILES, *(f"checkpoints/00000006/{n}" for n in STATE_FILES), "seen.bin", "metrics.jsonl"]
)
def test_a_pipe_in_a_run_folder_is_not_waited_for(run: Path, name: str) -> None:
    (run / name).unlink()
    os.mkfifo(run / name)
    message = "holds no run: manifest.json is missing" if name == "manifest.json" else "is neither a file nor a folder"
    for act in (lambda: load_model(run), lambda: resume(run)):
        assert message in refusal(act)
    assert "is not a regular file" in refusal(lambda: read_file(run / name))


@pytest.mark.parametrize("name", ["seen.bin", "letter_case.json", "sentences.json"])
@pytest.mark.parametrize("gone", [True, False])
def test_a_run_goes_on_only_if_the_files_that_training_does_not_read_are_whole(
    run: Path, name: str, gone: bool
) -> None:
    content = (run / name).read_bytes()
    if gone:
        (run / name).unlink()
    else:
        (run / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    message = refusal(lambda: resume(run))
    assert f"{run / name} is " in message
    assert "restore it from a copy" in message


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("seed", None, "seed has no value"),
        ("seed", -1, "seed is -1"),
        ("seed", "1", "seed='1' is not possible"),
        ("name", 3, "name=3 is not possible"),
        ("cache_dir", ["x"], "cache_dir=['x'] is not possible"),
        ("data.nfc", None, "data.nfc has no value"),
        ("data.tgt_lang", 7, "data.tgt_lang=7 is not possible"),
        ("data.tokenized", "no", "data.tokenized='no' is not possible"),
        ("data.filters.empty", 1, "data.filters.empty=1 is not possible"),
        ("search.beam", 0, "search.beam is 0"),
        ("search.max_length_a", 1e30, "search.max_length_a is 1e+30"),
        ("search.max_length_b", 1e7, "search.max_length_b is 10000000.0"),
        ("train.workers", 1.5, "train.workers=1.5 is not possible"),
        ("model.more", 1, "unknown key 'model.more'"),
    ],
)
def test_a_stored_value_that_nmt_does_not_write_is_refused(run: Path, key: str, value: Any, expected: str) -> None:
    config = json.loads((run / "config.json").read_text())
    *path, last = key.split(".")
    node = config
    for word in path:
        node = node[word]
    if value is None:
        del node[last]
    else:
        node[last] = value
    forge(run, json.dumps(config))
    message = refusal(lambda: read_run(run))
    assert message.startswith(f"{run / 'config.json'}: {expected}, so this nmt did not write it; restore it")


@pytest.mark.parametrize("section", ["encoder", "decoder", "attention", "optimizer", "schedule"])
def test_a_class_that_is_no_text_is_refused(run: Path, section: str) -> None:
    config = json.loads((run / "config.json").read_text())
    for value in (1, ["rnn"], True, {"a": "b"}):
        config[section]["class"] = value
        assert "is not text; write the name of a class" in refusal(lambda: read_run_config(config, []))


@pytest.mark.parametrize(("key", "value"), [("max_updates", 10**30), ("workers", 10**30), ("max_epochs", 10**300)])
def test_counts_of_no_run_are_refused(run: Path, key: str, value: int) -> None:
    config = json.loads((run / "config.json").read_text())
    config["train"][key] = value
    forge(run, json.dumps(config))
    expected = f"train.{key} is 1{'0' * 30}"
    assert expected in said("status", f"model={run}")
    assert expected in said("train", f"resume={run}")


def sparse(path: Path, size: int = 2**33) -> None:
    """A file of tensors that takes no room on the disk."""
    header = json.dumps({"x": {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    os.truncate(path, 8 + len(header) + size)


@pytest.mark.parametrize(
    "name",
    [
        "model.safetensors",
        "shortlist.safetensors",
        "checkpoints/00000004/weights.safetensors",
        "checkpoints/00000006/weights.safetensors",
        "checkpoints/00000006/training.safetensors",
    ],
)
def test_a_sparse_file_of_tensors_is_refused_before_it_is_read(run: Path, name: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sparse(run / name)
    if name.startswith("checkpoints"):
        message = refusal(lambda: resume(run))
    else:
        message = refusal(lambda: Translator.load(run, shortlist=True))
    assert name in message
    assert "does not" in message
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # kB


@pytest.mark.slow
def test_status_holds_no_file_in_memory(run: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sparse(run / "model.safetensors", 2**29)
    assert "model.safetensors is damaged: its checksum differs" in said("status", f"model={run}")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # kB


@pytest.mark.parametrize(
    "name", ["manifest.json", "config.json", "src.spm", "checkpoints/00000006/training.json", "metrics.jsonl"]
)
def test_a_file_larger_than_nmt_writes_is_not_read(run: Path, name: str) -> None:
    os.truncate(run / name, 10**11)
    assert f"{run / name} has 100,000,000,000 bytes, more than the " in refusal(lambda: resume(run))


def record(run: Path, **changes: Any) -> None:
    """Another record for the last checkpoint, sealed as if nmt had written it; None: the key is left out."""
    path = checkpoint_folder(run, 6) / "training.json"
    stored = json.loads(path.read_text())
    refuse_unknown(changes, stored, path.name)
    kept = {key: value for key, value in stored.items() if key != "sha256"} | changes
    kept = {key: value for key, value in kept.items() if value is not None}
    path.write_text(json.dumps({**kept, "sha256": seal(kept)}))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        *(({key: None}, f"{key} has no value") for key in ("update", "data", "made_by", "validations", "sums")),
        ({"update": "x"}, "update='x' is not possible"),
        ({"update": 7}, "update is 7"),
        ({"update": 10**30}, f"update is {10**30}"),
        ({"epoch": -1}, "epoch is -1"),
        ({"batch": 10**30}, f"batch is {10**30}"),
        ({"tokens": 1.5}, "tokens=1.5 is not possible"),
        ({"validations": [{"x": 1}]}, "unknown key 'validations.x'"),
        ({"validations": 3}, "validations=3 is not possible"),
        ({"validations": [3]}, "validations=[3] is not possible"),
        ({"validations": [{"update": 8, "epoch": 0, "loss": 1, "nll": 1, "bleu": 0}]}, "are of the updates [8]"),
        ({"validations": [{"update": 2, "epoch": 0, "loss": 1, "nll": 1, "bleu": "x"}]}, "validations.bleu='x'"),
        ({"validations": [{"update": 2, "epoch": 0, "loss": 1, "nll": math.nan, "bleu": 0}]}, "are 1.0, nan and 0"),
        ({"sums": {"updates": 1}}, "sums.fine has no value"),
        ({"sums": dict.fromkeys(SUMS, "x")}, "sums.updates='x' is not possible"),
        ({"sums": dict.fromkeys(SUMS, math.nan)}, "sums.updates is nan"),
        ({"skipped": ["x"]}, "skipped=['x'] is not possible"),
        ({"skipped": [99]}, "skipped are of the updates [99]"),
        ({"made_by": [1]}, "made_by=[1] is not possible"),
        ({"made_by": {"torch": [1]}}, "made_by={'torch': [1]} is not possible"),
    ],
)
def test_a_record_that_nmt_cannot_have_written_is_refused(run: Path, changes: dict[str, Any], expected: str) -> None:
    record(run, **changes)
    folder = checkpoint_folder(run, 6)
    message = refusal(lambda: Progress.from_json(read_record(folder), folder))
    assert f"{folder / 'training.json'} is not what nmt writes: " in message
    assert expected in message


@pytest.mark.parametrize("key", ["data", "update"])
def test_every_verb_refuses_such_a_record(run: Path, key: str) -> None:
    record(run, **{key: None})
    for message in (refusal(lambda: resume(run)), said("status", f"model={run}")):
        assert f"{checkpoint_folder(run, 6) / 'training.json'} is not what nmt writes: {key} has no value" in message


CHANGES: dict[str, Callable[[str, torch.Tensor], torch.Tensor | None]] = {
    "shapes": lambda name, value: value.flatten()[:1].clone() if name.startswith("exp_avg/") else value,
    "one kind missing": lambda name, value: None if name.startswith("exp_avg/") else value,
    "parameters missing": lambda name, value: None if "encoder" in name else value,
    "all missing": lambda name, value: None,
    "whole numbers": lambda name, value: value.long(),
    "more digits": lambda name, value: value.double(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_optimiser_of_another_form_is_refused(run: Path, change: str) -> None:
    path = checkpoint_folder(run, 6) / "training.safetensors"
    changed = {name: CHANGES[change](name, value) for name, value in tensors(path).items()}
    write_tensors(path, {name: value for name, value in changed.items() if value is not None})
    assert f"{path} does not fit the model ('" in refusal(lambda: resume(run))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int64, torch.bool, torch.complex64])
def test_weights_of_another_type_are_refused(run: Path, dtype: torch.dtype) -> None:
    path = run / "model.safetensors"
    write_tensors(path, {name: value.to(dtype) for name, value in tensors(path).items()})
    assert "differs in name, shape or type" in refusal(lambda: load_model(run))


@pytest.mark.parametrize("name", ["²", "٣", "7", "00000007x", "000000007"])
def test_only_eight_digits_name_a_checkpoint(run: Path, name: str) -> None:
    (run / "checkpoints" / name).mkdir()
    assert saved_updates(run) == [4, 6]


def test_a_point_of_tensorboard_that_claims_too_much_is_refused(run: Path) -> None:
    path = run / "tensorboard" / "events.out.tfevents.1.x"
    header = (2**50).to_bytes(8, "little")
    path.write_bytes(header + masked_crc32c(header).to_bytes(4, "little") + b"x" * 100)
    message = refusal(lambda: resume(run))
    assert f"{path} holds a record of 1,125,899,906,842,624 bytes, which nmt did not write; delete it" in message


def test_the_terminal_is_not_steered(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = json.loads((run / "config.json").read_text()) | {"name": "\x1b]0;owned\x07\x1b[2Jx"}
    forge(run, json.dumps(config))
    (run / "metrics.jsonl").write_text(
        '{"kind": "train", "update": "x"}\n{"kind": "train", "update": 1e300, "tokens": 1}\n'
    )
    record(run, made_by={"torch": "\x1b[2J"})
    assert main(["status", f"model={run}"]) == 0
    assert resume(run) == 0
    outside = run / "\x1b[2J"
    outside.symlink_to(run)
    said("status", f"model={run}")
    shown = "".join(capsys.readouterr())
    assert r"\x1b]0;owned\x07\x1b[2Jx, seed 1" in shown
    assert "\x1b" not in shown
