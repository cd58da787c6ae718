"""`recipe=auto`: the settings that an expert would choose for a corpus, for every key that the user does not type.

Everything follows from a few facts about the training split (`Facts`) and, under a budget, from what the machine can
do in that time (`Effort`). Each rule has its evidence beside it; docs/recipe.md lists the runs.
"""

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from omegaconf import OmegaConf

from nmt.config.changes import Changes
from nmt.config.compose import CONFIGS
from nmt.config.defaults import with_chosen
from nmt.config.plain import leaves, overlay
from nmt.config.run import RunConfig, read_run_config
from nmt.config.sections import TokenizerConfig
from nmt.config.verbs import TrainCommand
from nmt.data.corpus import Corpus, read_corpus
from nmt.data.prepare import fitting, trained_tokenizers
from nmt.errors import ConfigError, counted
from nmt.machine.home import expanded
from nmt.model.build import needs_equal_sizes
from nmt.training.corpus_facts import COVERAGE, Facts, facts_of, with_pieces
from nmt.training.first_weights import config_from

C = TypeVar("C", bound=TrainCommand)
N = TypeVar("N", int, float)

MANY_CHARACTERS = 1000
MOST_PIECES = 32_000
SPECIAL = 260  # pieces that are not text: four special ones and 256 bytes
MULTI30K = 1_800_000  # `size` of Multi30k en-de (29,000 pairs), on which most rules were found
LEAST_BATCH = 600  # tokens
MOST_VALIDATIONS = 30
LEAST_BETWEEN, MOST_BETWEEN = 500, 5_000  # updates between validations, where an epoch has more
LITTLE_TEXT = 3e6  # `size` below which a model learns the text by heart before it has learned all that it can
LEAST_TEXT = 0.4e6  # `size` below which it does so sooner
REGULAR = 0.5  # share of the different words that occur once: below it, text is as regular as that of a grammar
MOST_TIMES_AS_LONG = 4  # times the readings without a budget, at most: longer training does not pay
SHORT = "so short a training learns little by heart"
SLOW = "validations take time as well"
NEARLY_ALL = 0.95  # share of new text, or of kept text; below it, the recipe names what does not count
QUICK_SENTENCES = 200  # of dev, translated at a validation where time is short
FURTHER_LR, FURTHER_READINGS = 0.5, 1 / 5  # of the rate in `Training`, and of the readings of a new model
FURTHER = "a trained model needs smaller steps"
SECTIONS = ("tokenizer", "model", "encoder", "decoder", "optimizer", "schedule", "train")


@dataclass(frozen=True)
class Training:
    """How a model is trained, and the size of an RNN model. A Transformer has the size of `configs/`."""

    d_embed: int = 256
    width: int = 192  # encoder units in each of two directions; the decoder is twice as wide
    layers: int = 2  # decoder layers
    batch: float = 1.0  # times the recipe's tokens per batch
    lr: float = 0.002
    consistency: float = 0.0  # R-Drop; above 0, the model reads each batch twice
    least: float = 0.0  # share of the recipe's readings, below which the training before it learns more in this time


OF_LITTLE_TEXT = Training(batch=0.5, lr=0.004, consistency=2.0, least=0.6)
OF_TRANSFORMER = Training(batch=2.0, lr=0.001)


@dataclass(frozen=True)
class Effort:
    """What a budget allows."""

    updates: int
    validate_every: int
    share: float  # readings of the text in the budget, as a share of the recipe's readings without one
    training: Training | None  # None: the recipe's own
    quick: bool = False  # so little time that few dev sentences are translated at a validation


@dataclass(frozen=True)
class Choice:
    """A value for a key, and why."""

    key: str
    value: Any
    why: str

    @property
    def word(self) -> str:
        """The choice as a user types it."""
        text = "null" if self.value is None else str(self.value)
        return f"{self.key}={text.lower() if isinstance(self.value, bool) else text}"


