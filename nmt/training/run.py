"""Starts a new run, from random weights or from those of another run, or resumes a run."""

import logging
import math
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any
from uuid import uuid4

import torch

from nmt.config.changes import NO_CHANGES, Changes
from nmt.config.identity import refuse_changes, refuse_other_tokenizer, with_places_of
from nmt.config.languages import shown_languages
from nmt.config.plain import leaves
from nmt.config.run import RunConfig
from nmt.config.verbs import TrainCommand
from nmt.data.letter_case import LetterCase
from nmt.data.prepare import Prepared, prepare
from nmt.data.sentences import usual_sentences
from nmt.data.tokenizer import TokenizerPair
from nmt.errors import CheckpointError, ConfigError, DataError, counted, printable
from nmt.machine.device import environment
from nmt.machine.home import expanded
from nmt.machine.peers import ALONE, Peers, begun_before, joined, note_begun
from nmt.machine.safe_files import refuse_unwritable
from nmt.machine.signals import SAVED, Interrupted
from nmt.model.build import build_model
from nmt.model.seq2seq import Seq2Seq
from nmt.runs import checkpoints
from nmt.runs.checkpoints import checkpoint_folder, refuse_other_tensors, to_resume
from nmt.runs.folder import (
    change_config,
    create_run,
    read_letter_case,
    read_run,
    refuse_damaged,
    refuse_used,
    seen_file,
)
from nmt.runs.learned import caution_of
from nmt.runs.lock import PLACE, hold_run
from nmt.runs.tensors import parameters_of, read_tensors, set_parameters, signed
from nmt.scoring.cautions import LOOKED_AT, of_language, of_words
from nmt.scoring.word_rules import say_lacking
from nmt.training.agreement import agreed
from nmt.training.budget import within_budget
from nmt.training.first_weights import config_from, random_model, refuse_other_model
from nmt.training.optim import optimiser_forms
from nmt.training.progress import Progress
from nmt.training.recipe import recipe_for
from nmt.training.trainer import Trainer, Watch
from nmt.training.untrainable import refuse_untrainable

Plan = Callable[[RunConfig, Prepared, Peers], tuple[RunConfig, float]]
BATCHES = ("train.batch_tokens", "train.accumulate")
LENGTHS = ("train.max_epochs", "train.max_updates")
ENOUGH_UPDATES = 500  # Multi30k has 21 BLEU after 626 small updates at a high rate: docs/recipe.md
OF_ONE_COMMAND = ("recipe", "budget", "resume", "resume_with", "trust")  # keys that a run does not store


def train_or_resume(command: TrainCommand, watch: Watch | None = None) -> int:
    """Trains as the command says, with the other processes that torchrun started; returns the exit code."""
    with joined(command.run.train.peer_timeout_s, command.run.train.device) as peers:
        if command.resume is not None:
            allowed = [command.resume_with] if isinstance(command.resume_with, str) else command.resume_with
            return resume(expanded(command.resume), command.changes, command.trust, allowed, watch, peers)
        folder = folder_of(command.run)
        if begun_before(folder):
            return resume(folder, NO_CHANGES, command.trust, (), watch, peers)
        if peers.first:
            refuse_used(folder)  # before the corpus is read
            refuse_unwritable(folder, PLACE)
        with peers.first_of_machine_before_others():
            data = command.run.data
            typed = command.changes.values
            if not any(key in ("data", "data.root", "experiment") or key.startswith("data.train.") for key in typed):
                own = "for your own files, type data.train.src=FILE data.train.tgt=FILE"
                print(f"no corpus is named, so this trains on the demo corpus of nmt; {own}", file=sys.stderr)
            print(shown_languages(data), file=sys.stderr)
            recipe = recipe_for(command)
            if recipe is not None and command.budget is None:
                recipe.say()
        config = command.run if recipe is None else recipe.filled()
        plan = None if command.budget is None else partial(within_budget, command, recipe)
        return start(config, command.changes, command.trust, watch, peers, plan)


def folder_of(config: RunConfig) -> Path:
    """The folder of the run."""
    return expanded(config.runs_dir) / config.name


