"""The training loop: updates, validation, early stopping, checkpoints, resuming."""

import math
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from torch import Tensor, nn

from nmt import checkpoint
from nmt.batching import BatchOrder, make_batch
from nmt.build import build_schedule, part
from nmt.config import SearchConfig, TrainConfig
from nmt.device import autocast, choose_device, choose_dtype
from nmt.errors import ConfigError, NmtError
from nmt.interfaces import Batch
from nmt.loss import output_loss
from nmt.prepare import Prepared
from nmt.progress import Progress, Validation
from nmt.report import Reporter
from nmt.seq2seq import Seq2Seq
from nmt.validation import Interrupted, Validator, forced_attention


class Trainer:
    """Trains `model` on prepared data inside a run folder, from `progress` on."""

    def __init__(
        self,
        run: Path,
        config: Mapping[str, Any],
        settings: TrainConfig,
        search: SearchConfig,
        prepared: Prepared,
        model: Seq2Seq,
        progress: Progress,
    ) -> None:
        check_settings(settings)
        self.run = run
        self.settings = settings
        self.prepared = prepared
        self.seed: int = config["seed"]
        self.sampling_alpha: float | None = config["tokenizer"]["sampling_alpha"]
        self.device = choose_device(settings.device)
        self.dtype = choose_dtype(settings.precision, self.device)
        self.model = model.to(self.device).train()
        self.progress = progress
        self.order = BatchOrder(
            lengths(prepared.train, "src_ids"), lengths(prepared.train, "tgt_ids"), settings.batch_tokens, self.seed
        )
        self.batches = self.order.epoch(progress.epoch)
        self.total = self.last_update()
        trust = config["trust"]
        self.schedule = build_schedule(config["schedule"], self.total, trust)
        self.optimiser = part(config["optimizer"], "optimizer", trust, {"parameters": list(model.parameters())})
        self.stopping = False
        self.validator = Validator(
            prepared.dev, prepared.tokenizers, search, settings.bleu_sentences, settings.label_smoothing,
            settings.batch_tokens, config["data"]["tgt_lang"], lambda: self.stopping,
        )  # fmt: skip
        self.unread: list[tuple[int, list[NDArrayRows], Tensor, Tensor]] = []  # losses and norms not looked at yet
        self.reporter = Reporter(run, self.total, progress.update, settings.log_every)

    def last_update(self) -> int | None:
        """The update that ends the run, as far as known before it starts."""
        ends = [self.settings.max_updates] if self.settings.max_updates is not None else []
        if self.settings.max_epochs is not None:
            per_epoch = math.ceil(len(self.order.epoch(0)) / self.settings.accumulate)
            ends.append(self.settings.max_epochs * per_epoch)
        return min(ends, default=None)

    def train(self) -> None:
        """Runs to the end, or until Ctrl-C, which finishes the step, saves, and raises `Interrupted`."""
        before = {s: signal.signal(s, self.request_stop) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            while True:
                if self.validation_is_due():
                    self.validate()
                if self.is_finished():
                    break
                if self.stopping:
                    raise Interrupted
                self.update()
            self.finish()
        except Interrupted:
            self.save()
            raise
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            self.reporter.close()

    def request_stop(self, number: int, frame: FrameType | None) -> None:
        """First Ctrl-C: stop at the next step boundary. Second: at once, without saving."""
        if self.stopping:
            raise KeyboardInterrupt
        self.stopping = True

    def is_finished(self) -> bool:
        """Last update, last epoch, or patience at its end."""
        s, p = self.settings, self.progress
        return (
            (s.max_updates is not None and p.update >= s.max_updates)
            or (s.max_epochs is not None and p.epoch >= s.max_epochs)
            or (s.patience is not None and p.since_best(s.metric) >= s.patience)
        )

    def validation_is_due(self) -> bool:
        """Every `validate_every` updates or each epoch, and at the end; once per update."""
        p, every = self.progress, self.settings.validate_every
        if p.update == 0 or (p.validations and p.validations[-1].update == p.update):
            return False
        return self.is_finished() or (p.batch == 0 if every is None else p.update % every == 0)

    def next_rows(self) -> list["NDArrayRows"]:
        """Rows of the next update's batches; fewer than `accumulate` at the end of an epoch."""
        p = self.progress
        rows = self.batches[p.batch : p.batch + self.settings.accumulate]
        p.batch += len(rows)
        if p.batch >= len(self.batches):
            p.epoch, p.batch = p.epoch + 1, 0
            self.batches = self.order.epoch(p.epoch)
        return rows

    def update(self) -> None:
        """One optimiser step over `accumulate` batches, as if they were one large batch."""
        number = self.progress.update + 1
        torch.manual_seed(self.seed * 1_000_003 + number)
        rows = self.next_rows()
        tokens = int(sum(self.order.tgt_lengths[r].sum() for r in rows))
        batches = list(self.load(rows, number))
        if self.sampling_alpha is not None:
            tokens = sum(int(b.tgt_mask.sum()) for b in batches)
        rate = self.optimiser.defaults["lr"] * self.schedule(number, [v.loss for v in self.progress.validations])
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.zero_grad()
        total = torch.zeros((), device=self.device)
        for batch in batches:
            with autocast(self.device, self.dtype):
                features = self.model(batch)
                weight, bias = self.model.output.weight, self.model.output.bias
                targets = batch.tgt_out[batch.tgt_mask]
                loss, _ = output_loss(features, weight, bias, targets, self.settings.label_smoothing)
            (loss / tokens).backward()
            total += loss.detach() / tokens
        limit = math.inf if self.settings.clip_norm is None else self.settings.clip_norm
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), limit, foreach=True)
        self.optimiser.step()
        self.progress.update = number
        self.progress.tokens += tokens
        self.unread.append((number, rows, total, norm))
        self.reporter.update(number, self.progress.epoch, total, tokens, rate, norm)
        if number % self.settings.log_every == 0:
            self.refuse_nonfinite()

    def load(self, rows: list["NDArrayRows"], number: int) -> Iterator[Batch]:
        """Batches of these rows; with subword sampling, segmented anew."""
        for position, r in enumerate(rows):
            pairs = self.prepared.train[r.tolist()]
            src, tgt = pairs["src_ids"], pairs["tgt_ids"]
            if self.sampling_alpha is not None:
                seed = (self.seed * 1_000_003 + number) * 1_000 + position
                tokenizers = self.prepared.tokenizers
                src = tokenizers.src.sample_batch(pairs["src"], self.sampling_alpha, seed)
                tgt = tokenizers.tgt.sample_batch(pairs["tgt"], self.sampling_alpha, seed + 500)
            yield make_batch(src, tgt).to(self.device)

    def refuse_nonfinite(self) -> None:
        """Looks at the losses and gradient norms since the last look; stops the run at the first that is no number."""
        unread, self.unread = self.unread, []
        if not unread:
            return
        fine = torch.stack([torch.stack([total, norm.to(total.dtype)]) for _, _, total, norm in unread]).isfinite()
        bad = (~fine.all(1)).nonzero().flatten().tolist()
        if not bad:
            return
        update, rows, total, norm = unread[bad[0]]
        sentences = sorted(int(i) for r in rows for i in self.prepared.train[r.tolist()]["index"])
        last = checkpoint.last_resumable(self.run)
        good = f"the last good checkpoint is {checkpoint.checkpoint_folder(self.run, last)}" if last else "none is saved"
        raise NmtError(
            f"loss is {total.item():.4g} and gradient norm {norm.item():.4g} at update {update}; {good}; its batch holds "
            f"training sentences {', '.join(map(str, sentences))} (counted from 0); look at them, lower optimizer.lr, "
            "or set train.precision=fp32"
        )

    def validate(self) -> None:
        """Dev scores into history, reports and checkpoints; the best weights become the run's model."""
        self.refuse_nonfinite()
        p, s = self.progress, self.settings
        scores, translations = self.validator.scores(self.model, self.device, self.dtype)
        p.validations.append(Validation(p.update, p.epoch, scores.loss, scores.nll, scores.bleu))
        ranked = p.ranked(s.metric)
        best = ranked[0].update == p.update
        values = {"loss": scores.loss, "nll": scores.nll, "perplexity": math.exp(min(scores.nll, 700))}
        self.reporter.validation(
            p.update, p.epoch, values | ({} if scores.bleu is None else {"bleu": scores.bleu}), best
        )
        self.show_examples(translations)
        self.save()
        checkpoint.prune(self.run, [v.update for v in ranked[: s.keep_best]])
        if best:
            checkpoint.write_tensors(self.run / "model.safetensors", checkpoint.weights_of(self.model))

    def show_examples(self, translations: list[str]) -> None:
        """Fixed dev sentences: their translations, and the attention over their reference translations."""
        from nmt.figures import attention_figure

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

    def save(self) -> None:
        """A checkpoint of this update, from which the run can be resumed."""
        self.refuse_nonfinite()
        state = self.optimiser.state
        names = {parameter: name for name, parameter in self.model.named_parameters()}
        tensors = {f"{key}/{names[p]}": value for p, values in state.items() for key, value in values.items()}
        record = self.progress.to_json() | {
            "data": self.prepared.fingerprint,
            "torch": torch.__version__,
            "threads": torch.get_num_threads(),
        }
        weights = checkpoint.weights_of(self.model)
        checkpoint.save_checkpoint(self.run, self.progress.update, weights, tensors, record)

    def restore(self, folder: Path) -> None:
        """Weights and optimiser of a checkpoint (its progress was given to the constructor)."""
        checkpoint.set_weights(self.model, checkpoint.read_tensors(folder / "weights.safetensors"), folder)
        tensors = checkpoint.read_tensors(folder / "training.safetensors")
        parameters = dict(self.model.named_parameters())
        for entry, value in tensors.items():
            key, name = entry.split("/", 1)
            parameter = parameters[name]
            self.optimiser.state[parameter][key] = value.to(parameter.device if key != "step" else value.device)

    def finish(self) -> None:
        """The average of the kept checkpoints becomes the run's model if it is better on dev."""
        s, ranked = self.settings, self.progress.ranked(self.settings.metric)
        kept = [v.update for v in ranked[: s.keep_best]]
        if not (s.average_best and len(kept) > 1):
            return
        folders = [checkpoint.checkpoint_folder(self.run, update) for update in kept]
        average: dict[str, Tensor] = {}
        for folder in folders:
            for name, tensor in checkpoint.read_tensors(folder / "weights.safetensors").items():
                average[name] = average.get(name, 0) + tensor / len(folders)
        own = {name: tensor.clone() for name, tensor in checkpoint.weights_of(self.model).items()}
        checkpoint.set_weights(self.model, average, self.run)
        scores, _ = self.validator.scores(self.model, self.device, self.dtype)
        averaged = Validation(self.progress.update, self.progress.epoch, scores.loss, scores.nll, scores.bleu)
        better = self.progress.goodness(s.metric, averaged) > self.progress.goodness(s.metric, ranked[0])
        shown = f"BLEU {scores.bleu:.2f}, " if scores.bleu is not None else ""
        self.reporter.note(
            f"average of the {len(kept)} best checkpoints: {shown}loss {scores.loss:.4f} on dev: "
            + ("it is the model" if better else f"not better than update {ranked[0].update}, which stays the model")
        )
        if better:
            checkpoint.write_tensors(self.run / "model.safetensors", average)
        checkpoint.set_weights(self.model, own, self.run)


