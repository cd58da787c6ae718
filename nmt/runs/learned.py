"""Whether a model has learned to translate, measured on dev in training and at its end; kept in the run folder."""

import json
import sys
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path

from nmt.config.check import read
from nmt.data.parallel import TOGETHER
from nmt.errors import CheckpointError, ConfigError, counted
from nmt.machine.safe_files import read_file, write_atomically

LEARNED_FILE = "learned.json"
MOST_BYTES = 10_000
LEAST_BLEU = 1.0  # percent; where words are counted, a lower score comes only from the smoothing of zero counts
CLEAR = 5.0  # times the least BLEU; no model that cannot translate has as much
MORE = 10.0  # points above the least BLEU, which are enough where it is high because characters are counted
LEAST_GAIN = 0.1  # nats per token: the least advantage of a translation's own source over another sentence's
NO_GAIN = 0.01  # the same for a clear BLEU, which one sentence for all has where targets are alike
FEW_PAIRS = 20_000
FEWEST_PAIRS = 1_000  # with fewer, a model without a dev split gets a caution
FEW_UPDATES = 1000
MANY_EPOCHS = 5  # so many readings are no short training, however few the updates
UNWRITABLE = 0.1  # largest share of the dev targets' pieces that may be missing from the vocabulary
SPELLED = 0.3  # largest share of them that may be single bytes: rare characters and emoji have fewer