def start(
    config: RunConfig,
    changes: Changes = NO_CHANGES,
    trust: Sequence[str] = (),
    watch: Watch | None = None,
    peers: Peers = ALONE,
    plan: Plan | None = None,
) -> int:
    """Trains a new run; returns the exit code.

    If the run starts from another run's weights, the `changes` to the model apply on top of that run's settings.
    `plan` makes the final configuration, which depends on the corpus and on what this machine can do. It also returns
    how many seconds a validation takes.
    """
    logging.getLogger("datasets").setLevel(logging.ERROR)
    config = agreed(config, trust, peers)
    folder = folder_of(config)
    if peers.first:
        refuse_used(folder)
    given = model = None
    known: list[Path] = []
    earlier: LetterCase | None = None
    if config.init_from is not None:
        before = expanded(config.init_from)
        config, given, model = start_from(before, config, changes, trust)
        known.append(seen_file(before))
        earlier = read_letter_case(before)
    refuse_untrainable(config)
    if peers.first:
        refuse_unwritable(folder, PLACE)
    prepared = read_data(config, given, peers)
    if earlier is not None and peers.first:
        say_unread(prepared, earlier)
    validation_s = 0.0
    if plan is not None:
        config, validation_s = plan(config, prepared, peers)
    if model is None:
        model = new_model(config, prepared.tokenizers)
    trainer = Trainer(folder, config, prepared, model, Progress(), watch, peers)
    trainer.reporter.validation_s = validation_s
    if peers.first and (few := few_updates(config, trainer.total, changes.values)) is not None:
        print(f"caution: {few}", file=sys.stderr)
    with hold_run(folder) if peers.first else nullcontext():
        if peers.first:
            refuse_used(folder)  # another job may have made it meanwhile; that is not to be resumed after a restart
            note_begun(folder)
            letter_case = prepared.letter_case if earlier is None else prepared.letter_case.after(earlier)
            sentences = usual_sentences(some_sources(prepared))
            create_run(folder, config, prepared.tokenizers, letter_case, sentences, [*known, prepared.seen])
        if given is not None:
            trainer.save()  # the weights to start from are part of the run
        return train(trainer, folder)


def some_sources(prepared: Prepared) -> list[str]:
    """A sample of training sources from all over the corpus."""
    step = 1 + len(prepared.train) // LOOKED_AT
    return list(prepared.train.select(range(0, len(prepared.train), step))["src"])


def start_from(
    folder: Path, config: RunConfig, changes: Changes, trust: Sequence[str]
) -> tuple[RunConfig, TokenizerPair, Seq2Seq]:
    """Configuration, tokenizers and model of a run that starts from the weights of the run in `folder`."""
    changed, stored, tokenizers = config_from(folder, config, changes, trust)
    return changed, tokenizers, given_model(folder / "model.safetensors", stored, changed, tokenizers)


def resume(
    run: Path,
    typed: Changes = NO_CHANGES,
    trust: Sequence[str] = (),
    allowed: Sequence[str] = (),
    watch: Watch | None = None,
    peers: Peers = ALONE,
) -> int:
    """Resumes a run from its last checkpoint, with its stored configuration and the changes that are allowed."""
    logging.getLogger("datasets").setLevel(logging.ERROR)
    stored, tokenizers = read_run(run, trust)
    for key in ("name", "runs_dir"):
        if key in typed.values:
            raise ConfigError(
                f"{key}={typed.values[key]} is for a new run, and resume={run} continues in its folder; leave {key} out"
            )
    config = typed.but(OF_ONE_COMMAND).over(stored, trust)
    refuse_other_tokenizer(stored, config, f"resume={run}")
    refuse_changes(run, stored, config, allowed)
    refuse_untrainable(config)
    config = agreed(config, trust, peers)
    with hold_run(run) if peers.first else nullcontext():
        if peers.first:
            refuse_unwritable(run, PLACE)
        refuse_damaged(run)
        last = to_resume(run)
        if last is None and config.init_from is not None:
            raise CheckpointError(f"{run} lacks the weights that it started from; delete it, and start again")
        folder = checkpoint_folder(run, last or 0)
        if last is None:
            model = new_model(config, tokenizers)
        else:
            model = given_model(folder / "weights.safetensors", stored, config, tokenizers)
        prepared = read_data(config, tokenizers, peers)
        record = None if last is None else checked_record(folder, prepared)
        progress = Progress() if record is None else Progress.from_json(record, folder)
        if last is not None:
            begun = len(progress.skipped) < progress.update
            refuse_other_tensors(run, model, last, optimiser_forms(config.optimizer, model), begun)
        trainer = Trainer(run, config, prepared, model, progress, watch, peers)
        if record is not None:
            trainer.restore(folder, record)
            print(f"goes on from update {progress.update:,}", file=sys.stderr)
            note_differences(record["made_by"], environment(trainer.device, trainer.dtype))
        lasting = with_places_of(stored, config, trust)
        if lasting != stored and peers.first:
            change_config(run, lasting)
        return train(trainer, run)


def given_model(path: Path, stored: RunConfig, config: RunConfig, tokenizers: TokenizerPair) -> Seq2Seq:
    """A model with the weights of a run; refuses a `config` whose model does not fit them."""
    refuse_other_model(path, stored, config, tokenizers)
    tensors = read_tensors(path)
    model = build_model(config, tokenizers.src.vocab_size, tokenizers.tgt.vocab_size)
    set_parameters(model, tensors, path)
    say_size(model)
    return model


def say_size(model: Seq2Seq) -> None:
    """Prints the number of parameters on the console."""
    print(f"model: {sum(p.numel() for p in model.parameters()):,} parameters", file=sys.stderr)


def read_data(config: RunConfig, given: TokenizerPair | None, peers: Peers = ALONE) -> Prepared:
    """The prepared corpus; prints what was dropped, and refuses a corpus that differs between machines."""
    with peers.first_of_machine_before_others():
        prepared = prepare(config.data, config.tokenizer, expanded(config.cache_dir), given)
    if len(set(peers.gathered(prepared.fingerprint))) > 1:
        raise DataError(
            f"the corpus is not the same on all machines, data.root={config.data.root}; copy it from one to the others"
        )
    for line in prepared.report:
        print(line, file=sys.stderr)
    if config.train.bleu_sentences != 0:
        say_lacking(config.data)
    return prepared