NDArrayRows = np.ndarray[Any, np.dtype[np.int64]]


def lengths(split: Dataset, column: str) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Tokens of every row, end-of-sentence included, without reading the tokens into Python."""
    import pyarrow.compute as pc

    chunks = [pc.list_value_length(chunk).to_numpy(zero_copy_only=False) for chunk in column_chunks(split, column)]
    return (np.concatenate(chunks) + 1).astype(np.int32)


def column_chunks(split: Dataset, column: str) -> list[Any]:
    """Arrow chunks of a column, in row order."""
    table = split.with_format("arrow")[:] if split._indices is not None else split.data.table
    return list(table.column(column).chunks)


def check_settings(settings: TrainConfig) -> None:
    """Refuses values that no run can have."""
    lowest = {"batch_tokens": 1, "accumulate": 1, "keep_best": 1, "log_every": 1, "examples": 0}
    optional = {"max_updates": 1, "max_epochs": 1, "validate_every": 1, "patience": 1, "threads": 1, "bleu_sentences": 0}
    for key, least in (lowest | optional).items():
        value = getattr(settings, key)
        if value is not None and value < least:
            raise ConfigError(f"train.{key} is {value}; it must be at least {least}")
    if not 0 <= settings.label_smoothing < 1:
        raise ConfigError(f"train.label_smoothing is {settings.label_smoothing}; it must lie in [0, 1)")
    if settings.max_updates is None and settings.max_epochs is None and settings.patience is None:
        raise ConfigError("train.max_updates, train.max_epochs and train.patience are all null; set one to end the run")
    if settings.metric == "bleu" and settings.bleu_sentences == 0:
        raise ConfigError("train.metric is bleu, but train.bleu_sentences is 0; set train.metric=loss")
