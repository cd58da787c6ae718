"""`recipe=auto`: the settings that an expert would choose for a corpus, for every key that the user does not type.

Everything follows from a few facts about the training split (`Facts`) and, under a budget, from what the machine can
do in that time (`Effort`). Each rule has its evidence beside it; docs/recipe.md lists the runs.
"""

import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, TypeVar
from unicodedata import east_asian_width

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from omegaconf import OmegaConf

from nmt.config.changes import Changes
from nmt.config.compose import CONFIGS
from nmt.config.defaults import with_chosen
from nmt.config.plain import leaves, overlay
from nmt.config.run import RunConfig, read_run_config
from nmt.config.verbs import TrainCommand
from nmt.data.batching import Mix
from nmt.data.corpus import read_corpus
from nmt.data.prepare import fitting, trained_tokenizers
from nmt.data.tables import count_rows, read_batches, spread
from nmt.data.tokenizer import TokenizerPair
from nmt.errors import ConfigError, counted
from nmt.machine.home import expanded
from nmt.model.build import needs_equal_sizes
from nmt.scoring.cautions import scripts_of
from nmt.training.first_weights import config_from

C = TypeVar("C", bound=TrainCommand)
N = TypeVar("N", int, float)

# Facts are taken from so many pairs at most, from all over the corpus:
LOOKED_AT = 100_000  # pairs to count characters and copies in
ENCODED = 10_000  # pairs to count pieces and words in
WORDS = 40_000  # running words of which some occur once: fewer of a longer text do
WORD_LENGTHS = (2, 15)  # characters of a word in the mean; what lies outside is no text with spaces between words
COVERAGE = 0.998  # share of the text's characters that get a piece, where there are many different ones
MANY_CHARACTERS = 1000
MOST_PIECES = 32_000
LONGEST_PIECE = 16  # characters of a piece at most, as SentencePiece trains them
ALONE = 1.2  # times the share of words that occur once, on the only side that has words
SPECIAL = 260  # pieces that are not text: four special ones and 256 bytes
WIDE = 3  # letters that a wide character is worth: a Chinese, Japanese or Korean one is a word or a syllable
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
NEARLY_ALL = 0.95  # share of new text; below it, the recipe names the copies
QUICK_SENTENCES = 200  # of dev, translated at a validation where time is short
FURTHER_LR, FURTHER_READINGS = 0.5, 1 / 5  # of the rate in `Training`, and of the readings of a new model
FURTHER = "a trained model needs smaller steps"
SIDES = ("src", "tgt")
SECTIONS = ("tokenizer", "model", "encoder", "decoder", "optimizer", "schedule", "train")


@dataclass(frozen=True)
class Facts:
    """What the recipe knows about a training split."""

    pairs: int
    size: int  # characters of the smaller side, a wide one counted WIDE times; pairs that occur twice count once
    alphabets: tuple[int, int]  # different characters that make up COVERAGE of the source and of the target
    one_script: bool  # are both sides mostly in the same script?
    seen_once: float  # share of different words that occur once in WORDS of them, on the side with more
    tokens: int = 0  # of the longer side, summed over the pairs; 0 before there is a tokenizer
    epoch: float = 1.0  # share of the pairs that an epoch has; below 1 where parts of the corpus have weights
    whole_part: float = 1.0  # share of the pairs in the part that an epoch reads as a whole
    new: float = 1.0  # share of the text in pairs that have not occurred before


@dataclass(frozen=True)
class Training:
    """The size of an RNN model, and how it is trained."""

    d_embed: int
    width: int  # encoder units in each of two directions; the decoder is twice as wide
    layers: int = 2  # decoder layers
    batch: float = 1.0  # times the recipe's tokens per batch
    lr: float = 0.002
    consistency: float = 0.0  # R-Drop; above 0, the model reads each batch twice
    least: float = 0.0  # share of the recipe's readings, below which the training before it learns more in this time