def say_unread(prepared: Prepared, words: LetterCase) -> None:
    """Prints a caution if a model that is trained further hardly knows its new corpus; `words`: of its old sources."""
    first = prepared.train.select(range(min(LOOKED_AT, len(prepared.train))))
    source, target = "the training source", "the training target"
    for line in chain(
        of_language(prepared.tokenizers.src, source, first["src"]),
        of_language(prepared.tokenizers.tgt, target, first["tgt"]),
        of_words(words, source, first["src"]),
    ):
        print(f"caution: {line}", file=sys.stderr)


def few_updates(config: RunConfig, updates: int | None, typed: Collection[str]) -> str | None:
    """A caution if batches that the user typed leave few updates in the epochs of the run; else None."""
    large = [f"{key}={value}" for key, value in leaves(config.plain()).items() if key in BATCHES and key in typed]
    epochs = config.train.max_epochs
    if not large or epochs is None or updates is None or any(key in typed for key in LENGTHS):
        return None
    if updates >= ENOUGH_UPDATES:
        return None
    return (
        f"with {' '.join(large)}, {counted(epochs, 'epoch')} have {counted(updates, 'update')} only, and a model needs "
        f"about {ENOUGH_UPDATES}; type less, or train.max_epochs={math.ceil(epochs * ENOUGH_UPDATES / updates)}"
    )


def new_model(config: RunConfig, tokenizers: TokenizerPair) -> Seq2Seq:
    """The untrained model of a new run."""
    model = random_model(config, tokenizers)
    say_size(model)
    return model


def checked_record(folder: Path, prepared: Prepared) -> dict[str, Any]:
    """The record of a checkpoint; refuses a corpus other than the one that the checkpoint was trained on."""
    record = checkpoints.read_record(folder)
    Progress.from_json(record, folder)  # refuses a record that nmt did not write
    if record["data"] != prepared.fingerprint:
        raise CheckpointError(
            f"{folder} was trained on other data: the corpus or its settings have changed; "
            "restore the corpus, or start a new run with init_from="
        )
    return record


def note_differences(then: Mapping[str, str | int], now: Mapping[str, str | int]) -> None:
    """Prints how the environment differs from the one in which the run was saved."""
    for name in {**then, **now}:
        was, is_now = then.get(name, "unknown"), now.get(name, "unknown")
        if was != is_now:
            what = printable(f"{name} {is_now}, was {was}")
            print(f"note: resumed with {what}: results may differ in rounding", file=sys.stderr)


def refuse_other_states(peers: Peers, update: int, model: Seq2Seq, dtype: torch.dtype, device: torch.device) -> None:
    """Refuses processes that do not begin with the same weights, or that compute in another way."""
    if peers.count == 1:
        return
    copied = "copy the run (and that of init_from) from the machine of process 0 to the others"
    remedies = {
        "the run's update": copied,
        "the checksum of the weights": copied,
        "the dtype of products": "set train.precision",
        "the device": "set train.device",
    }
    checksum, products = signed(parameters_of(model)).checksum, str(dtype).removeprefix("torch.")
    first, *others = peers.gathered([update, checksum, products, device.type])
    for rank, other in enumerate(others, 1):
        for (what, remedy), own, its in zip(remedies.items(), first, other, strict=True):
            if own != its:
                raise ConfigError(f"{what} is {own} in process 0 and {its} in process {rank}; {remedy}")


def refuse_unshared(peers: Peers, run: Path) -> None:
    """Refuses processes that do not see what the first one writes into the run's folder."""
    if peers.count == 1:
        return
    mark = run / f".seen-{peers.gathered(uuid4().hex)[0]}"
    if peers.first:
        mark.touch()
    peers.meet()
    blind = [rank for rank, sees in enumerate(peers.gathered(mark.exists())) if not sees]
    if peers.first:
        mark.unlink(missing_ok=True)
    if blind:
        raise ConfigError(
            f"process {blind[0]} does not see what process 0 writes to {run}; give a runs_dir that all machines share"
        )


def train(trainer: Trainer, run: Path) -> int:
    """Runs the trainer and prints what to type next; returns the exit code."""
    refuse_unshared(trainer.peers, run)
    refuse_other_states(trainer.peers, trainer.progress.update, trainer.model, trainer.dtype, trainer.device)
    counting = None if trainer.validator is None else trainer.validator.counting()
    if counting is not None and trainer.peers.first:
        print(counting, file=sys.stderr)
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
    if (caution := caution_of(run)) is not None:
        print(f"caution: {caution}", file=sys.stderr)
    files = "" if len(trainer.prepared.test) else " src=FILE ref=FILE"
    print(f"next: nmt evaluate model={run}{files}    nmt interactive model={run}", file=sys.stderr)
    return 0
