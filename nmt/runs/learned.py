"""Whether a finished model has learned to translate, measured on dev at the end of training; kept in its run folder."""

import json
import sys
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from nmt.config.check import read
from nmt.data.parallel import TOGETHER
from nmt.errors import CheckpointError, ConfigError, counted
from nmt.machine.safe_files import read_file, write_atomically

LEARNED_FILE = "learned.json"
MOST_BYTES = 10_000
LEAST_BLEU = 1.0  # percent; a lower score comes only from the smoothing of zero counts
LEAST_GAIN = 0.1  # nats per token: the least advantage of a translation's own source over another sentence's
FEW_PAIRS = 20_000
FEW_UPDATES = 1000
UNWRITABLE = 0.1  # largest share of the dev targets' pieces that may be missing from the vocabulary


@dataclass(frozen=True)
class Learned:
    """What a run's final model has learned. Each nll is a mean in nats per target token of the dev split."""

    bleu: float | None  # BLEU of greedy translations of dev, in percent; None: not measured
    nll: float  # of the reference translations, each given its source
    nll_of_others: float  # of the references, each given the source of another sentence of about its length
    nll_of_frequencies: float  # of the references, for a model that knows only how frequent training pieces are
    last_nll: float  # `nll` at the last validation
    updates: int
    warmup: int
    pairs: int  # number of training pairs
    length_correlation: float | None  # between the two sides of the training pairs; None: the lengths vary too little
    unknown: float  # share of dev target pieces that are not in the vocabulary

    def caution(self) -> str | None:
        """A warning if the model has learned next to nothing: the sign, the likely cause and the remedy; else None."""
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
    """Writes the file in the run folder, over an earlier one."""
    write_atomically(run / LEARNED_FILE, json.dumps(asdict(learned), indent=1).encode())


def read_learned(run: Path) -> Learned | None:
    """What a run's model has learned; None: training has not ended, or the dev split was missing or too small."""
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
    """A warning if the run's model has learned next to nothing; else None."""
    learned = read_learned(run)
    return None if learned is None else learned.caution()


def say_caution_of(folder: Path) -> None:
    """Prints the caution about a run's model, if there is one, for a command that uses the model."""
    if (caution := caution_of(folder)) is not None:
        print(f"caution: {folder}: {caution}", file=sys.stderr)