@dataclass(frozen=True)
class Recipe:
    """The recipe for a command: facts about its corpus, and choices for its tokenizer."""

    command: TrainCommand
    facts: Facts
    tokenizer: list[Choice]

    def choices(self, effort: Effort | None = None) -> list[Choice]:
        """The choices that the recipe fills in; keys that the user typed are not among them."""
        run, typed = self.command.run, self.command.changes
        rest = (each for each in choices_of(self.facts, run, typed.values, effort) if each.key not in typed.values)
        found = [*self.tokenizer, *rest]
        known = leaves(with_groups(run.plain(), found))
        return [each for each in found if "." not in each.key or (each.key in known and is_ours(each.key, run, typed))]

    def filled(self, effort: Effort | None = None) -> RunConfig:
        """The command's configuration with these choices."""
        return with_choices(self.command.run, self.choices(effort), self.command.changes, self.command.trust)

    def say(self, effort: Effort | None = None) -> None:
        """Prints the choices with their reasons on the console."""
        print(*shown(self.facts, self.choices(effort)), sep="\n", file=sys.stderr)


def recipe_for(command: TrainCommand) -> Recipe | None:
    """The recipe for a command, whose corpus must be there; None if the recipe decides nothing.

    An experiment is a recipe of its own. A run that starts from another run's weights keeps that run's model.
    """
    run, typed = command.run, command.changes
    if command.recipe is None or command.resume is not None or "experiment" in typed.values:
        return None
    cache_dir = expanded(run.cache_dir)
    given = None if run.init_from is None else config_from(expanded(run.init_from), run, typed, command.trust)
    corpus = read_corpus(run.data, cache_dir)
    facts = facts_of(corpus.path("train"), run.data.filters.max_tokens)
    if given is not None:
        config, _, tokenizers = given
        return Recipe(replace(command, run=config), with_pieces(facts, corpus, tokenizers, run.data), [])
    pieces = [each for each in tokenizer_choices(facts, run, typed.values) if each.key not in typed.values]
    tokenizer = with_choices(run, pieces, typed, command.trust).tokenizer
    found = fitted(corpus, tokenizer, typed.values, cache_dir)
    why = "the nearest that SentencePiece can make of it"
    if "tokenizer.vocab_size" in typed.values:
        why = "two vocabularies of the size that was typed do not fit"
    fits = [Choice("tokenizer.vocab_size", found.vocab_size, why)] if found.vocab_size != tokenizer.vocab_size else []
    fits += [Choice("tokenizer.joint", found.joint, why)] if found.joint != tokenizer.joint else []
    pieces = [each for each in pieces if each.key not in [fit.key for fit in fits]] + fits
    tokenizers = trained_tokenizers(corpus, found, cache_dir)
    return Recipe(command, with_pieces(facts, corpus, tokenizers, run.data), pieces)


def fitted(corpus: Corpus, wanted: TokenizerConfig, typed: Collection[str], cache_dir: Path) -> TokenizerConfig:
    """The settings nearest to `wanted` that SentencePiece can make of the corpus, without a change of those typed."""
    found = fitting(corpus, wanted, cache_dir)
    if found.vocab_size != wanted.vocab_size and "tokenizer.vocab_size" in typed:
        if wanted.joint or "tokenizer.joint" in typed:
            return wanted  # `trained_tokenizers` refuses it
        one = replace(wanted, joint=True)
        return one if fitting(corpus, one, cache_dir) == one else wanted
    if found.joint != wanted.joint and "tokenizer.joint" in typed:
        raise ConfigError(
            "tokenizer.joint=false needs a vocabulary size that both sides of this corpus can have, and there is "
            "none; leave it out, so that they share a vocabulary"
        )
    return found


def filled(command: C, say: bool = True) -> C:
    """The command with the recipe's values in place of the defaults, for keys that the user has not typed."""
    recipe = recipe_for(command)
    if recipe is None:
        return command
    if say:
        recipe.say()
    return replace(command, run=recipe.filled())