OF_LITTLE_TEXT = Training(256, 192, batch=0.5, lr=0.004, consistency=2.0, least=0.6)


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
    """The recipe for a command: facts about its corpus, which is read only once, and choices for its tokenizer."""

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
    max_tokens = run.data.filters.max_tokens
    train = corpus.path("train")
    facts = facts_of(train, max_tokens)
    weights = run.data.train.weights
    if weights is not None:
        mix = Mix(corpus.mixed, weights)
        facts = replace(facts, epoch=mix.share, whole_part=mix.whole_part)
    if given is not None:
        config, _, tokenizers = given
        facts = replace(facts, tokens=tokens_of(train, tokenizers, max_tokens))
        return Recipe(replace(command, run=config), facts, [])
    pieces = [each for each in tokenizer_choices(facts, run, typed.values) if each.key not in typed.values]
    tokenizer = with_choices(run, pieces, typed, command.trust).tokenizer
    found = fitting(corpus, tokenizer, cache_dir)
    if found != tokenizer and "tokenizer.vocab_size" not in typed.values:  # if it is typed, training refuses it
        if found.joint != tokenizer.joint and "tokenizer.joint" in typed.values:
            raise ConfigError(
                "tokenizer.joint=false needs a vocabulary size that both sides of this corpus can have, and there is "
                "none; leave it out, so that they share a vocabulary"
            )
        why = "the nearest that SentencePiece can make of it"
        fits = [Choice("tokenizer.vocab_size", found.vocab_size, why)]
        fits += [Choice("tokenizer.joint", found.joint, why)] if found.joint != tokenizer.joint else []
        pieces = [each for each in pieces if each.key not in [fit.key for fit in fits]]
        pieces += [each for each in fits if each.key not in typed.values]
    facts = replace(facts, tokens=tokens_of(train, trained_tokenizers(corpus, found, cache_dir), max_tokens))
    return Recipe(command, facts, pieces)


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
    copies = f", {1 - facts.new:.0%} of the text in copies" if facts.new < NEARLY_ALL else ""
    corpus = f"{counted(facts.pairs, 'pair')} ({rounded(facts.size):,} characters a side{copies})"
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


def is_new_rnn(run: RunConfig) -> bool:
    """Is it an RNN encoder–decoder that starts from random weights?"""
    return run.init_from is None and is_recurrent(run)


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


def trainings(facts: Facts) -> list[Training]:
    """Trainings of a new RNN, the shortest first. Once a model has learned all it can, a larger one learns more.

    On Multi30k, 24 epochs each, one layer has 40.5 BLEU on dev. Two layers have 41.8, in 1.5 times the time. A wider
    model with R-Drop has 42.7, in 3.7 times the time of two layers. At a width of 256, one pass was no better. After
    350 updates, one layer has learned as much as two. After 1,505 updates (3.6 epochs), one layer has 31.9 greedy BLEU
    at a rate of 0.002, 35.2 at 0.004, and 35.9 with half the batch as well. In 60 minutes of one core, two layers with
    such a rate and batch (10 epochs) have 39.3 greedy BLEU, one layer (17 epochs) 38.3. On 10,000 of the pairs,
    20 epochs of two layers have 31.8 with them, and 22 epochs have 30.6 without; with two passes as well, 12 epochs
    have 32.1 in the same time. With more text, a model that reads each batch once learns less by heart.
    """
    one = Training(256, 192, layers=1, batch=0.5, lr=0.004)
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
    if not is_new_rnn(run):
        return Training(256, 192)
    if facts.size < LITTLE_TEXT:
        return OF_LITTLE_TEXT
    _, narrow, *_, wide = trainings(facts)
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
    if training.consistency:
        why = "little text: reading each batch twice helps more than more epochs"
        yield Choice("train.consistency", training.consistency, why)
    # Tatoeba en-de, 3,000 pairs: dev loss 3.755 with 0.5, 3.80 with 0.3. Multi30k: 0.4. Tatoeba, 165,000 pairs: 0.2.
    dropout = stepwise(facts.size, {LEAST_TEXT: 0.5, LITTLE_TEXT: 0.4, 6e6: 0.2, 60e6: 0.15}, 0.1)
    words = 0.1 if facts.size < LEAST_TEXT else 0.05  # Multi30k: 0.05 brings 1.2 BLEU
    yield from dropout_choices(dropout, words, facts, effort)
    if effort is not None and effort.share < 1:  # Multi30k, 1,384 updates: 32.0 greedy BLEU with 0, 30.6 with 0.2
        yield Choice("model.embed_dropout", round(0.2 * effort.share, 2), SHORT)


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
    """The settings of the Transformer recipe for Multi30k, which has 36.9 BLEU."""
    why = "what did best for a Transformer on 29,000 pairs"
    yield Choice("model.tie", "target", why)
    if run.encoder.name == "TransformerEncoder":
        yield Choice("model.embed_dropout", 0.0, why)
    dropout = stepwise(facts.size, {LEAST_TEXT: 0.3, LITTLE_TEXT: 0.2}, 0.1)
    yield from dropout_choices(dropout, 0.0, facts, effort)


def batch_of(facts: Facts, run: RunConfig, typed: Collection[str], training: Training) -> int:
    """Tokens per batch. On Multi30k, 1,250 instead of 2,500 bring 1.0 BLEU in the same time."""
    if "train.batch_tokens" in typed:
        return run.train.batch_tokens
    batch: int = stepwise(facts.size, {0.05e6: LEAST_BATCH, 20e6: 1250, 100e6: 2500}, 5000)
    return max(LEAST_BATCH, round(training.batch * batch)) if is_recurrent(run) else 2 * batch


