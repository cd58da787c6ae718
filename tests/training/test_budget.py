"""`budget=`: read, refused, planned from what is measured, and kept."""

import math
import re
import shlex
import signal
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.training_runs import write_corpus

from nmt.config.compose import command_of
from nmt.config.identity import essence
from nmt.config.run import RunConfig
from nmt.config.times import seconds_of
from nmt.config.verbs import TrainCommand
from nmt.data.corpus import read_corpus
from nmt.data.prepare import prepare
from nmt.errors import ConfigError
from nmt.machine.peers import ALONE, Peers
from nmt.training import budget, recipe
from nmt.training.budget import LEAST_VALIDATIONS, Pace, timed, weights_of, within_budget
from nmt.training.corpus_facts import facts_of
from nmt.training.first_weights import random_model
from nmt.training.recipe import MOST_VALIDATIONS, filled, passes_of, readings_of, recipe_for, trainings
from nmt.training.run import start
from nmt.training.trainer import Trainer

PACE = Pace(update_s=0.1, validation_s=1.0, updates_per_epoch=100, passes=1, weights=1_000_000)
SMALL = ["model.d_embed=8", "encoder.d_hidden=8", "decoder.d_hidden=16", "tokenizer.vocab_size=300"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    numbers = [" ".join(f"{number * step % 307}" for step in (1, 3, 7, 11)) for number in range(300)]
    write_corpus(folder, [(text, text[::-1]) for text in numbers])
    return folder


def command(folder: Path, *words: str) -> TrainCommand:
    own = [f"data.root={folder}", "data.train.src=train.src", "data.train.tgt=train.tgt", f"cache_dir={folder}/cache"]
    found: TrainCommand = command_of("train", ["data=text", "name=run", *own, *words])
    return found


def plan(given: TrainCommand) -> RunConfig:
    recipe = recipe_for(given)
    run = given.run if recipe is None else recipe.filled()
    prepared = prepare(run.data, run.tokenizer, Path(run.cache_dir))
    return within_budget(given, recipe, run, prepared, ALONE)[0]


def paced(monkeypatch: pytest.MonkeyPatch, pace: Pace, gone: float = 10.0) -> list[RunConfig]:
    """Everything that is timed has this pace, or by its weights a slower one; what was timed."""
    found: list[RunConfig] = []

    def pretended(config: RunConfig, prepared: Any, seconds: float, peers: Any) -> Pace:
        found.append(config)
        weights = weights_of(random_model(config, prepared.tokenizers))
        passes = passes_of(config.train.consistency)
        update_s = pace.update_s * passes * weights / 1_000_000
        return replace(pace, update_s=update_s, passes=passes, weights=weights)

    monkeypatch.setattr(budget, "timed", pretended)
    monkeypatch.setattr(budget, "since_start_s", lambda: gone)
    return found


def test_all_processes_take_the_parts_of_the_first(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of two machines has twice the cores of this one."""
    timed_runs = paced(monkeypatch, PACE)
    given = command(corpus, "budget=5m")
    own = plan(given).train.parts
    assert own is not None

    class Two(Peers):
        def gathered(self, value: Any) -> list[Any]:
            first = value | {"train": value["train"] | {"parts": 2 * own}} if isinstance(value, dict) else value
            return [first, value]

    found = recipe_for(given)
    assert found is not None
    prepared = prepare(found.filled().data, found.filled().tokenizer, Path(given.run.cache_dir or ""))
    timed_runs.clear()
    run, _ = within_budget(given, found, found.filled(), prepared, Two(1, 2))
    assert timed_runs
    assert {each.train.parts for each in (run, *timed_runs)} == {2 * own}


@pytest.mark.parametrize(
    ("text", "seconds"), [("30m", 1800), ("2h", 7200), ("1h30m", 5400), ("90s", 90), ("0.5h", 1800), ("1m30s", 90)]
)
def test_times_are_read(text: str, seconds: float) -> None:
    assert seconds_of("budget", text) == seconds


@pytest.mark.parametrize(
    "text", ["", "30", "m", "0m", "1d", "-5m", "30 m", "m30", "1m1h", "nan", "infm", f"{'9' * 320}h"]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"is not a length of time; give one such as 30m, 2h, 1h30m or 90s"):
        seconds_of("budget", text)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["budget=5m", "train.max_updates=10"], "budget=5m and train.max_updates both say when to end"),
        (["budget=5m", "train.max_epochs=10"], "budget=5m and train.max_epochs both say when to end"),
        (
            ["budget=5m", "resume=runs/other"],
            "budget=5m is for a new run, and resume=runs/other ends where that run was planned to end",
        ),
        (["budget=soon"], "budget=soon is not a length of time"),
        (["budget=30"], "budget=30 is not a length of time; give one such as 30m"),
        (["budget=1.5"], "budget=1.5 is not a length of time; give one such as 30m"),
    ],
)
def test_what_does_not_go_with_it_is_refused(corpus: Path, words: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        command(corpus, *words)


@pytest.mark.parametrize("seconds", [40.0, 100.0, 1000.0, 10_000.0])
def test_updates_and_validations_fill_the_time(seconds: float) -> None:
    updates, every = PACE.updates_in(seconds)
    validations = -(-updates // every)
    assert LEAST_VALIDATIONS <= validations <= MOST_VALIDATIONS
    used = updates * PACE.update_s + (validations + budget.AFTERWARDS) * PACE.validation_s
    assert 0.9 * seconds <= used <= seconds


@pytest.mark.parametrize("every", [1, 20, 100, 10_000])
def test_validations_that_are_typed_take_time_too(every: int) -> None:
    updates, kept = PACE.updates_in(300.0, every)
    validations = math.ceil(updates / every)
    after = budget.AFTER_ONE if validations == 1 else budget.AFTERWARDS
    used = updates * PACE.update_s + (validations + after) * PACE.validation_s
    assert kept == every
    assert 0.98 * 300 <= used <= 300


@pytest.mark.parametrize("every", [20, 100, 600])
def test_more_time_is_never_fewer_updates(every: int) -> None:
    pace = replace(PACE, validation_s=9.0)
    found = [pace.updates_in(float(seconds), every)[0] for seconds in range(30, 400)]
    assert found == sorted(found)


@pytest.mark.parametrize("recipe", ["auto", "null"])
def test_a_typed_interval_between_validations_makes_the_run_shorter(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, recipe: str
) -> None:
    paced(monkeypatch, replace(PACE, updates_per_epoch=1000))
    runs = [
        plan(command(corpus, "budget=5m", f"recipe={recipe}", "tokenizer.vocab_size=300", "decoder.layers=1", *typed))
        for typed in ([], ["train.validate_every=2"])
    ]
    planned, often = (each.train.max_updates or 0 for each in runs)
    assert runs[1].train.validate_every == 2
    assert 20 < often < planned / 1.3


@pytest.mark.parametrize(
    ("seconds", "few", "typed", "sentences", "examples"),
    [
        (179, 10, [], 10, 1),
        (179, 10, ["train.bleu_sentences=5", "train.examples=2"], 5, 2),
        (181, 10, [], None, 4),
        (179, 30, [], None, 4),
    ],
)
def test_a_short_budget_has_quick_validations(
    corpus: Path, monkeypatch: pytest.MonkeyPatch,
    seconds: int, few: int, typed: list[str], sentences: int | None, examples: int,
) -> None:  # fmt: skip
    """Short by the number of dev sentences, here 30."""
    timed_runs = paced(monkeypatch, PACE)
    monkeypatch.setattr(budget, "QUICK_S", 6.0)
    for module in (budget, recipe):
        monkeypatch.setattr(module, "QUICK_SENTENCES", few)
    run = plan(command(corpus, f"budget={seconds}s", *SMALL, *typed))
    for each in (run, *timed_runs):
        assert (each.train.bleu_sentences, each.train.examples) == (sentences, examples)


def test_one_quick_validation_is_enough() -> None:
    pace = replace(PACE, validation_s=5.0)
    updates, every = pace.updates_in(50.0)
    assert -(-updates // every) == LEAST_VALIDATIONS
    quick_updates, quick_every = replace(pace, quick=True).updates_in(50.0)
    assert quick_updates == quick_every > updates
    used = quick_updates * pace.update_s + (1 + budget.AFTER_ONE) * pace.validation_s
    assert used == pytest.approx(50.0, abs=pace.update_s)


def test_a_small_model_is_timed_as_it_is_and_the_run_fills_the_budget(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed_runs = paced(monkeypatch, PACE)
    run = plan(command(corpus, "budget=3m", *SMALL))
    assert {(each.model.d_embed, each.encoder.arguments["d_hidden"]) for each in timed_runs} == {(8, 8)}
    assert run.train.max_epochs is None
    assert run.train.patience is None
    assert run.train.max_updates is not None
    passes = passes_of(run.train.consistency)
    updates, every = replace(PACE, update_s=0.1 * passes * weights(run) / 1e6).updates_in(budget.FILLED * 180 - 10)
    most = 4 * 80 * 100 // passes
    if updates > most:  # as many validations
        updates, every = most, math.ceil(most / math.ceil(updates / every))
    assert (run.train.max_updates, run.train.validate_every) == (updates, min(every, updates))


def weights(run: RunConfig) -> int:
    prepared = prepare(run.data, run.tokenizer, Path(run.cache_dir))
    return weights_of(random_model(run, prepared.tokenizers))


@pytest.mark.slow
def test_more_time_means_a_larger_model_and_more_passes(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paced(monkeypatch, replace(PACE, updates_per_epoch=20))
    given = command(corpus).run
    facts = facts_of(read_corpus(given.data, Path(given.cache_dir)).path("train"), None)
    found = []
    for minutes in (3, 8, 45, 600):
        run = plan(command(corpus, f"budget={minutes}m"))
        sizes_of = run.encoder.arguments["d_hidden"], run.decoder.arguments["layers"]
        found.append((run.model.d_embed, *sizes_of, run.train.consistency))
        assert passes_of(run.train.consistency) * (run.train.max_updates or 0) <= 4 * readings_of(facts) * 20
    assert found == [(each.d_embed, each.width, each.layers, each.consistency) for each in trainings(facts, run)]


@pytest.mark.parametrize(("minutes", "passes"), [(3, 1), (60, 2)])
def test_more_time_means_two_passes_for_a_transformer(
    corpus: Path, minutes: int, passes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed_runs = paced(monkeypatch, replace(PACE, updates_per_epoch=20))
    parts = ["encoder=transformer", "decoder=transformer", "attention=multi_head", "tokenizer.vocab_size=300"]
    run = plan(command(corpus, f"budget={minutes}m", *parts))
    assert passes_of(run.train.consistency) == passes
    assert len(timed_runs) == passes
    assert passes * run.train.batch_tokens == timed_runs[0].train.batch_tokens


def test_a_short_training_gets_less_dropout(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paced(monkeypatch, replace(PACE, updates_per_epoch=1000))
    short, long = (plan(command(corpus, f"budget={minutes}m")) for minutes in (2, 2000))
    assert short.encoder.arguments["dropout"] < long.encoder.arguments["dropout"]
    assert short.model.word_dropout <= long.model.word_dropout
    assert short.model.embed_dropout < long.model.embed_dropout


@pytest.mark.slow
def test_the_printed_words_give_the_same_configuration(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    paced(monkeypatch, PACE)
    for words in (["decoder.layers=1"], ["recipe=null"], ["recipe=null", "schedule=linear", "schedule.warmup=9"]):
        run = plan(command(corpus, "budget=5m", *words, "tokenizer.vocab_size=300"))
        [line] = [line for line in capsys.readouterr().err.splitlines() if "the same by hand: " in line]
        again = command(
            corpus, "recipe=null", *words, "tokenizer.vocab_size=300", *shlex.split(line.partition(": ")[2])
        )
        assert essence(again.run) == essence(run), words


def test_without_the_recipe_only_the_length_is_decided(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paced(monkeypatch, PACE)
    given = command(corpus, "budget=5m", "recipe=null", "tokenizer.vocab_size=300")
    before, after = essence(given.run), essence(plan(given))
    changed = {key for key in {**before, **after} if before.get(key) != after.get(key)}
    assert changed == {"train.max_updates", "train.max_epochs", "train.validate_every", "schedule.warmup"}
    assert after["schedule.warmup"] == after["train.max_updates"] // 4


def test_parts_that_a_file_sets_stay(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paced(monkeypatch, PACE)
    given = command(corpus, "budget=5m", "recipe=null", "tokenizer.vocab_size=300")
    run = replace(given.run, train=replace(given.run.train, parts=3))
    prepared = prepare(run.data, run.tokenizer, Path(run.cache_dir))
    assert within_budget(given, None, run, prepared, ALONE)[0].train.parts == 3


def test_a_budget_that_is_gone_is_refused(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paced(monkeypatch, PACE, gone=40.0)
    with pytest.raises(
        ConfigError, match=r"budget=41s leaves no time to train: 40 s have gone.*give at least budget=\d+s"
    ):
        plan(command(corpus, "budget=41s", *SMALL))
    plan(command(corpus, "budget=90s", *SMALL))


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("typed", [[], ["train.validate_every=7"]])
def test_the_least_budget_that_a_refusal_names_is_enough(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, quick: bool, typed: list[str]
) -> None:
    paced(monkeypatch, replace(PACE, validation_s=5.0), gone=40.0)
    if quick:
        monkeypatch.setattr(budget, "QUICK_S", 1000.0)
        monkeypatch.setattr(budget, "QUICK_SENTENCES", 5)
    with pytest.raises(ConfigError, match="leaves no time to train") as error:
        plan(command(corpus, "budget=41s", *SMALL, *typed))
    named = re.search(r"give at least (budget=\d+s)", str(error.value))
    assert named is not None
    assert (plan(command(corpus, named[1], *SMALL, *typed)).train.max_updates or 0) >= budget.LEAST_UPDATES


@pytest.mark.parametrize(
    ("validation_s", "remedy"), [(100.0, r", or make validations short: train\.bleu_sentences=50"), (1.0, "")]
)
def test_short_validations_are_a_remedy_where_they_take_most_of_the_time(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, validation_s: float, remedy: str
) -> None:
    paced(monkeypatch, replace(PACE, validation_s=validation_s), gone=40.0)
    with pytest.raises(ConfigError, match=rf"give at least budget=\d+s{remedy}$"):
        plan(command(corpus, "budget=41s", *SMALL))


def test_more_time_than_pays_is_not_taken(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    paced(monkeypatch, replace(PACE, updates_per_epoch=1))
    run = plan(command(corpus, "budget=90h"))
    assert passes_of(run.train.consistency) * (run.train.max_updates or 0) == 4 * 80
    assert "longer would not pay" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(("pairs_take_s", "binds"), [(1000, True), (13, False)])
def test_a_trained_model_is_trained_no_longer_than_pays(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    pairs_take_s: int, binds: bool,
) -> None:  # fmt: skip
    small = [*SMALL, f"runs_dir={tmp_path}", "train.max_updates=1", "train.bleu_sentences=1"]
    assert start(filled(command(corpus, *small), say=False).run) == 0
    pace = Pace(update_s=0.1, validation_s=13.0, updates_per_epoch=pairs_take_s, passes=1, weights=1_000_000)
    monkeypatch.setattr(budget, "timed", lambda *arguments: pace)
    monkeypatch.setattr(budget, "since_start_s", lambda: 10.0)
    words = [f"init_from={tmp_path}/run", "decoder.dropout=0.11"]
    given = command(corpus, *words, "budget=2m")
    fit = plan(given)
    said = capsys.readouterr().err
    free = filled(command(corpus, *words), say=False).run
    updates, every = fit.train.max_updates, fit.train.validate_every
    assert updates is not None
    assert every is not None
    assert (updates == (free.train.max_epochs or 0) * pairs_take_s) == (not binds)
    assert ("the training takes only" in said) == (not binds)
    assert 10 + updates * 0.1 + (1 + math.ceil(updates / every) + 2.5) * 13 <= 120
    assert updates / every > 1
    assert fit.encoder == free.encoder
    assert fit.optimizer == free.optimizer
    assert fit.decoder.arguments["dropout"] == 0.11
    [line] = [line for line in said.splitlines() if "the same by hand: " in line]
    again = command(corpus, *words, *shlex.split(line.partition(": ")[2]))
    assert again.recipe is None
    assert all(getattr(again.run, each) == getattr(fit, each) for each in ("train", "optimizer", "schedule"))


@pytest.mark.parametrize(("minutes", "is_little"), [(2, True), (2000, False)])
def test_little_time_is_said_with_the_time_that_is_enough(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], minutes: int, is_little: bool
) -> None:
    paced(monkeypatch, replace(PACE, updates_per_epoch=1000))
    plan(command(corpus, f"budget={minutes}m"))
    said = capsys.readouterr().err
    found = re.search(r"caution: budget=2m holds \d% of the training .* weak; budget=(\d+)m would hold a third", said)
    assert (found is not None) == is_little
    if found is not None:
        plan(command(corpus, f"budget={found[1]}m"))
        assert "caution" not in capsys.readouterr().err


@pytest.mark.slow
def test_a_timed_run_leaves_nothing_and_changes_nothing(corpus: Path, tmp_path: Path, capsys: Any) -> None:
    run = filled(command(corpus, *SMALL), say=False).run
    prepared = prepare(run.data, run.tokenizer, Path(run.cache_dir))
    before = random_model(run, prepared.tokenizers).state_dict()
    pace = timed(run, prepared, 0.2, ALONE)
    after = random_model(run, prepared.tokenizers).state_dict()
    assert all(before[name].equal(after[name]) for name in before)
    assert pace.update_s > 0
    assert pace.validation_s > 0
    assert pace.weights == weights(run)
    assert capsys.readouterr().err == ""


def test_a_timed_run_that_is_ended_leaves_nothing(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(trainer: Trainer, updates: int, peers: Peers) -> float:
        assert list(tmp_path.iterdir())
        signal.raise_signal(signal.SIGTERM)
        return 1.0

    monkeypatch.setattr(budget, "seconds_for", ended)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    run = filled(command(corpus, *SMALL), say=False).run
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit, match="143"):
        timed(run, prepare(run.data, run.tokenizer, Path(run.cache_dir)), 1.0, ALONE)
    assert not list(tmp_path.iterdir())
    assert signal.getsignal(signal.SIGTERM) == before


def test_updates_are_timed_before_and_after_the_validation(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that others use may be fast for some seconds."""
    run = filled(command(corpus, *SMALL), say=False).run
    order: list[int | str] = []
    validate = Trainer.validate

    def seconds_for(trainer: Trainer, updates: int, peers: Peers) -> float:
        order.append(updates)
        trainer.update()
        return {1: 0.4, 2: 1.0, 4: 3.0}[len(order)]

    def noted(trainer: Trainer) -> None:
        order.append("validation")
        validate(trainer)

    monkeypatch.setattr(budget, "seconds_for", seconds_for)
    monkeypatch.setattr(Trainer, "validate", noted)
    pace = timed(run, prepare(run.data, run.tokenizer, Path(run.cache_dir)), 1.1, ALONE)
    assert order == [4, 5, "validation", 6]
    assert pace.update_s == pytest.approx(4.0 / 11)


def test_weights_are_what_a_token_is_multiplied_with(corpus: Path) -> None:
    words = ["model.d_embed=7", "encoder.d_hidden=5", "decoder.d_hidden=11", "decoder.layers=1", "attention=none"]
    run = filled(command(corpus, *words, "tokenizer.vocab_size=300"), say=False).run
    own = random_model(run, prepare(run.data, run.tokenizer, Path(run.cache_dir)).tokenizers)
    encoder = 2 * 4 * 5 * (7 + 5)
    rest = sum(p.numel() for name, p in own.named_parameters() if p.dim() > 1 and not name.startswith(("enc", "emb")))
    assert weights_of(own) == encoder + rest