def is_ours(key: str, run: RunConfig, typed: Changes) -> bool:
    """Is the value at this key from one of nmt's own files? If the user chose a file of their own, its values stay."""
    group, _, inner = key.partition(".")
    if group not in typed.values:
        return True
    section = run.plain()[group]
    files = [group_file(group, path.stem) for path in (CONFIGS / group).glob("*.yaml")]
    return any(inner in file and inner in section and file[inner] == section[inner] for file in files)


def with_choices(run: RunConfig, choices: list[Choice], typed: Changes, trust: list[str]) -> RunConfig:
    """The configuration with these choices and all that follows from them."""
    groups = [each.key for each in choices if "." not in each.key]
    values = {key: value for key, value in typed.values.items() if key.split(".")[0] in groups}
    values |= {each.key: each.value for each in choices if "." in each.key}
    plain = overlay(with_groups(run.plain(), choices), values, SECTIONS)
    if "train.parts" not in typed.values:  # the number of parts follows from the batch size
        plain["train"] = plain["train"] | {"parts": None}
    return read_run_config(with_chosen(plain), trust)


def with_groups(plain: dict[str, Any], choices: list[Choice]) -> dict[str, Any]:
    """The configuration with the sections that choices such as schedule=linear name."""
    return plain | {each.key: group_file(each.key, each.value) for each in choices if "." not in each.key}


@cache
def group_file(group: str, choice: str) -> dict[str, Any]:
    """The section that a word such as schedule=linear chooses."""
    section = OmegaConf.to_container(OmegaConf.load(CONFIGS / group / f"{choice}.yaml"))
    assert isinstance(section, dict)
    return {str(key): value for key, value in section.items()}


def shown(facts: Facts, choices: list[Choice]) -> Iterator[str]:
    """Lines with the choices and their reasons, then the words that reproduce them."""
    size = f"{rounded(facts.size):,} characters a side"
    size += f", {1 - facts.new:.0%} of the text in copies" if facts.new < NEARLY_ALL else ""
    size += f", without the {1 - facts.kept:.0%} in pairs that data.filters drops" if facts.kept < NEARLY_ALL else ""
    corpus = f"{counted(facts.pairs, 'pair')} ({size})"
    yield f"recipe for {corpus}; what you type replaces any of it:"
    reasons: dict[str, list[str]] = {}
    for each in choices:
        reasons.setdefault(each.why, []).append(each.word)
    for why, words in reasons.items():
        yield f"  {' '.join(words)}: {why}"
    yield by_hand([Choice("recipe", None, ""), *choices])


def by_hand(choices: Sequence[Choice]) -> str:
    """A line with the words that reproduce these choices."""
    return f"  the same by hand: {' '.join(each.word for each in choices)}"


def is_recurrent(run: RunConfig) -> bool:
    """Is it an RNN encoder–decoder?"""
    return run.encoder.name == "RnnEncoder" and run.decoder.name == "RnnDecoder"


def choices_of(
    facts: Facts, run: RunConfig, typed: Collection[str] = (), effort: Effort | None = None
) -> Iterator[Choice]:
    """All choices except those for the tokenizer; they depend on the parts of `run` and on the `typed` keys."""
    if run.init_from is None:
        of_kind = rnn_choices if is_recurrent(run) else transformer_choices
        yield from of_kind(facts, run, typed, effort)
    yield from length_choices(facts, run, typed, effort)


def tokenizer_choices(facts: Facts, run: RunConfig, typed: Collection[str] = ()) -> Iterator[Choice]:
    """More text allows more pieces: 5,000 for Multi30k, 8,000 for three times as much text (Tatoeba en-de)."""
    if run.tokenizer.model == "char":  # the text decides the pieces
        return
    # Tatoeba en-zh: 1.9 to 3.8 BLEU better than one vocabulary for both
    is_joint = run.tokenizer.joint
    if is_joint and not facts.one_script and run.model.tie != "all" and "tokenizer.joint" not in typed:
        is_joint = False
        yield Choice("tokenizer.joint", False, "the sides are written in different scripts")
    if run.tokenizer.model == "word":
        yield Choice("tokenizer.vocab_size", MOST_PIECES, "as many words as the text has; all others are spelled")
        return
    alphabet = sum(facts.alphabets) if is_joint else max(facts.alphabets)
    if alphabet > MANY_CHARACTERS:
        yield Choice("tokenizer.character_coverage", COVERAGE, "the rarest of its many characters are spelled in bytes")
    by_size = 5000 * (facts.size / MULTI30K) ** 0.42
    special = SPECIAL + len(run.tokenizer.user_defined_symbols)
    pieces = max(500, special + round(1.2 * alphabet), min(MOST_PIECES, by_size))
    yield Choice("tokenizer.vocab_size", rounded(pieces), "so many pieces are seen often enough in so much text")