def readings_of(facts: Facts, further: bool = False) -> int:
    """How often a training without a budget reads the text; with two passes of each batch, an epoch has two readings.

    A mix has epochs of fewer pairs, so there are more of them; an epoch with copies reads the same text again.

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
    lr = training.lr if is_recurrent(run) else 0.001
    why = "small batches at this rate learn most in the same time"
    yield Choice("optimizer.lr", FURTHER_LR * lr if further else lr, FURTHER if further else why)
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


@cache
def facts_of(train: Path, max_tokens: int | None) -> Facts:
    """Facts about the table of a training split; cached, because every job of a sweep asks for them.

    A pair with more than `max_tokens` pieces, whatever the pieces are, does not count: it will be dropped.
    """
    pairs, lengths = 0, [0, 0]
    for batch in read_batches(train):
        of_batch = np.array([pc.utf8_length(batch[column]).to_numpy() for column in SIDES])
        if max_tokens is not None:
            of_batch = of_batch[:, of_batch.max(axis=0) <= LONGEST_PIECE * max_tokens]
        pairs += of_batch.shape[1]
        lengths = [before + int(more) for before, more in zip(lengths, of_batch.sum(axis=1), strict=True)]
    letters: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    for batch in spread(train, LOOKED_AT):
        for side, column in enumerate(SIDES):
            letters[side].update("".join(batch[column].to_pylist()))
    src, tgt = letters
    new = share_of_new(train)
    return Facts(
        pairs=pairs,
        size=max(1, round(new * min(map(in_letters, lengths, letters)))),
        alphabets=(most_common(src), most_common(tgt)),
        one_script=main_script(src) == main_script(tgt),
        seen_once=share_seen_once(train),
        new=new,
    )


def share_of_new(train: Path) -> float:
    """Share of the characters in pairs that have not occurred before.

    Of a large corpus, it looks at the pairs whose lengths have one of several remainders; copies have the same one.
    """
    remainders = max(1, -(-count_rows(train) // LOOKED_AT))
    seen: set[tuple[str, str]] = set()
    characters = new = 0
    for batch in read_batches(train):
        src, tgt = (pc.utf8_length(batch[column]).to_numpy() for column in SIDES)
        chosen = batch.filter(pa.array((31 * src + tgt) % remainders == 0))
        for pair in zip(*(chosen[column].to_pylist() for column in SIDES), strict=True):
            length = sum(map(len, pair))
            characters += length
            if pair not in seen:
                seen.add(pair)
                new += length
    return new / characters if characters else 1.0


def share_seen_once(train: Path) -> float:
    """Share of the different words that occur once, on the side with more of them; 1 where no side has words.

    Texts that are repeated count once. A text without spaces, or with spaces between characters, has no words. Where
    only one side has words, its share counts more: Vietnamese, with a space after each syllable, has 0.48.
    """
    texts: tuple[dict[str, None], dict[str, None]] = {}, {}  # dictionaries keep the order
    for batch in spread(train, ENCODED):
        for side, column in enumerate(SIDES):
            texts[side].update(dict.fromkeys(batch[column].to_pylist()))
    shares: list[float] = []
    shortest, longest = WORD_LENGTHS
    for each in texts:
        mixed = Random(0).sample(list(each), len(each))  # words from all over the corpus
        words = list(islice((word for text in mixed for word in text.split()), WORDS))
        if words and shortest <= sum(map(len, words)) / len(words) <= longest:
            counts = Counter(words)
            shares.append(sum(count == 1 for count in counts.values()) / len(counts))
    if len(shares) == 1:
        return min(1.0, ALONE * shares[0])
    return max(shares, default=1.0)


def tokens_of(train: Path, tokenizers: TokenizerPair, max_tokens: int | None) -> int:
    """Tokens of the longer side, eos included, summed over the pairs of a table; extrapolated from some of many.

    Pairs with more than `max_tokens` pieces on a side do not count.
    """
    looked_at, tokens = 0, 0
    for batch in spread(train, ENCODED):
        src = tokenizers.src.encode_batch(batch["src"].to_pylist())
        tgt = tokenizers.tgt.encode_batch(batch["tgt"].to_pylist())
        longer = (max(map(len, pair)) for pair in zip(src, tgt, strict=True))
        tokens += sum(pieces + 1 for pieces in longer if max_tokens is None or pieces <= max_tokens)
        looked_at += batch.num_rows
    return tokens * count_rows(train) // looked_at


def in_letters(length: int, characters: Counter[str]) -> int:
    """How many letters of an alphabet a text of this length is worth, judged by some of its characters."""
    wide = sum(count for character, count in characters.items() if east_asian_width(character) in "WF")
    return round(length * (1 + (WIDE - 1) * wide / max(1, characters.total())))


def most_common(letters: Counter[str]) -> int:
    """How many of the most frequent characters make up COVERAGE of the text."""
    left = COVERAGE * letters.total()
    for number, (_, count) in enumerate(letters.most_common(), 1):
        left -= count
        if left <= 0:
            return number
    return len(letters)


def main_script(letters: Counter[str]) -> str | None:
    """The script of most letters; None: there are no letters."""
    return next((script for script, _ in scripts_of(letters).most_common(1)), None)
