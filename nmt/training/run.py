"""`nmt train`: a new run, a resumed one, or one that starts from another's weights."""

import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from nmt.config.check import read_section
from nmt.config.identity import ANYWHERE, NOT_STORED, refuse_changes
from nmt.config.limits import check_search, check_seed, check_settings
from nmt.config.plain import leaves, overlay
from nmt.config.sections import MODEL_SECTIONS, DataConfig, SearchConfig, TokenizerConfig, TrainConfig
from nmt.data.prepare import Prepared, prepare
from nmt.data.tokenizer import TokenizerPair
from nmt.errors import CheckpointError, ConfigError, printable
from nmt.machine.device import environment
from nmt.machine.signals import SAVED, Interrupted
from nmt.model.build import build_model
from nmt.model.seq2seq import Seq2Seq
from nmt.runs import checkpoints
from nmt.runs.checkpoints import checkpoint_folder, refuse_other_tensors, to_resume
from nmt.runs.folder import change_config, create_run, read_run, refuse_unfitting, refuse_used, seen_file
from nmt.runs.lock import hold_run, refuse_unwritable
from nmt.runs.tensors import read_tensors, set_weights
from nmt.scoring.metrics import bleu_tokenizer, counted_words
from nmt.training.parts import check_parts, optimiser_forms
from nmt.training.progress import Progress
from nmt.training.trainer import Trainer, Watch


def main(config: Mapping[str, Any], typed: Mapping[str, Any], watch: Watch | None = None) -> int:
    """Trains as configured; `typed` holds the values given on the command line, by dotted key."""
    logging.getLogger("datasets").setLevel(logging.ERROR)
    if config["resume"] is not None and config["init_from"] is not None:
        raise ConfigError("resume and init_from are both given; resume goes on with a run, init_from starts a new one")
    if config["resume"] is None and config["resume_with"]:
        raise ConfigError(f"resume_with={config['resume_with']} is for a run that goes on; name it: resume=runs/NAME")
    if config["resume"] is not None:
        return resume(Path(config["resume"]), typed, watch)
    run = Path(config["runs_dir"]) / config["name"]
    refuse_used(run)
    given = model = None
    known: list[Path] = []
    if config["init_from"] is not None:
        before = Path(config["init_from"])
        config, given, model = start_from(before, config, typed)
        known.append(seen_file(before))
    settings, search = read_settings(config)
    refuse_unwritable(run)
    prepared = read_data(config, given)
    if model is None:
        model = new_model(config, prepared.tokenizers)
    trainer = Trainer(run, config, settings, search, prepared, model, Progress(), watch)
    stored = {key: value for key, value in config.items() if key not in NOT_STORED}
    with hold_run(run):
        create_run(run, stored, prepared.tokenizers, [*known, prepared.seen])
        if given is not None:
            trainer.save()  # the weights to start from are part of the run
        return train(trainer, run)


def start_from(
    folder: Path, config: Mapping[str, Any], typed: Mapping[str, Any]
) -> tuple[dict[str, Any], TokenizerPair, Seq2Seq]:
    """Configuration, tokenizers and model of a run that begins with another's weights."""
    stored, tokenizers = read_run(folder)
    base = {**config, **{section: stored[section] for section in MODEL_SECTIONS}}
    changed = overlay(base, typed, MODEL_SECTIONS)
    refuse_other_tokenizer(stored, changed, f"init_from={folder}")
    return changed, tokenizers, given_model(folder / "model.safetensors", stored, changed, tokenizers)


def resume(run: Path, typed: Mapping[str, Any], watch: Watch | None = None) -> int:
    """Goes on with a run from its last checkpoint, with its stored configuration and the changes that are allowed."""
    stored, tokenizers = read_run(run)
    for key in ("name", "runs_dir"):
        if key in typed:
            raise ConfigError(
                f"{key}={typed[key]} is for a new run, resume={run} goes on with that folder; leave {key} out"
            )
    changes = {key: value for key, value in typed.items() if key not in NOT_STORED}
    config = overlay(stored, changes, sorted({key.split(".")[0] for key in changes}))
    refuse_other_tokenizer(stored, config, f"resume={run}")
    allowed = typed.get("resume_with", [])
    refuse_changes(run, stored, config, [allowed] if isinstance(allowed, str) else allowed)
    lasting = overlay(config, {key: value for key, value in leaves(stored).items() if key in ANYWHERE}, list(config))
    config["trust"] = list(typed["trust"]) if "trust" in typed else []
    settings, search = read_settings(config)
    with hold_run(run):
        refuse_unwritable(run)
        seen_file(run)  # damaged, it would go on unnoticed
        last = to_resume(run)
        if last is None and config["init_from"] is not None:
            raise CheckpointError(f"{run} lacks the weights it started from; delete it and start again")
        folder = checkpoint_folder(run, last or 0)
        if last is None:
            model = new_model(config, tokenizers)
        else:
            model = given_model(folder / "weights.safetensors", stored, config, tokenizers)
        prepared = read_data(config, tokenizers)
        record = None if last is None else read_record(folder, prepared)
        progress = Progress() if record is None else Progress.from_json(record, folder)
        if last is not None:
            begun = len(progress.skipped) < progress.update
            forms = optimiser_forms(config["optimizer"], config["trust"], model) if begun else {}
            refuse_other_tensors(run, model, last, forms)
        trainer = Trainer(run, config, settings, search, prepared, model, progress, watch)
        if record is not None:
            trainer.restore(folder, record)
            print(f"goes on from update {progress.update:,}", file=sys.stderr)
            note_differences(record["made_by"], environment(trainer.device, trainer.dtype))
        if lasting != stored:
            change_config(run, lasting)
        return train(trainer, run)