def trainings(facts: Facts, run: RunConfig) -> list[Training]:
    """Trainings of a new model, the shortest first. Once a model has learned all it can, a larger one learns more.

    RNNs: on Multi30k, 24 epochs each, one layer has 40.5 BLEU on dev. Two layers have 41.8, in 1.5 times the time. A
    wider model with R-Drop has 42.7, in 3.7 times the time of two layers. At a width of 256, one pass was no better.
    After 350 updates, one layer has learned as much as two. After 1,505 updates (3.6 epochs), one layer has 31.9 greedy
    BLEU at a rate of 0.002, 35.2 at 0.004, and 35.9 with half the batch as well. In 60 minutes of one core, two layers
    with such a rate and batch (10 epochs) have 39.3 greedy BLEU, one layer (17 epochs) 38.3. On 10,000 of the pairs,
    20 epochs of two layers have 31.8 with them, and 22 epochs have 30.6 without; with two passes as well, 12 epochs
    have 32.1 in the same time. With more text, a model that reads each batch once learns less by heart.

    Transformers: on 3,000 pairs of Tatoeba en-de, the lowest dev loss is 3.64 with two passes by half the batch, and
    3.87 with one pass in the same time.
    """
    if not is_recurrent(run):
        twice = replace(OF_LITTLE_TEXT, batch=OF_TRANSFORMER.batch / 2, lr=OF_TRANSFORMER.lr)
        return [OF_TRANSFORMER, twice] if facts.size < LITTLE_TEXT else [OF_TRANSFORMER]
    one = Training(layers=1, batch=0.5, lr=0.004)
    if facts.size < LITTLE_TEXT:
        two, wide = replace(one, layers=2, least=0.4), replace(OF_LITTLE_TEXT, d_embed=384, width=320, least=1.6)
        # 1.6 readings of `wide` take about as long as MOST_TIMES_AS_LONG of OF_LITTLE_TEXT: no budget lies idle between
        return [one, two, OF_LITTLE_TEXT, wide]
    return [one, *(Training(d_embed, width, least=0.5) for d_embed, width in ((256, 192), (384, 320), (512, 512)))]


def training_of(facts: Facts, run: RunConfig, effort: Effort | None) -> Training:
    """What a budget allows; without a budget, the model of docs/quality.md, or a wider one for much more text.

    Tatoeba en-de, 3,000 pairs, 64 readings: 13.8 BLEU on dev with `OF_LITTLE_TEXT`; 13.0 in one pass by batches of
    1,250 at a rate of 0.002.
    """
    if effort is not None and effort.training is not None:
        return effort.training
    if run.init_from is not None:
        return Training() if is_recurrent(run) else OF_TRANSFORMER
    if not is_recurrent(run):
        return trainings(facts, run)[-1]
    if facts.size < LITTLE_TEXT:
        return OF_LITTLE_TEXT
    _, narrow, *_, wide = trainings(facts, run)
    return narrow if facts.size < 20 * MULTI30K else wide


def passes_of(consistency: float) -> int:
    """How often the model reads each batch."""
    return 2 if consistency else 1


