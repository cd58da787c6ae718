"""Whether a finished model has learned to translate, measured on dev at the end of training; kept in its run folder."""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from nmt.config.check import read
from nmt.data.parallel import TOGETHER
from nmt.errors import CheckpointError, ConfigError, counted
from nmt.machine.safe_files import read_file, write_atomically

LEARNED_FILE = "learned.json"
MOST_BYTES = 10_000
LEAST_BLEU = 1.0  # percent: what is below comes from the smoothing of counts that are 0
LEAST_GAIN = 0.1  # nats per token, by which a sentence's own source must tell more of its translation than another's
FEW_PAIRS = 20_000
FEW_UPDATES = 1000
UNWRITABLE = 0.1  # share of the dev tokens


@dataclass(frozen=True)
class Learned:
    """What the model that a run ended with has learned; nats are per target token of the dev split."""

    bleu: float | None  # of greedy search on dev, percent; None: not measured
    nll: float  # of the translations
    nll_of_others: float  # of the translations, each after the source of another sentence
    nll_of_frequencies: float  # of a model that knows only how frequent each piece is in the training targets
    last_nll: float  # of the last validation
    updates: int
    warmup: int
    pairs: int  # of the training split
    length_correlation: float | None  # of the two sides of these pairs; None: too few, or all alike
    unknown: float  # share of the dev targets' pieces that the vocabulary has not

    def caution(self) -> str | None:
        """What there is to say of a model that has learned next to nothing: how it shows, why, and what helps."""
        if self.bleu is not None and self.bleu < LEAST_BLEU:
            sign = f"its greedy translations of the dev split have {self.bleu:.2f} BLEU"
        elif self.nll_of_others - self.nll < LEAST_GAIN:
            sign = (
                "a sentence's own source tells it no more of the translation than another sentence's "
                f"({self.nll:.2f} and {self.nll_of_others:.2f} nats per token on dev)"
            )
        elif self.nll >= self.nll_of_frequencies:
            sign = f"it knows dev translations no better ({self.nll:.2f} nats per token) than counting words would"
        else:
            return None
        return f"the model has learned next to nothing: {sign}. {self.cause()}"

    def cause(self) -> str:
        """The likely cause, and what helps."""
        if self.unknown > UNWRITABLE:
            return (
                f"Its vocabulary cannot write {self.unknown:.0%} of the dev translations; train with "
                "tokenizer.byte_fallback=true or tokenizer.character_coverage=1"
            )
        if self.length_correlation is not None and self.length_correlation < TOGETHER:
            return (
                "The files are most likely not parallel: the lengths of both sides go together by "
                f"{self.length_correlation:.2f} only (translations: 0.5 to 1); line N of one must translate line N of "
                "the other"
            )
        diverged = "Training has most likely diverged; lower optimizer.lr, or lengthen schedule.warmup"
        if self.last_nll > self.nll + 1:
            return diverged
        trained = f"It was trained for {counted(self.updates, 'update')}"
        if self.updates <= 2 * self.warmup:
            warmup = min(self.warmup, self.updates)
            return f"{trained}, the warm-up took {warmup:,}; train longer, or set schedule.warmup lower"
        if self.updates <= FEW_UPDATES:
            return f"{trained} only; train longer"
        if self.nll >= self.nll_of_frequencies:
            return diverged
        if self.pairs < FEW_PAIRS:
            return (
                f"There are most likely too few pairs, {self.pairs:,}; tens of thousands are needed for a usable model"
            )
        return "Train longer, or take the settings of one of the experiments"


def write_learned(run: Path, learned: Learned) -> None:
    """Into the run folder, in place of what was there."""
    write_atomically(run / LEARNED_FILE, json.dumps(asdict(learned), indent=1).encode())


def read_learned(run: Path) -> Learned | None:
    """What its training found; None: it has not ended, or there was no dev split."""
    path = run / LEARNED_FILE
    if not path.exists():
        return None
    try:
        values = json.loads(read_file(path, MOST_BYTES))
        numbers = {field.name: values[field.name] for field in fields(Learned)}
        return read(Learned, numbers, LEARNED_FILE)
    except (ValueError, KeyError, TypeError, RecursionError, ConfigError):
        raise CheckpointError(f"{path} is not what nmt writes; restore it from a copy, or delete it") from None


def caution_of(run: Path) -> str | None:
    """What there is to say of the run's model, where it has learned next to nothing."""
    learned = read_learned(run)
    return None if learned is None else learned.caution()
