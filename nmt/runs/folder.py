"""Run folders: a model and its training state on disk. Nothing that is read here is ever executed.

runs/NAME/  config.json  manifest.json  src.spm  tgt.spm        written when the run begins
            model.safetensors                                   the best weights so far, which translation loads
            seen.bin                                            hashes of training pairs: see nmt/data/train_hashes.py
            shortlist.safetensors                               see shortlist_file.py
            learned.json                                        has the model learned to translate? See learned.py
            letter_case.json                                    usual forms of words: see nmt/data/letter_case.py
            sentences.json                                      usual number of sentences in a training source line
            checkpoints/                                        see checkpoints.py
            metrics.jsonl  tensorboard/
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import Any

from nmt.config.run import RunConfig
from nmt.data.letter_case import LETTER_CASE_FILE, LetterCase
from nmt.data.tokenizer import Tokenizer, TokenizerPair
from nmt.data.train_hashes import HASHES_FILE
from nmt.errors import CheckpointError, ConfigError
from nmt.machine.digests import file_digest
from nmt.machine.safe_files import join_files, read_file, refuse_foreign_files, write_atomically
from nmt.model.build import build_model, build_outline
from nmt.model.seq2seq import Seq2Seq
from nmt.runs.stored_config import CONFIG_BYTES, config_bytes, read_config
from nmt.runs.tensors import read_forms, read_signed, refuse_other_forms, set_parameters

FORMAT = 9  # version of run folders: raise it for a change that older code cannot read, and say so in CHANGELOG
TOKENIZER_BYTES = 2**28  # size limit of a tokenizer's file
LETTER_CASE_BYTES = 2**25
SENTENCES_FILE = "sentences.json"
SENTENCES_BYTES = 2**10
MOST_BYTES = {"config.json": CONFIG_BYTES, "src.spm": TOKENIZER_BYTES, "tgt.spm": TOKENIZER_BYTES}


@dataclass(frozen=True)
class LoadedModel:
    """A trained model with everything that translation needs."""

    config: RunConfig
    model: Seq2Seq
    tokenizers: TokenizerPair
    checksum: str  # SHA-256 of the weights, hexadecimal
    letter_case: LetterCase  # the usual case of words in the training sources
    usual_sentences: int  # the usual number of sentences in a line of the training sources


def create_run(
    folder: Path,
    config: RunConfig,
    tokenizers: TokenizerPair,
    letter_case: LetterCase,
    usual_sentences: int,
    known: Sequence[Path],
) -> None:
    """Writes everything except the weights into an existing folder; refuses a folder that holds another run.

    `letter_case` and `usual_sentences` (see nmt.data.sentences) describe the training sources.
    `known`: files with hashes of the pairs that the model is trained on (see nmt.data.train_hashes).
    """
    refuse_used(folder)
    files = {"config.json": config_bytes(config), "src.spm": tokenizers.src.bytes, "tgt.spm": tokenizers.tgt.bytes}
    files[LETTER_CASE_FILE] = letter_case.bytes
    files[SENTENCES_FILE] = json.dumps({"usual": usual_sentences}).encode()
    for name, content in files.items():
        write_atomically(folder / name, content)
    checksums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    join_files(folder / HASHES_FILE, known)
    checksums[HASHES_FILE] = file_digest(folder / HASHES_FILE)
    _write_manifest(folder, checksums)


def files_written_once(folder: Path) -> list[str]:
    """The names of the files that the manifest of a run has checksums of."""
    return [name for name in _manifest(folder)["sha256"] if not name.endswith(", next")]


def seen_file(folder: Path) -> Path:
    """The file with hashes of the pairs that a run's model was trained on, checked against the manifest."""
    path = folder / HASHES_FILE
    if not path.exists():
        raise CheckpointError(f"{path} is missing; restore it from a copy")
    if file_digest(path) != _manifest(folder)["sha256"].get(HASHES_FILE):
        raise CheckpointError(f"{path} is damaged: its checksum differs; restore it from a copy")
    return path


def read_letter_case(folder: Path) -> LetterCase:
    """The usual case of words in a run's training sources; empty for a run of an earlier nmt."""
    content = _known(folder / LETTER_CASE_FILE, LETTER_CASE_BYTES)
    return LetterCase() if content is None else LetterCase.from_bytes(content, str(folder / LETTER_CASE_FILE))