def rnn_choices(facts: Facts, run: RunConfig, typed: Collection[str], effort: Effort | None) -> Iterator[Choice]:
    """The model of docs/quality.md, with the settings that helped on Multi30k by more than a change of seed."""
    why = "what did best on 29,000 pairs (docs/quality.md)"
    yield Choice("model.tie", "target", why)
    if run.attention.part is not None and not needs_equal_sizes(run.attention):
        yield Choice("encoder.with_embeddings", True, why)
    yield Choice("train.init_range", 0.1, why)
    training = training_of(facts, run, effort)
    why = "size of the model by the amount of text" + (" and the time" if effort is not None else "")
    directions = 2 if run.encoder.arguments["bidirectional"] else 1
    width = 2 * training.width  # of the decoder, and of the encoder in all its directions
    if "encoder.d_hidden" in typed:
        width = directions * run.encoder.arguments["d_hidden"]
    elif "decoder.d_hidden" in typed:
        width = run.decoder.arguments["d_hidden"]
    yield Choice("model.d_embed", training.d_embed, why)
    yield Choice("decoder.layers", training.layers, why)
    yield Choice("encoder.d_hidden", max(1, width // directions), why)
    yield Choice("decoder.d_hidden", width, why)
    yield from passes_choices(training)
    # Tatoeba en-de, 3,000 pairs: dev loss 3.755 with 0.5, 3.80 with 0.3. Multi30k: 0.4. Tatoeba, 165,000 pairs: 0.2.
    dropout = stepwise(facts.size, {LEAST_TEXT: 0.5, LITTLE_TEXT: 0.4, 6e6: 0.2, 60e6: 0.15}, 0.1)
    words = 0.1 if facts.size < LEAST_TEXT else 0.05  # Multi30k: 0.05 brings 1.2 BLEU
    yield from dropout_choices(dropout, words, facts, effort)
    if effort is not None and effort.share < 1:  # Multi30k, 1,384 updates: 32.0 greedy BLEU with 0, 30.6 with 0.2
        yield Choice("model.embed_dropout", round(0.2 * effort.share, 2), SHORT)


def passes_choices(training: Training) -> Iterator[Choice]:
    """R-Drop, where there is little text."""
    if training.consistency:
        why = "little text: reading each batch twice helps more than more epochs"
        yield Choice("train.consistency", training.consistency, why)


def dropout_choices(dropout: float, words: float, facts: Facts, effort: Effort | None) -> Iterator[Choice]:
    """Little text is soon learned by heart, so it needs more dropout; text of a grammar and short trainings need less.

    The first 3,000 pairs of the demo corpus, which a grammar made: 27.4 BLEU with 0.2, 23.0 with 0.4.
    """
    why = "less text is learned by heart sooner"
    if facts.seen_once < REGULAR:
        dropout, words, why = 0.4 * dropout, 0.0, "text as regular as this is not learned by heart"
    if effort is not None and effort.share < 1:
        dropout, words = dropout * (0.5 + effort.share / 2), words * effort.share
        why = SHORT
    yield Choice("encoder.dropout", round(dropout, 2), why)
    yield Choice("decoder.dropout", round(dropout, 2), why)
    yield Choice("model.word_dropout", round(words, 2), why)


def transformer_choices(
    facts: Facts, run: RunConfig, typed: Collection[str], effort: Effort | None
) -> Iterator[Choice]:
    """The settings of the Transformer recipe for Multi30k, which has 36.9 BLEU in one pass."""
    why = "what did best for a Transformer on 29,000 pairs"
    yield Choice("model.tie", "target", why)
    if run.encoder.name == "TransformerEncoder":
        yield Choice("model.embed_dropout", 0.0, why)
    yield from passes_choices(training_of(facts, run, effort))
    dropout = stepwise(facts.size, {LEAST_TEXT: 0.3, LITTLE_TEXT: 0.2}, 0.1)
    yield from dropout_choices(dropout, 0.0, facts, effort)


def batch_of(facts: Facts, run: RunConfig, typed: Collection[str], training: Training) -> int:
    """Tokens per batch. On Multi30k, 1,250 instead of 2,500 bring 1.0 BLEU in the same time."""
    if "train.batch_tokens" in typed:
        return run.train.batch_tokens
    batch: int = stepwise(facts.size, {0.05e6: LEAST_BATCH, 20e6: 1250, 100e6: 2500}, 5000)
    return max(LEAST_BATCH, round(training.batch * batch))


def readings_of(facts: Facts, further: bool = False) -> int:
    """How often a training without a budget reads the text; with two passes of each batch, an epoch has two readings.

    A mix has shorter epochs, so there are more of them; an epoch with copies reads the same text again.

    `further`: the model is trained already; it has the rest of a mix behind it, so the part that each epoch reads as a
    whole decides. With 300 captions, Tatoeba en-de's was best on dev after 4 to 12 epochs.

    Tatoeba en-de, 3,000 pairs: 11.9 BLEU in 60 epochs, 10.2 in 33, at most 11.5 in 100 (stopped at a high rate).
    """
    size = facts.size * (facts.whole_part if further else 1.0)
    power = 1 / 3 if size < MULTI30K else 1 / 2
    by_size: float = 24 * (MULTI30K / size) ** power
    readings = min(80, max(3, round(by_size)))
    return max(1, round(facts.new * (FURTHER_READINGS * readings if further else readings / facts.epoch)))


def length_choices(facts: Facts, run: RunConfig, typed: Collection[str], effort: Effort | None) -> Iterator[Choice]:
    """Learning rate, batch size and length. If the user typed that only early stopping ends the run, that stays so."""
    training = training_of(facts, run, effort)
    further = run.init_from is not None
    why = "small batches at this rate learn most in the same time"
    yield Choice("optimizer.lr", FURTHER_LR * training.lr if further else training.lr, FURTHER if further else why)
    batch = batch_of(facts, run, typed, training)
    yield Choice("train.batch_tokens", batch, why)
    per_epoch = max(1.0, facts.epoch * facts.tokens / (batch * run.train.accumulate))
    if effort is not None:
        yield from budget_choices(effort.updates, effort.validate_every)
        if effort.quick:  # Multi30k: 6 s for a validation, otherwise 9
            yield Choice("train.bleu_sentences", QUICK_SENTENCES, SLOW)
            yield Choice("train.examples", 1, SLOW)
        yield from rate_choices(effort.updates)
        return
    why = "less text is read more often"
    epochs: int | None = -(-readings_of(facts, further) // passes_of(training.consistency))
    if "train.max_epochs" in typed:
        epochs = run.train.max_epochs
    elif run.train.max_updates is not None:
        epochs, why = None, "train.max_updates ends the run"
    ends = [] if run.train.max_updates is None else [float(run.train.max_updates)]
    ends += [] if epochs is None else [epochs * per_epoch]
    if not ends:
        return
    updates = min(ends)
    yield Choice("train.max_epochs", epochs, why)
    between = max(updates / MOST_VALIDATIONS, min(per_epoch, MOST_BETWEEN, max(LEAST_BETWEEN, updates / 10)))
    if between != per_epoch:
        yield Choice("train.validate_every", max(1, rounded(between)), SLOW)
    yield from rate_choices(updates)


def budget_choices(updates: int, validate_every: int) -> Iterator[Choice]:
    """The length of a run within a budget."""
    yield Choice("train.max_updates", updates, "so many fit into the budget")
    yield Choice("train.max_epochs", None, "so many fit into the budget")
    yield Choice("train.validate_every", validate_every, SLOW)


def rate_choices(updates: int | float) -> Iterator[Choice]:
    """The schedule for a run of this many updates, at most a quarter of which are warm-up."""
    why = "the rate rises in the warm-up, then falls to nothing at the end"
    yield Choice("train.patience", None, why)
    yield Choice("schedule", "linear", why)
    yield Choice("schedule.warmup", rounded(min(800, updates / 4, max(100, updates / 8))), why)


def stepwise(size: int, below: Mapping[float, N], beyond: N) -> N:
    """The value of the first limit above `size`; `beyond` if there is no such limit."""
    return next((value for limit, value in below.items() if size < limit), beyond)


def rounded(number: int | float) -> int:
    """The number, rounded to two significant digits."""
    return int(float(f"{number:.2g}"))