@dataclass(frozen=True)
class Learned:
    """What a run's model has learned. Each nll is a mean in nats per target token of the dev split."""

    bleu: float | None  # BLEU of greedy translations of dev, in percent; None: not measured
    nll: float | None  # of the reference translations, each given its source; None: the run has no dev split
    nll_of_others: float | None  # of the references, each given another sentence's source; None: not measured
    nll_of_frequencies: float | None  # of the references, for a model that only counts training pieces; None: the same
    last_nll: float | None  # `nll` at the last validation
    updates: int
    warmup: int
    pairs: int  # number of different training pairs
    length_correlation: float | None  # between the two sides of the training pairs; None: the lengths vary too little
    unknown: float  # share of dev target pieces that are not in the vocabulary
    epochs: int = 0  # done
    finished: bool = True  # was this measured at the end of training?
    least_bleu: float = LEAST_BLEU  # what translations of other sentences would have
    spelled: float = 0.0  # share of dev target pieces that are single bytes of characters without a piece

    def caution(self) -> str | None:
        """A warning if the model has learned next to nothing: the sign, the likely cause, the remedy; else None."""
        if self.nll is None:
            cause = self.too_few_pairs() if self.pairs < FEWEST_PAIRS else self.too_short()
            unknown = "the run has no dev split, so nothing shows whether the model has learned to translate"
            return cause and f"{unknown}. {cause}"
        if (sign := self.sign()) is not None:
            so_far = "" if self.finished else "so far, "
            return f"{so_far}the model has learned next to nothing: {sign}. {self.cause()}"
        if self.is_weak():
            return f"the model is weak: {self.score()}. {self.cause()}"
        return None

    def is_weak(self) -> bool:
        """Are most of the translations of the finished model nonsense?"""
        if self.bleu is None or not self.finished:
            return False
        return self.bleu < min(CLEAR * self.least_bleu, self.least_bleu + MORE)

    def sign(self) -> str | None:
        """What shows that it has learned next to nothing; None: it has learned something."""
        if self.bleu is not None and self.bleu < self.least_bleu:
            others = (
                f"; references of other sentences have {self.least_bleu:.2f}" if self.least_bleu > LEAST_BLEU else ""
            )
            return f"{self.score()}{others}"
        is_clear = self.bleu is not None and self.bleu >= CLEAR * self.least_bleu
        if self.ignores_sources(NO_GAIN if is_clear else LEAST_GAIN):
            return (
                "a sentence's own source tells it no more of the translation than another sentence's "
                f"({self.nll:.2f} and {self.nll_of_others:.2f} nats per token on dev)"
            )
        if self.only_counts() and not is_clear:
            return f"it knows dev translations no better ({self.nll:.2f} nats per token) than counting words would"
        return None

    def score(self) -> str:
        """The BLEU of its translations, as a clause."""
        return f"its greedy translations of the dev split have {self.bleu:.2f} BLEU"

    def ignores_sources(self, least_gain: float = LEAST_GAIN) -> bool:
        """Does a sentence's own source tell the model no more of the translation than another sentence's?"""
        if self.nll is None or self.nll_of_others is None:
            return False
        return self.nll_of_others - self.nll < least_gain

    def only_counts(self) -> bool:
        """Does it know the translations no better than a model that knows how frequent the pieces are?"""
        if self.nll is None or self.nll_of_frequencies is None:
            return False
        return self.nll >= self.nll_of_frequencies

    def diverged(self) -> bool:
        """Were the translations much likelier to the model at its best than at the last validation?"""
        return self.nll is not None and self.last_nll is not None and self.last_nll > self.nll + 1

    def too_short(self) -> str | None:
        """The cause that short trainings have; None: it was long enough."""
        if not self.updates:
            return "No update changed its weights"
        trained = f"It was trained for {counted(self.updates, 'update')}"
        if self.updates <= 2 * self.warmup:
            warmup = min(self.warmup, self.updates)
            return f"{trained}, the warm-up took {warmup:,}; train longer, or set schedule.warmup lower"
        if self.updates <= FEW_UPDATES and self.epochs < MANY_EPOCHS:
            return f"{trained} only; train longer"
        return None

    def too_few_pairs(self) -> str:
        """The cause that small corpora have."""
        return f"There are most likely too few pairs, {self.pairs:,}; a usable model needs tens of thousands"

    def cause(self) -> str:
        """The likely cause, and what helps."""
        if self.unknown > UNWRITABLE:
            return (
                f"Its vocabulary cannot write {self.unknown:.0%} of the dev translations; train with "
                "tokenizer.byte_fallback=true or tokenizer.character_coverage=1"
            )
        if self.spelled > SPELLED:
            return (
                f"{self.spelled:.0%} of the pieces of the dev translations are single bytes, because the vocabulary "
                "lacks their characters or words; are training and dev targets in the same language?"
            )
        if self.length_correlation is not None and self.length_correlation < TOGETHER:
            return (
                "The files are most likely not parallel: the lengths of both sides go together by "
                f"{self.length_correlation:.2f} only (translations: 0.5 to 1); line N of one must translate line N of "
                "the other"
            )
        if (short := self.too_short()) is not None:
            return short
        has_few_pairs = self.pairs < FEW_PAIRS
        learned_by_heart = has_few_pairs and self.epochs >= MANY_EPOCHS
        if self.only_counts() or (self.diverged() and not learned_by_heart):
            return "Training has most likely diverged; lower optimizer.lr, or lengthen schedule.warmup"
        if has_few_pairs:
            few = self.too_few_pairs()
            return f"{few}. Or the files are not parallel: compare some lines" if self.ignores_sources() else few
        if self.ignores_sources():
            return "Either the files are not parallel, so compare some lines, or optimizer.lr is too high, so halve it"
        return "Train longer, or take the settings of one of the experiments"


def write_learned(run: Path, learned: Learned) -> None:
    """Writes the file in the run folder, over an earlier one."""
    write_atomically(run / LEARNED_FILE, json.dumps(asdict(learned), indent=1).encode())


def read_learned(run: Path) -> Learned | None:
    """What a run's model has learned; None: it has not been validated."""
    path = run / LEARNED_FILE
    if not path.exists():
        return None
    try:
        values = json.loads(read_file(path, MOST_BYTES))
        late = {field.name: field.default for field in fields(Learned) if field.default is not MISSING}
        numbers = {field.name: (late | values)[field.name] for field in fields(Learned)}
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
