"""`nmt train`: a new run, a resumed one, or one that starts from another's weights."""

import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from nmt import checkpoint
from nmt.build import build_model
from nmt.config import DataConfig, SearchConfig, TokenizerConfig, TrainConfig
from nmt.errors import CheckpointError, ConfigError
from nmt.prepare import Prepared, TokenizerPair, prepare
from nmt.progress import Progress
from nmt.schema import overlay, read_section
from nmt.search import check_search
from nmt.seq2seq import Seq2Seq
from nmt.trainer import Trainer
from nmt.validation import Interrupted

MODEL_SECTIONS = ("model", "encoder", "decoder", "attention", "tokenizer")  # what weights and vocabularies depend on
INTERRUPTED = 130  # exit code of a run that was stopped and saved


def main(config: Mapping[str, Any], typed: Mapping[str, Any]) -> int:
    """Trains as configured; `typed` holds the values given on the command line, by dotted key."""
    logging.getLogger("datasets").setLevel(logging.ERROR)
    if config["resume"] is not None and config["init_from"] is not None:
        raise ConfigError("resume and init_from are both given; resume goes on with a run, init_from starts a new one")
    if config["resume"] is not None:
        return resume(Path(config["resume"]), typed)
    given = None
    if config["init_from"] is not None:
        stored, given = checkpoint.read_run(Path(config["init_from"]))
        base = {**config, **{section: stored[section] for section in MODEL_SECTIONS}}
        config = overlay(base, typed, MODEL_SECTIONS)
    run = Path(config["runs_dir"]) / config["name"]
    checkpoint.refuse_used(run)
    settings, search = read_settings(config)
    prepared = read_data(config, given)
    torch.manual_seed(config["seed"])
    model = new_model(config, prepared)
    trainer = Trainer(run, config, settings, search, prepared, model, Progress())
    if config["init_from"] is not None:
        best = Path(config["init_from"]) / "model.safetensors"
        checkpoint.set_weights(model, checkpoint.read_tensors(best), best)
    stored = {key: value for key, value in config.items() if key not in ("resume", "trust")}
    checkpoint.create_run(run, stored, prepared.tokenizers)
    return train(trainer, run)


def resume(run: Path, typed: Mapping[str, Any]) -> int:
    """Goes on with a run from its last checkpoint; only what is typed changes."""
    config, tokenizers = checkpoint.read_run(run)
    changes = {key: value for key, value in typed.items() if key not in ("resume", "name", "runs_dir", "trust")}
    config = overlay(config, changes, sorted({key.split(".")[0] for key in changes}))
    config["trust"] = list(typed.get("trust", []))
    settings, search = read_settings(config)
    prepared = read_data(config, tokenizers)
    model = new_model(config, prepared)
    last = checkpoint.last_resumable(run)
    if last is None:
        torch.manual_seed(config["seed"])
        return train(Trainer(run, config, settings, search, prepared, new_model(config, prepared), Progress()), run)
    folder = checkpoint.checkpoint_folder(run, last)
    progress = read_progress(folder, prepared)
    trainer = Trainer(run, config, settings, search, prepared, model, progress)
    trainer.restore(folder)
    return train(trainer, run)


def read_settings(config: Mapping[str, Any]) -> tuple[TrainConfig, SearchConfig]:
    """Checked settings, and the number of threads set."""
    settings = read_section(TrainConfig, config["train"], "train")
    search = read_section(SearchConfig, config["search"], "search")
    check_search(search)
    if settings.threads is not None:
        torch.set_num_threads(settings.threads)
    return settings, search


def read_data(config: Mapping[str, Any], given: TokenizerPair | None) -> Prepared:
    """The prepared corpus, with what was dropped said."""
    data = read_section(DataConfig, config["data"], "data")
    tokenizer = read_section(TokenizerConfig, config["tokenizer"], "tokenizer")
    prepared = prepare(data, tokenizer, Path(config["cache_dir"]).expanduser(), given)
    for line in prepared.report:
        print(line, file=sys.stderr)
    return prepared


def new_model(config: Mapping[str, Any], prepared: Prepared) -> Seq2Seq:
    """A random model for the prepared vocabularies."""
    pair = prepared.tokenizers
    model = build_model(config, pair.src.vocab_size, pair.tgt.vocab_size, config["trust"])
    print(f"model: {sum(p.numel() for p in model.parameters()):,} parameters", file=sys.stderr)
    return model


def read_progress(folder: Path, prepared: Prepared) -> Progress:
    """Where the checkpoint stands; refuses a corpus that is not the one it was made on."""
    import json

    try:
        record = json.loads(checkpoint.read_file(folder / "training.json"))
        same = record["data"] == prepared.fingerprint
        progress = Progress.from_json(record)
    except (ValueError, KeyError, TypeError):
        raise CheckpointError(f"{folder / 'training.json'} is damaged; delete {folder} to resume before it") from None
    if not same:
        raise CheckpointError(
            f"{folder} was trained on other data: the corpus or its settings have changed; "
            "restore the corpus, or start a new run with init_from="
        )
    for name, now in (("torch", torch.__version__), ("threads", torch.get_num_threads())):
        if record[name] != now:
            print(f"note: resumed with {name} {now}, was {record[name]}: results may differ in rounding", file=sys.stderr)
    return progress


def train(trainer: Trainer, run: Path) -> int:
    """Runs the trainer and says what to type next."""
    try:
        trainer.train()
    except Interrupted:
        print(f"stopped at update {trainer.progress.update}, saved; go on with: nmt train resume={run}", file=sys.stderr)
        return INTERRUPTED
    ranked = trainer.progress.ranked(trainer.settings.metric)
    if ranked:
        best = ranked[0]
        bleu = f"BLEU {best.bleu:.2f}, " if best.bleu is not None else ""
        print(f"best on dev: {bleu}loss {best.loss:.4f} at update {best.update}", file=sys.stderr)
    print(f"next: nmt evaluate model={run}    nmt interactive model={run}", file=sys.stderr)
    return 0