def read_usual_sentences(folder: Path) -> int:
    """How many sentences a line of a run's training sources usually had; 1 for a run of an earlier nmt."""
    path = folder / SENTENCES_FILE
    content = _known(path, SENTENCES_BYTES)
    if content is None:
        return 1
    try:
        return max(1, index(json.loads(content)["usual"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise CheckpointError(f"{path} is damaged; restore it from a copy") from None


def refuse_damaged(folder: Path) -> None:
    """Refuses a run if a file is damaged that training does not read; only translation or evaluation would notice."""
    seen_file(folder)
    read_letter_case(folder)
    read_usual_sentences(folder)


def _known(path: Path, most: int) -> bytes | None:
    """The content of a file, checked against the manifest; None: not in the manifest, which an earlier nmt wrote."""
    known = _manifest(path.parent)["sha256"].get(path.name)
    if known is None:
        return None
    content = read_file(path, most)
    if hashlib.sha256(content).hexdigest() != known:
        raise CheckpointError(f"{path} is damaged: its checksum differs; restore it from a copy")
    return content


def change_config(folder: Path, config: RunConfig) -> None:
    """Replaces a run's configuration. Meanwhile the manifest lists both checksums, so either file is valid."""
    checksums = _manifest(folder)["sha256"]
    checksums["config.json"] = hashlib.sha256(read_file(folder / "config.json")).hexdigest()
    content = config_bytes(config)
    checksums["config.json, next"] = hashlib.sha256(content).hexdigest()
    _write_manifest(folder, checksums)
    write_atomically(folder / "config.json", content)
    checksums["config.json"] = checksums.pop("config.json, next")
    _write_manifest(folder, checksums)


def _write_manifest(folder: Path, checksums: Mapping[str, str]) -> None:
    manifest = {"format": FORMAT, "sha256": dict(checksums)}
    write_atomically(folder / "manifest.json", json.dumps(manifest, indent=1).encode())


def refuse_used(folder: Path) -> None:
    """Refuses a folder that holds another run, or the remains of one."""
    if (folder / "manifest.json").exists():
        raise CheckpointError(
            f"{folder} already holds a run; continue it with resume={folder}, or choose another name="
        )
    for name in ("checkpoints", "model.safetensors", "metrics.jsonl", "tensorboard"):
        if (folder / name).exists():
            raise CheckpointError(
                f"{folder} holds {name} of a run whose manifest.json is gone; restore that, or choose another name="
            )


def read_run(folder: Path, trust: Sequence[str] | None = None) -> tuple[RunConfig, TokenizerPair]:
    """Configuration and tokenizers of a run folder, checked against its manifest; `trust` as for `read_part`."""
    if not folder.is_dir():
        raise CheckpointError(f"{folder} is not a folder; give a run folder such as runs/NAME")
    if not (folder / "manifest.json").is_file():
        raise CheckpointError(f"{folder} holds no run: manifest.json is missing; give a folder written by nmt train")
    refuse_foreign_files(folder)
    manifest = _manifest(folder)
    written, checksums = manifest["format"], manifest["sha256"]
    if written != FORMAT:
        raise CheckpointError(
            f"{folder} has format {written}, this nmt reads format {FORMAT}; use the nmt version that wrote it"
        )
    contents = {}
    for name, most in MOST_BYTES.items():
        contents[name] = read_file(folder / name, most)
        known = (checksums.get(name), checksums.get(f"{name}, next"))  # both: change_config was interrupted
        if hashlib.sha256(contents[name]).hexdigest() not in known:
            raise CheckpointError(f"{folder / name} is damaged: its checksum differs; restore it from a copy")
    source = Tokenizer.from_bytes(contents["src.spm"])
    same = contents["src.spm"] == contents["tgt.spm"]
    pair = TokenizerPair(source, source if same else Tokenizer.from_bytes(contents["tgt.spm"]))
    return read_config(folder / "config.json", contents["config.json"], trust), pair


def _manifest(folder: Path) -> dict[str, Any]:
    """The folder's format and the checksums of its files."""
    try:
        manifest = json.loads(read_file(folder / "manifest.json"))
        return {"format": manifest["format"], "sha256": dict(manifest["sha256"])}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise CheckpointError(f"{folder / 'manifest.json'} is damaged; restore it from a copy") from None


def refuse_unfitting(config: RunConfig, tokenizers: TokenizerPair, path: Path) -> None:
    """Refuses a file with weights that do not fit the configuration, before they or the model take memory."""
    forms = read_forms(path)
    outline = build_outline(config, tokenizers.src.vocab_size, tokenizers.tgt.vocab_size)
    refuse_other_forms(outline, forms, path)


def refuse_other_pieces(folder: Path, loaded: LoadedModel, than: Path, first: LoadedModel, remedy: str) -> None:
    """Refuses a model whose tokenizers are not those of the first; `remedy` ends the message."""
    for side in ("src", "tgt"):
        if getattr(loaded.tokenizers, side).bytes != getattr(first.tokenizers, side).bytes:
            raise ConfigError(f"{folder} has another {side} tokenizer than {than}; {remedy}")


def load_model(folder: Path, trust: Sequence[str] = ()) -> LoadedModel:
    """The best model of a run folder, on the CPU, in evaluation mode."""
    config, tokenizers = read_run(folder, trust)
    path = folder / "model.safetensors"
    if not path.exists():
        raise CheckpointError(
            f"{folder} holds no model yet: model.safetensors appears after the first validation; "
            f"continue the run with nmt train resume={folder}"
        )
    refuse_unfitting(config, tokenizers, path)
    parameters, signature = read_signed(path)
    model = build_model(config, tokenizers.src.vocab_size, tokenizers.tgt.vocab_size)
    set_parameters(model, parameters, path)
    return LoadedModel(
        config, model.eval(), tokenizers, signature, read_letter_case(folder), read_usual_sentences(folder)
    )