def refuse_other_tokenizer(stored: Mapping[str, Any], config: Mapping[str, Any], where: str) -> None:
    """Weights belong to their vocabularies; only the sampling of segmentations may change."""
    for key, value in config["tokenizer"].items():
        if key != "sampling_alpha" and value != stored["tokenizer"][key]:
            raise ConfigError(
                f"tokenizer.{key} is {value}, {where} has {stored['tokenizer'][key]} and keeps its tokenizer; "
                "leave it out, or train a new model"
            )


def given_model(path: Path, stored: Mapping[str, Any], config: Mapping[str, Any], tokenizers: TokenizerPair) -> Seq2Seq:
    """A model with weights of a run, whose configuration may have been changed since."""
    try:
        refuse_unfitting(config, tokenizers, path, config["trust"])
    except CheckpointError:
        changes = [
            f"{section}.{key}={value}"
            for section in MODEL_SECTIONS
            for key, value in config[section].items()
            if key not in stored[section] or stored[section][key] != value
        ]
        if not changes:
            raise
        raise ConfigError(
            f"{path} has weights of other names or sizes than a model with {', '.join(changes)}; "
            "leave that out, or train a new model"
        ) from None
    tensors = read_tensors(path)
    model = build_model(config, tokenizers.src.vocab_size, tokenizers.tgt.vocab_size, config["trust"])
    set_weights(model, tensors, path)
    say_size(model)
    return model


def say_size(model: Seq2Seq) -> None:
    """On the console."""
    print(f"model: {sum(p.numel() for p in model.parameters()):,} parameters", file=sys.stderr)


def read_settings(config: Mapping[str, Any]) -> tuple[TrainConfig, SearchConfig]:
    """Settings, with every section of the configuration checked; sets the number of threads."""
    check_seed(config["seed"])
    settings = read_section(TrainConfig, config["train"], "train")
    check_settings(settings)
    search = read_section(SearchConfig, config["search"], "search")
    check_search(search)
    check_parts(config, config["trust"])
    if settings.threads is not None:
        torch.set_num_threads(settings.threads)
    if settings.bleu_sentences != 0:
        bleu_tokenizer(counted_words(config["data"]))  # a missing package is said before the work
    return settings, search


def read_data(config: Mapping[str, Any], given: TokenizerPair | None) -> Prepared:
    """The prepared corpus, with what was dropped said."""
    data = read_section(DataConfig, config["data"], "data")
    tokenizer = read_section(TokenizerConfig, config["tokenizer"], "tokenizer")
    prepared = prepare(data, tokenizer, Path(config["cache_dir"]).expanduser(), given)
    for line in prepared.report:
        print(line, file=sys.stderr)
    return prepared


def new_model(config: Mapping[str, Any], tokenizers: TokenizerPair) -> Seq2Seq:
    """A random model, decided by the seed, for these vocabularies."""
    torch.manual_seed(config["seed"])
    model = build_model(config, tokenizers.src.vocab_size, tokenizers.tgt.vocab_size, config["trust"])
    if (bound := config["train"]["init_range"]) is not None:
        draw_weights(model, bound)
    say_size(model)
    return model


@torch.no_grad()
def draw_weights(model: Seq2Seq, bound: float) -> None:
    """Every matrix uniformly from ± `bound` (Luong et al. 2015, §4.1); vectors, as biases are, stay as they are."""
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.uniform_(-bound, bound)


def read_record(folder: Path, prepared: Prepared) -> dict[str, Any]:
    """What the checkpoint has on record; refuses a corpus that is not the one it was made on."""
    record = checkpoints.read_record(folder)
    Progress.from_json(record, folder)  # refuses what nmt did not write
    if record["data"] != prepared.fingerprint:
        raise CheckpointError(
            f"{folder} was trained on other data: the corpus or its settings have changed; "
            "restore the corpus, or start a new run with init_from="
        )
    return record


def note_differences(then: Mapping[str, str | int], now: Mapping[str, str | int]) -> None:
    """Says what is not as it was when the run was saved."""
    for name in {**then, **now}:
        was, is_now = then.get(name, "unknown"), now.get(name, "unknown")
        if was != is_now:
            what = printable(f"{name} {is_now}, was {was}")
            print(f"note: resumed with {what}: results may differ in rounding", file=sys.stderr)


def train(trainer: Trainer, run: Path) -> int:
    """Runs the trainer and says what to type next."""
    try:
        trainer.train()
    except Interrupted:
        stopped = f"stopped at update {trainer.progress.update}, saved"
        print(f"{stopped}; go on with: nmt train resume={run}", file=sys.stderr)
        return SAVED
    ranked = trainer.progress.ranked(trainer.settings.metric)
    if ranked:
        best = ranked[0]
        bleu = f"BLEU {best.bleu:.2f}, " if best.bleu is not None else ""
        print(f"best on dev: {bleu}loss {best.loss:.4f} at update {best.update}", file=sys.stderr)
    print(f"next: nmt evaluate model={run}    nmt interactive model={run}", file=sys.stderr)
    return 0
