"""The training loop: updates, validation, early stopping, checkpoints, resuming."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nmt.config.run import RunConfig
from nmt.data.prepare import Prepared
from nmt.data.train_hashes import different_pairs
from nmt.errors import CheckpointError, NmtError, counted, place_of, remedy
from nmt.machine.allocator import keep_few_kernels, keep_freed_memory
from nmt.machine.device import choose_device, choose_dtype, environment
from nmt.machine.peers import ALONE, Peers
from nmt.machine.seeds import dropout_seed
from nmt.machine.signals import Interrupted, StopRequest
from nmt.model.seq2seq import Seq2Seq
from nmt.runs.checkpoints import average, last_good, prune, read_checkpoint_part, save_checkpoint, saved_updates
from nmt.runs.learned import FEW_UPDATES, LEARNED_FILE, LEAST_BLEU, Learned, write_learned
from nmt.runs.tensors import Signed, parameters_of, set_parameters, signed, write_signed
from nmt.scoring.word_rules import word_rule_of
from nmt.training import failures
from nmt.training.batches import RowNumbers, TrainingData
from nmt.training.failures import HOPELESS_UPDATES, halved, hopeless, is_sound, no_room, quiet_writers
from nmt.training.judgement import length_correlation, nll_of_frequencies, spelled_share, unknown_share
from nmt.training.optim import Optimiser, Schedule, set_state, state_of
from nmt.training.progress import Progress, Validation
from nmt.training.report import NoReport, Reporter
from nmt.training.step import NoRoom, Step, Stepper
from nmt.training.untrainable import refuse_without_dev
from nmt.training.validation import DevScores, Validator, forced_attention

Watch = Callable[[Progress], None]  # called at the start and after every validation; its exceptions end the run


class Trainer:
    """Trains `model` on prepared data inside a run folder, from `progress` on."""

    def __init__(
        self,
        run: Path,
        config: RunConfig,
        prepared: Prepared,
        model: Seq2Seq,
        progress: Progress,
        watch: Watch | None = None,
        peers: Peers = ALONE,
    ) -> None:
        self.run = run
        self.peers = peers
        self.watch = watch
        self.settings = settings = config.train
        self.given = config.init_from  # the run whose weights the first update starts from
        self.prepared = prepared
        self.seed = config.seed
        self.device = choose_device(settings.device)
        self.dtype = choose_dtype(settings.precision, self.device)
        self.model = model.to(self.device).train()
        keep_freed_memory()  # only now: memory for preparing the corpus has gone back to the system
        keep_few_kernels()
        self.progress = progress
        alpha = config.tokenizer.sampling_alpha
        self.data = TrainingData(
            prepared, settings.batch_tokens, settings.accumulate, settings.parts, self.seed, alpha,
            settings.lowercase_share,
        )  # fmt: skip
        self.total = self.last_update()
        self.schedule: Schedule = config.schedule(self.total)
        self.optimiser: Optimiser = config.optimizer(list(model.parameters()))
        self.stop = StopRequest()
        self.step = Stepper(self.model, self.optimiser, settings, self.device, self.dtype, peers)
        self.validator: Validator | None = None
        if len(prepared.dev):
            self.validator = Validator(
                prepared.dev, prepared.tokenizers, config.search, settings.bleu_sentences, settings.label_smoothing,
                settings.batch_tokens, word_rule_of(config.data, list(prepared.dev["tgt"])), self.stop.check,
                self.step.workers, peers,
            )  # fmt: skip
        else:
            refuse_without_dev(config, self.schedule)
        self.rows: list[RowNumbers] = []  # rows of the last update's parts
        self.unread: list[tuple[int, list[RowNumbers], Step]] = []  # for `look_back`
        self.reporter = (Reporter if peers.first else NoReport)(
            run, self.total, progress, settings.log_every,
            validate_every=settings.validate_every or self.data.updates_in_first_epoch,
        )  # fmt: skip

    def last_update(self) -> int | None:
        """The number of the run's last update, as far as it is known before the run starts."""
        ends = [self.settings.max_updates] if self.settings.max_updates is not None else []
        if self.settings.max_epochs is not None:
            ends.append(self.settings.max_epochs * self.data.updates_in_first_epoch)
        return min(ends, default=None)

    def train(self) -> None:
        """Trains to the end. Ctrl-C lets the step finish; then the run is saved, and `Interrupted` is raised."""
        try:
            with self.stop, quiet_writers():
                try:
                    self.loop()
                except Interrupted:
                    self.save()
                    raise
                finally:
                    self.reporter.close()
        except BrokenPipeError:  # the program that reads stderr has ended
            raise
        except OSError as error:
            where = place_of(error) or self.run
            good = last_good(self.run, remedy(error))
            raise CheckpointError(f"cannot write {where} ({error.strerror or error}); {good}") from None

    def loop(self) -> None:
        """Alternates updates and validations until the end, then chooses the run's model."""
        if self.validator is None:
            self.reporter.note("no dev sentences: no validation scores, the last weights become the model")
        self.tell()
        while True:
            if self.validation_is_due():
                self.validate()
                self.tell()
            if self.is_at_end():
                break
            self.check_stop()
            self.update()
        self.finish()
        self.progress.finished = True
        self.save()

    def check_stop(self) -> None:
        """Raises `Interrupted` in every process once the user has asked one of them to stop."""
        [asked] = self.peers.total(self.stop.made)
        if asked:
            raise Interrupted

    def tell(self) -> None:
        """Tells the observer how far the run is."""
        if self.watch is not None:
            self.watch(self.progress)

    def is_at_end(self) -> bool:
        """Is there no update left to do?"""
        return self.progress.is_at_end(self.settings, self.schedule.warmup)

    def validation_is_due(self) -> bool:
        """Is a validation due: every `validate_every` updates or each epoch, and at the end, but once per update?

        Weights that another run has trained are validated first, and stay the model if nothing later is better.
        """
        p, every = self.progress, self.settings.validate_every
        if p.validations and p.validations[-1].update == p.update:
            return False
        if p.update == 0:
            return self.given is not None and self.validator is not None
        return self.is_at_end() or (p.batch == 0 if every is None else p.update % every == 0)

    def update(self) -> None:
        """Takes one optimiser step over `accumulate` batches, as if they were one large batch."""
        number = self.progress.update + 1
        rows = self.data.advance(self.progress)
        own = self.peers.block(len(rows))
        mine = [rows[part] for part in own]
        parts = dict(zip(own, zip(mine, self.data.load(mine, number, own.start), strict=True), strict=True))
        rate = self.optimiser.defaults["lr"] * self.schedule(number, [v.loss for v in self.progress.validations])
        try:
            step = self.step(parts, len(rows), rate, partial(dropout_seed, self.seed, number))
        except NoRoom as error:
            raise no_room(error, number, self.data) from None
        self.progress.update, self.progress.finished, self.rows = number, False, rows
        self.progress.tokens += step.tokens
        self.unread.append((number, rows, step))
        means = step.loss, step.nll, step.tokens
        self.reporter.update(number, self.progress.epoch, *means, rate, step.norm, self.data.waited_s, step.fine)
        if number % self.settings.log_every == 0 or self.device.type == "cpu":  # on a CPU, there is nothing to wait for
            self.look_back()
        if number % self.settings.log_every == 0:
            self.refuse_spoiled(number, rows)

    def look_back(self) -> None:
        """Checks the updates since the last check: counts halved and skipped updates, or stops the run at a fault."""
        unread, self.unread = self.unread, []
        fine = torch.stack([step.fine for _, _, step in unread]).tolist() if unread else []
        for (update, rows, step), is_fine in zip(unread, fine, strict=True):
            if step.halved:
                self.progress.halved.append(update)
                self.reporter.event(update, "halved", halved(update, step.halved))
            if is_fine:
                continue
            self.refuse_spoiled(update, rows)  # spoiled weights make the loss NaN, too
            what = f"loss is {step.loss.item():.4g} and gradient norm {step.norm.item():.4g} at update {update}"
            if self.settings.on_nonfinite == "stop":
                raise self.diverged(what, rows, skipping_helps=True)
            self.progress.skipped.append(update)
            self.reporter.event(update, "skipped", f"{what}: skipped, {len(self.progress.skipped)} so far")
            if hopeless(self.progress.skipped):
                raise self.diverged(f"{HOPELESS_UPDATES} updates in a row skipped; {what}", rows, False)

    def refuse_spoiled(self, update: int, rows: list[RowNumbers]) -> None:
        """Ends a run whose weights are not finite, or stay the same for ever because Adam's state is not finite."""
        if not is_sound(self.model, self.optimiser):
            raise self.diverged(f"weights or the optimiser's state are not finite at update {update}", rows, False)

    def diverged(self, what: str, rows: list[RowNumbers], skipping_helps: bool) -> NmtError:
        """The error that ends a run that cannot go on."""
        return failures.diverged(what, self.run, self.data.sentences(rows), skipping_helps)

    def validate(self) -> None:
        """Scores the model on dev, reports, and saves a checkpoint. The best weights so far become the run's model."""
        self.look_back()
        p, s = self.progress, self.settings
        if self.validator is None:
            parameters = signed(parameters_of(self.model))
            self.save(parameters)
            self.prune([])
            self.publish(parameters)
            return
        scores, translations = self.validator.scores(self.model, self.device, self.dtype)
        if not math.isfinite(scores.loss):
            raise NmtError(
                f"dev loss is {scores.loss:.4g} after update {p.update}; "
                + last_good(self.run, "lower optimizer.lr or set train.precision=fp32")
            )
        parameters = signed(parameters_of(self.model))
        p.validations.append(replace(self.validation(scores), checksum=parameters.checksum))
        best = (ranked := p.ranked(s.metric))[0].update == p.update
        self.reporter.validation(p.update, p.epoch, scores.values(), best)
        self.show_examples(translations)
        self.save(parameters)
        self.prune([v.update for v in ranked[: s.keep_best]])
        if best:
            self.publish(parameters, p.validations[-1])
        self.doubt(self.validator)

    def validation(self, scores: DevScores) -> Validation:
        """A record of these scores at the current update."""
        p, least = self.progress, LEAST_BLEU if self.validator is None else self.validator.least_bleu
        return Validation(p.update, p.epoch, scores.loss, scores.nll, scores.bleu, least_bleu=least)

    def publish(self, parameters: Signed, validation: Validation | None = None) -> None:
        """Makes these weights, which a validation may have scored, the run's model."""
        if self.peers.first:
            (self.run / LEARNED_FILE).unlink(missing_ok=True)  # it judges the previous model
            write_signed(self.run / "model.safetensors", parameters)
            if validation is not None:
                write_learned(self.run, self.learned(validation))

    def learned(self, scores: Validation) -> Learned:
        """What a model with these dev scores has learned, as far as that is known while it is trained."""
        return replace(
            self.not_measured(),
            bleu=scores.bleu,
            nll=scores.nll,
            last_nll=self.progress.validations[-1].nll,
            unknown=self.unknown,
            finished=False,
            least_bleu=scores.least_bleu,
            spelled=self.spelled,
        )

    def not_measured(self) -> Learned:
        """What is known of a model without dev scores."""
        return Learned(
            bleu=None,
            nll=None,
            nll_of_others=None,
            nll_of_frequencies=None,
            last_nll=None,
            updates=self.progress.update - len(self.progress.skipped),
            warmup=self.schedule.warmup,
            pairs=self.different_pairs,
            length_correlation=None,
            unknown=0.0,
            epochs=self.progress.epoch,
        )

    @cached_property
    def different_pairs(self) -> int:
        """Number of training pairs, copies not counted."""
        return different_pairs(self.prepared.seen)

    @cached_property
    def unknown(self) -> float:
        """Share of the dev targets' tokens that are not in the vocabulary."""
        return unknown_share(list(self.prepared.dev["tgt_ids"]))

    @cached_property
    def spelled(self) -> float:
        """Share of the dev targets' tokens that are single bytes, or not in the vocabulary."""
        return spelled_share(self.prepared.tokenizers.tgt, list(self.prepared.dev["tgt_ids"]))

    def doubt(self, validator: Validator) -> None:
        """Says once, early in the run, if the sources tell the model nothing about their translations."""
        begun = max(2 * self.schedule.warmup, FEW_UPDATES)
        first = next((v for v in self.progress.validations if v.update >= begun), None)
        if first is None or first.update != self.progress.update:
            return
        others = validator.nll_of_others(self.model, self.device, self.dtype)
        learned = replace(self.learned(first), nll_of_others=others)
        if learned.ignores_sources() and (caution := learned.caution()) is not None:
            self.reporter.note(f"caution: {caution}")

    def prune(self, kept: Sequence[int]) -> None:
        """Deletes all checkpoints except those of the updates `kept` and the last one."""
        if self.peers.first:
            prune(self.run, kept)

    def show_examples(self, translations: list[str]) -> None:
        """Reports translations of fixed dev sentences, and the attention over their reference translations."""
        from nmt.figures.attention import attention_figure

        shown = self.prepared.dev[: min(self.settings.examples, len(self.prepared.dev))]
        if translations:
            hypotheses = translations[: len(shown["src"])]
            triples = list(zip(shown["src"], shown["tgt"], hypotheses, strict=False))
            self.reporter.examples(self.progress.update, triples)
        pair = self.prepared.tokenizers
        for i, (src, tgt) in enumerate(zip(shown["src_ids"], shown["tgt_ids"], strict=True)):
            weights = forced_attention(self.model, src, tgt, self.device)
            if weights is not None:
                src_pieces, tgt_pieces = [*pair.src.pieces(src), "</s>"], [*pair.tgt.pieces(tgt), "</s>"]
                figure = attention_figure(weights.numpy(), src_pieces, tgt_pieces)
                self.reporter.attention(self.progress.update, i, figure)

    def save(self, parameters: Signed | None = None) -> None:
        """Saves a checkpoint of this update, from which the run can be resumed, after all reports are on disk.

        `parameters`: the model's parameters, if they are signed already.
        """
        self.look_back()
        self.refuse_spoiled(self.progress.update, self.rows)
        if not self.peers.first:
            return
        self.reporter.flush()
        self.progress.sums = self.reporter.sums()
        made_by = environment(self.device, self.dtype)
        record = self.progress.to_json() | {"data": self.prepared.fingerprint, "made_by": made_by}
        parameters = parameters or signed(parameters_of(self.model))
        optimiser = signed(state_of(self.optimiser, self.model))
        save_checkpoint(self.run, self.progress.update, parameters, optimiser, record)

    def restore(self, folder: Path, record: Mapping[str, Any]) -> None:
        """Loads the weights and optimiser state of a checkpoint; the constructor has already taken its progress."""
        parameters = read_checkpoint_part(folder / "weights.safetensors", record.get("weights"))
        set_parameters(self.model, parameters, folder)
        path = folder / "training.safetensors"
        set_state(self.optimiser, self.model, read_checkpoint_part(path, record.get("optimiser")), path)
        best = self.progress.ranked(self.settings.metric)[:1]
        if best and best == self.kept()[:1] and not self.progress.finished:
            self.publish(signed(self.average(best)), best[0])  # a crash may have cut its writing short

    def kept(self) -> list[Validation]:
        """The `keep_best` best validations, the best first, as far as their checkpoints are there."""
        there = saved_updates(self.run)
        return [v for v in self.progress.ranked(self.settings.metric)[: self.settings.keep_best] if v.update in there]

    def average(self, validations: Sequence[Validation]) -> dict[str, Tensor]:
        """Mean of the weights in the checkpoints of these validations."""
        return average(self.run, {v.update: v.checksum for v in validations})

    def finish(self) -> None:
        """Publishes the model of the best validation, or the average of the kept checkpoints if it is better on dev."""
        self.peers.meet()  # all files of the first process are there
        s, kept = self.settings, self.kept()
        self.peers.meet()  # all processes have seen them
        self.prune([v.update for v in kept])  # a crash may have cut the last pruning short
        wanted = min(s.keep_best, len(self.progress.validations))
        if len(kept) < wanted:
            self.reporter.note(f"missing: {wanted - len(kept)} of the {counted(wanted, 'best checkpoint')}")
        if self.validator is None:
            self.publish(signed(parameters_of(self.model)))
            if self.peers.first and self.given is None:
                write_learned(self.run, self.not_measured())
        elif kept:
            chosen, weights = kept[0], self.average(kept[:1])
            if s.average_best and len(kept) > 1:
                average = self.average(kept)
                of_average = self.better_average(average, self.validator, kept)
                if of_average is not None:
                    chosen, weights = of_average, average
            self.publish(signed(weights))
            self.judge(weights, chosen, self.validator)
            if chosen.update == 0:
                self.reporter.note(
                    f"caution: no update made the model better on dev than that of {self.given}, so its weights stay "
                    "the model; train on more pairs, or with a lower optimizer.lr"
                )

    @contextmanager
    def weights_for_now(self, weights: Mapping[str, Tensor]) -> Iterator[None]:
        """Inside the block, the model has these weights."""
        own = {name: tensor.clone() for name, tensor in parameters_of(self.model).items()}
        set_parameters(self.model, weights, self.run)
        try:
            yield
        finally:
            set_parameters(self.model, own, self.run)

    def judge(self, weights: Mapping[str, Tensor], scores: Validation, validator: Validator) -> None:
        """Measures and records what the run's model has learned."""
        with self.weights_for_now(weights):
            nll_of_others = validator.nll_of_others(self.model, self.device, self.dtype)
        if not self.peers.first:
            return
        dev_ids = list(self.prepared.dev["tgt_ids"])
        learned = replace(
            self.learned(scores),
            nll_of_others=nll_of_others,
            nll_of_frequencies=nll_of_frequencies(self.data.tgt, self.prepared.tokenizers.tgt.vocab_size, dev_ids),
            length_correlation=length_correlation(self.data.src, self.data.tgt),
            finished=True,
        )
        write_learned(self.run, learned)

    def better_average(
        self, average: Mapping[str, Tensor], validator: Validator, kept: Sequence[Validation]
    ) -> Validation | None:
        """Dev scores of the average of the kept checkpoints; None: the average is no better than the best one."""
        with self.weights_for_now(average):
            scores, _ = validator.scores(self.model, self.device, self.dtype)
        found = self.validation(scores)
        better = found.goodness(self.settings.metric) > kept[0].goodness(self.settings.metric)
        shown = f"BLEU {scores.bleu:.2f}, " if scores.bleu is not None else ""
        self.reporter.note(
            f"average of the {len(kept)} best checkpoints: {shown}loss {scores.loss:.4f} on dev: "
            + ("it is the model" if better else f"not better than update {kept[0].update}, which stays the model")
        )
        return found if better else None
