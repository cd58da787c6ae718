"""`recipe=auto`: what is typed wins, the printed words give the same configuration, and the rules follow the corpus."""

import random
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.small_corpora import make_pairs
from helpers.training_runs import write_corpus

from nmt.config.compose import command_of
from nmt.config.identity import essence
from nmt.config.run import RunConfig
from nmt.config.sections import DataConfig, TokenizerConfig
from nmt.config.verbs import TrainCommand
from nmt.data.corpus import Corpus, read_corpus
from nmt.data.prepare import fitting, prepare
from nmt.data.tokenizer import TokenizerPair
from nmt.data.train_tokenizers import VocabularySizeError
from nmt.errors import ConfigError
from nmt.training import corpus_facts, recipe
from nmt.training.corpus_facts import Facts, facts_of, of_epoch, with_pieces
from nmt.training.recipe import (
    Choice,
    choices_of,
    filled,
    passes_of,
    readings_of,
    recipe_for,
    tokenizer_choices,
)
from nmt.training.run import start

FACTS = Facts(pairs=29_000, size=1_800_000, alphabets=(60, 70), one_script=True, seen_once=0.6, tokens=480_000)
HAN = "".join(chr(0x4E00 + number) for number in range(2000))


def sentences(count: int, letters: str, seed: int) -> Iterator[str]:
    """Sentences of made-up words, of all lengths."""
    rng = random.Random(seed)
    words = ["".join(rng.choices(letters, k=rng.randint(1, 7))) for _ in range(500)]
    for _ in range(count):
        yield " ".join(rng.choices(words, k=rng.randint(2, 12)))


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    found = {}
    for name, letters in {"latin": "abcdefghijklmnopqrst", "han": HAN}.items():
        found[name] = tmp_path_factory.mktemp(name)
        pairs = zip(sentences(400, "abcdefghij", 1), sentences(400, letters, 2), strict=True)
        write_corpus(found[name], list(pairs))
    return found


def words_of(folder: Path, *words: str) -> list[str]:
    own = [f"data.root={folder}", "data.train.src=train.src", "data.train.tgt=train.tgt", f"cache_dir={folder}/cache"]
    return ["data=text", "name=run", *own, *words]


def command(folder: Path, *words: str) -> TrainCommand:
    found: TrainCommand = command_of("train", words_of(folder, *words))
    return found


def values(facts: Facts, run: RunConfig | None = None) -> dict[str, Any]:
    """The recipe, key by key."""
    run = run or command_of("train", []).run
    return {each.key: each.value for each in (*tokenizer_choices(facts, run), *choices_of(facts, run))}


@pytest.mark.parametrize(
    "typed",
    [
        [],
        ["encoder.dropout=0.33", "train.max_epochs=3"],
        ["encoder=transformer", "decoder=transformer", "attention=multi_head"],
        ["encoder=rnn_self_attention", "attention=additive"],
        ["schedule=cosine", "train.max_updates=100"],
        ["tokenizer=char"],
        ["tokenizer=bpe", "model.word_dropout=0.3"],
        ["decoder.layers=1", "tokenizer.joint=true", "model.tie=none", "train.patience=3"],
        ["decoder.cell=gru", "train.parts=3", "seed=7"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("corpus", ["latin", pytest.param("han", marks=pytest.mark.slow)])
def test_the_printed_words_give_the_same_configuration(
    corpora: dict[str, Path], corpus: str, typed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    made = filled(command(corpora[corpus], *typed))
    said = capsys.readouterr().err.splitlines()
    [line] = [line for line in said if "the same by hand: " in line]
    again = command(corpora[corpus], *typed, *shlex.split(line.partition(": ")[2]))
    assert again.recipe is None
    assert essence(filled(again).run) == essence(made.run)
    assert capsys.readouterr().err == ""


def test_what_is_typed_wins(corpora: dict[str, Path]) -> None:
    typed = {
        "encoder.dropout": 0.33, "model.tie": "none", "tokenizer.vocab_size": 333, "train.max_epochs": 7,
        "optimizer.lr": 0.0123, "schedule.warmup": 11, "train.patience": 2,
    }  # fmt: skip
    run = filled(command(corpora["latin"], *(f"{key}={value}" for key, value in typed.items()))).run
    assert typed.items() <= essence(run).items()


def test_an_experiment_a_resumed_run_and_null_stay_as_they_are(corpora: dict[str, Path]) -> None:
    for words in (["recipe=null"], ["experiment=demo_en_de"], ["resume=runs/other"], ["recipe=null", "init_from=x"]):
        given = command(corpora["latin"], *words)
        assert filled(given) == given, words


@pytest.mark.slow
@pytest.mark.parametrize("parts", [[], ["encoder=transformer", "decoder=transformer", "attention=multi_head"]])
def test_a_trained_model_learns_on_with_smaller_steps_and_stays_as_it_is(
    corpora: dict[str, Path], tmp_path: Path, parts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    typed = [*parts, "model.d_embed=8", "tokenizer.vocab_size=300", "train.max_updates=1"]
    small = ["d_model=8", "d_feed_forward=8", "heads=2"] if parts else ["d_hidden=8"]
    typed += [f"{side}.{each}" for side in ("encoder", "decoder") for each in small] + ["decoder.layers=1"]
    first = filled(command(corpora["latin"], *typed, f"runs_dir={tmp_path}", "train.bleu_sentences=1"), say=False).run
    assert start(first) == 0
    words = [f"init_from={tmp_path}/run", "train.batch_tokens=500", "decoder.dropout=0.12"]
    capsys.readouterr()
    made = filled(command(corpora["latin"], *words)).run
    [line] = [line for line in capsys.readouterr().err.splitlines() if "the same by hand: " in line]
    again = command(corpora["latin"], *words, *shlex.split(line.partition(": ")[2]))
    assert again.recipe is None
    sections = ("train", "optimizer", "schedule")
    assert all(getattr(again.run, each) == getattr(made, each) for each in sections)
    assert all(getattr(made, each) == getattr(first, each) for each in ("tokenizer", "model", "encoder", "attention"))
    new = filled(command(corpora["latin"], *parts), say=False).run
    assert made.optimizer.arguments["lr"] < new.optimizer.arguments["lr"]
    assert 1 <= (made.train.max_epochs or 0) < (new.train.max_epochs or 0)
    assert (made.schedule.name, made.train.patience, made.train.batch_tokens) == ("Linear", None, 500)


def test_the_facts_are_those_of_the_training_split(corpora: dict[str, Path]) -> None:
    for name in corpora:
        given = command(corpora[name], "data.dev_size=10", "data.test_size=0").run
        corpus = read_corpus(given.data, Path(given.cache_dir))
        src, tgt = (list(corpus.train[side]) for side in ("src", "tgt"))
        facts = facts_of(corpus.path("train"), None)
        assert facts.pairs == len(src)
        assert facts.size == min(
            sum(3 if letter in HAN else 1 for text in side for letter in text) for side in (src, tgt)
        )
        assert facts.one_script == (name == "latin")
        assert facts.alphabets[0] == 11  # ten letters and the space
        assert (facts.alphabets[1] > 1000) == (name == "han")


@pytest.mark.parametrize("letters", ["абвгдежзик", "αβγδεζηθικ", "אבגדהוזחטי", "कखगघङचछजझञ", "กขฃคฅฆงจฉช"])
def test_the_alphabet_decides_nothing(letters: str, tmp_path: Path) -> None:
    """UTF-8 writes a letter in one, two or three bytes; the text is as long."""
    pairs, spelled = make_pairs(60), str.maketrans("abcdefghij", letters)
    other = [(src.translate(spelled), tgt.translate(spelled)) for src, tgt in pairs]
    facts = []
    for name, corpus in {"latin": pairs, "other": other}.items():
        folder = tmp_path / name
        folder.mkdir()
        write_corpus(folder, corpus)
        run = command(folder, "data.dev_size=0", "data.test_size=0").run
        facts.append(facts_of(read_corpus(run.data, Path(run.cache_dir)).path("train"), None))
    latin, given = facts
    assert given == latin


def test_a_wide_character_counts_as_three_letters(tmp_path: Path) -> None:
    write_corpus(tmp_path, [("你好世界", "はい 한국"), ("你好世界", "はい no")])
    run = command(tmp_path, "data.dev_size=0", "data.test_size=0").run
    assert facts_of(read_corpus(run.data, Path(run.cache_dir)).path("train"), None).size == 13 + 9


def tokens_of(corpus: Corpus, tokenizers: TokenizerPair, data: DataConfig) -> int:
    return with_pieces(facts_of(corpus.path("train"), None), corpus, tokenizers, data).tokens


def test_tokens_are_those_of_the_longer_side(corpora: dict[str, Path]) -> None:
    run = filled(command(corpora["latin"])).run
    prepared = prepare(run.data, run.tokenizer, Path(run.cache_dir))
    sides = (prepared.train[:]["src_ids"], prepared.train[:]["tgt_ids"])
    corpus = read_corpus(run.data, Path(run.cache_dir))
    assert tokens_of(corpus, prepared.tokenizers, run.data) == sum(
        max(map(len, pair)) + 1 for pair in zip(*sides, strict=True)
    )


def test_different_scripts_get_a_vocabulary_each() -> None:
    assert "tokenizer.joint" not in values(FACTS)
    apart = values(replace(FACTS, one_script=False, alphabets=(60, 3000)))
    assert apart["tokenizer.joint"] is False
    assert apart["tokenizer.character_coverage"] < 1
    assert apart["tokenizer.vocab_size"] == 5000


def test_sides_that_no_size_fits_get_one_vocabulary(corpora: dict[str, Path]) -> None:
    tokenizer = filled(command(corpora["han"])).run.tokenizer  # ten letters, and more than 1,000 characters
    assert tokenizer.joint
    assert tokenizer.vocab_size > 1000


def test_a_vocabulary_that_the_corpus_cannot_fill_is_made_smaller(tmp_path: Path) -> None:
    write_corpus(tmp_path, [(f"{a} {b}", f"{b} {a}") for a in "abcde" for b in "abcde"])
    run = filled(command(tmp_path, "data.dev_size=2", "data.test_size=0")).run
    assert 260 < run.tokenizer.vocab_size < 500


def test_the_rules_follow_the_amount_of_text() -> None:
    found = [values(replace(FACTS, size=size, tokens=size // 4)) for size in (10**4, 10**5, 10**6, 10**7, 10**8, 10**9)]
    for key, sign in {
        "tokenizer.vocab_size": 1, "train.batch_tokens": 1, "encoder.d_hidden": 1, "encoder.dropout": -1,
        "train.max_epochs": -1, "model.word_dropout": -1,
    }.items():  # fmt: skip
        row = [sign * each[key] for each in found]
        assert row == sorted(row), key
        assert row[0] != row[-1], key


def test_on_multi30k_it_is_the_model_found_there_and_takes_as_long() -> None:
    own = command_of("train", ["experiment=multi30k_en_de"]).run
    known, found = essence(own), values(FACTS)
    trained_otherwise = ("train.max_epochs", "train.consistency", "train.batch_tokens", "optimizer.lr")
    for key, value in found.items():
        if "." in key and key not in ("tokenizer.model", *trained_otherwise):
            assert known[key] == value, key
    assert found["train.consistency"] > 0
    assert 2 * found["train.max_epochs"] == own.train.max_epochs  # each batch is read twice


def test_words_are_as_they_are_typed() -> None:
    words = [Choice("a.b", value, "").word for value in (None, True, False, 0.0, 1, 1250, 0.05, "target")]
    assert words == [f"a.b={text}" for text in ("null", "true", "false", "0.0", "1", "1250", "0.05", "target")]


def test_the_runs_length_is_what_is_typed_of_it(corpora: dict[str, Path]) -> None:
    run = filled(command(corpora["latin"], "train.max_updates=5000")).run
    assert (run.train.max_updates, run.train.max_epochs) == (5000, None)
    recipe = recipe_for(command(corpora["latin"], "train.max_updates=5000"))
    assert recipe is not None
    whys = {each.key: each.why for each in recipe.choices()}
    assert whys["train.max_epochs"] == "train.max_updates ends the run"
    assert run.schedule.arguments["warmup"] == 620
    short = filled(command(corpora["latin"], "train.max_epochs=2")).run
    assert (short.train.max_updates, short.train.max_epochs) == (None, 2)
    assert short.schedule.arguments["warmup"] == 6  # a quarter of the run, which is shorter than 100 updates


def test_where_early_stopping_alone_ends_a_run_it_still_does(corpora: dict[str, Path]) -> None:
    run = filled(command(corpora["latin"], "train.max_epochs=null")).run
    assert (run.train.max_updates, run.train.max_epochs, run.train.patience) == (None, None, 8)
    assert run.schedule.name == "InverseSqrt"


def test_a_file_of_the_users_own_sets_what_it_sets(corpora: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "encoder").mkdir()
    (tmp_path / "encoder" / "mine.yaml").write_text("defaults: [rnn, _self_]\ndropout: 0.37\nd_hidden: 48\n")
    given: TrainCommand = command_of("train", words_of(corpora["latin"], "encoder=mine"), str(tmp_path))
    run = filled(given).run
    assert (run.encoder.arguments["dropout"], run.encoder.arguments["d_hidden"]) == (0.37, 48)
    assert run.encoder.arguments["with_embeddings"]
    assert run.decoder.arguments["dropout"] == filled(command(corpora["latin"])).run.decoder.arguments["dropout"]


def test_regular_text_gets_less_dropout() -> None:
    natural, regular = (values(replace(FACTS, seen_once=share)) for share in (0.6, 0.4))
    assert natural["encoder.dropout"] > regular["encoder.dropout"] > 0
    assert natural["model.word_dropout"] > regular["model.word_dropout"] == 0


def test_symbols_of_the_user_have_room_in_the_vocabulary(corpora: dict[str, Path]) -> None:
    symbols = ",".join(f"__{number}__" for number in range(500))
    few, many = (
        filled(command(corpora["latin"], *words)).run.tokenizer.vocab_size
        for words in ([], [f"tokenizer.user_defined_symbols=[{symbols}]"])
    )
    assert many >= max(few, 500 + recipe.SPECIAL)


def test_words_are_counted_in_different_sentences(tmp_path: Path) -> None:
    for folder, times in ((tmp_path / "once", 1), (tmp_path / "often", 3)):
        folder.mkdir()
        write_corpus(folder, [(f"the {word}", f"das {word} da") for word in "abcdefgh"] * times)
        run = command(folder, "data.dev_size=0", "data.test_size=0").run
        facts = facts_of(read_corpus(run.data, Path(run.cache_dir)).path("train"), None)
        assert facts.seen_once == 8 / 9
        assert facts.new == 1 / times


def table(folder: Path, pairs: list[tuple[str, str]]) -> Path:
    folder.mkdir()
    write_corpus(folder, pairs)
    run = command(folder, "data.dev_size=0", "data.test_size=0").run
    return read_corpus(run.data, Path(run.cache_dir)).path("train")


def test_copies_count_once(tmp_path: Path) -> None:
    pairs = make_pairs(300)
    tables = table(tmp_path / "alone", pairs), table(tmp_path / "copied", pairs * 10)
    alone, copied = (facts_of(each, None) for each in tables)
    assert copied.new == pytest.approx(0.1, rel=0.01)
    assert alone.new > 0.95
    assert copied.size == pytest.approx(alone.size, rel=0.01)
    alone, copied = (replace(each, tokens=10 * each.pairs) for each in (alone, copied))
    few, many = (values(each) for each in (alone, copied))
    assert many["encoder.dropout"] == few["encoder.dropout"]
    assert 10 * many["train.max_epochs"] == pytest.approx(few["train.max_epochs"], abs=5)


def test_a_pair_that_is_dropped_for_its_length_is_no_fact(tmp_path: Path) -> None:
    pairs = make_pairs(300)
    long = [(" ".join(each) for each in zip(*pairs, strict=True))]
    alone, joined = table(tmp_path / "alone", pairs), table(tmp_path / "joined", [*pairs, *map(tuple, long)])
    size = facts_of(alone, 20).size
    assert facts_of(joined, 20).pairs == 300
    assert facts_of(joined, 20).size == pytest.approx(size, rel=0.02)
    assert facts_of(joined, None).pairs == 301
    assert facts_of(joined, None).size == pytest.approx(2 * size, rel=0.1)


@pytest.mark.parametrize("limit", ["max_tokens=8", "max_ratio=1.5"])
def test_pairs_that_are_dropped_for_their_pieces_are_no_facts(tmp_path: Path, limit: str) -> None:
    """The recipe is that of a corpus without them."""
    generator = random.Random(2)
    kept = [(text, text[::-1]) for text in ("".join(generator.choices("abcdefgh", k=6)) for _ in range(50))]
    dropped = [(" ".join(generator.choices("abcdefgh", k=30)), "b") for _ in range(200)]
    words = ["tokenizer=char", "data.dev_size=0", "data.test_size=0"]
    found = []
    for name, pairs in {"alone": kept, "all": kept + dropped}.items():
        write_corpus(tmp_path / name, pairs)
        own = [*words, f"data.filters.{limit}", *([] if name == "alone" else ["tokenizer.joint=true"])]
        each = recipe_for(command(tmp_path / name, *own))
        assert each is not None
        found.append(each)
    alone, joined = found
    assert joined.facts.tokens == alone.facts.tokens == 50 * 8  # characters, the mark of a word and the end
    assert joined.facts.size == pytest.approx(alone.facts.size, abs=1)
    assert (alone.facts.kept, joined.facts.kept) == (1, pytest.approx(0.6))
    assert [each.word for each in joined.choices()] == [each.word for each in alone.choices()]
    assert "in pairs that data.filters drops" in next(recipe.shown(joined.facts, []))
    assert "drops" not in next(recipe.shown(alone.facts, []))


@pytest.mark.parametrize("encoded", [10_000, 40])
def test_an_epoch_of_a_mix_is_as_long_as_its_parts(
    tmp_path: Path, encoded: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its parts have sentences of other lengths, an empty pair, and pairs that are dropped for their pieces."""
    monkeypatch.setattr(corpus_facts, "ENCODED", encoded)
    generator = random.Random(3)

    def part(count: int, length: int) -> list[tuple[str, str]]:
        texts = ["".join(generator.choices("abcdefgh", k=length)) for _ in range(count)]
        return [(text, text[::-1]) for text in texts]

    write_corpus(tmp_path, [*part(60, 40), ("", "")], "long")
    write_corpus(tmp_path, [*part(300, 5), *part(100, 200)], "short")
    words = ["tokenizer=char", "data.dev_size=0", "data.test_size=0", "data.filters.max_tokens=100"]
    words += [
        "data.train.src=[long.src,short.src]",
        "data.train.tgt=[long.tgt,short.tgt]",
        "data.train.weights=[1.0,1.0]",
    ]
    found = recipe_for(command(tmp_path, *words))
    assert found is not None
    run = found.filled()
    prepared = prepare(run.data, run.tokenizer, Path(run.cache_dir))
    assert prepared.mix is not None
    lengths = np.array([len(ids) + 1 for ids in prepared.train[:]["src_ids"]])
    read = lengths[prepared.mix.rows(0, seed=1)].sum()
    assert read == 60 * 42 + 60 * 7
    tolerance = 0.01 if encoded > 400 else 0.3
    assert found.facts.tokens == pytest.approx(lengths.sum(), rel=tolerance)
    assert found.facts.epoch * found.facts.tokens == pytest.approx(read, rel=tolerance)
    assert found.facts.whole_part * found.facts.tokens == pytest.approx(60 * 42, rel=tolerance)


def test_copies_of_one_length_count_once(tmp_path: Path) -> None:
    pairs = [(f"{number:05}", f"{number:07}") for number in range(200)]
    assert facts_of(table(tmp_path / "copied", pairs * 4), None).new == pytest.approx(1 / 4)


def test_a_typed_size_that_is_too_large_for_two_vocabularies_gets_one(
    corpora: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Ten letters cannot fill 1,500 pieces, and more than 1,000 characters need more than the letters have."""
    run = filled(command(corpora["han"], "tokenizer.vocab_size=1500")).run
    assert (run.tokenizer.joint, run.tokenizer.vocab_size) == (True, 1500)
    assert "tokenizer.joint=true: two vocabularies of the size that was typed do not fit" in capsys.readouterr().err
    with pytest.raises(ConfigError, match=r"tokenizer.joint=false needs a vocabulary size that both sides"):
        filled(command(corpora["han"], "tokenizer.vocab_size=1500", "tokenizer.joint=false"))


def test_text_without_words_says_nothing_of_its_words(tmp_path: Path) -> None:
    generator = random.Random(1)
    chinese = [[chr(generator.randrange(0x4E00, 0x4E40)) for _ in range(20)] for _ in range(40)]
    natural = [(" ".join(f"word{generator.randrange(900)}" for _ in range(9)), text) for text in chinese]
    spaced = [(src, " ".join(tgt)) for src, tgt in natural]
    joined = [(src, "".join(tgt)) for src, tgt in natural]
    tables = table(tmp_path / "spaced", spaced), table(tmp_path / "joined", joined)
    first, second = (facts_of(each, None) for each in tables)
    assert first.seen_once == second.seen_once > 0.5
    both = facts_of(table(tmp_path / "words", [(src, " ".join(reversed(src.split()))) for src, _ in natural]), None)
    assert first.seen_once == pytest.approx(min(1.0, 1.2 * both.seen_once))
    assert facts_of(table(tmp_path / "neither", [(tgt, tgt[::-1]) for _, tgt in joined]), None).seen_once == 1


def test_tokens_of_an_ordered_corpus_are_counted_all_over(
    corpora: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = filled(command(corpora["latin"])).run
    tokenizers = prepare(run.data, run.tokenizer, Path(run.cache_dir)).tokenizers
    terms, sentences = [("a b", "b a")] * 100, [("abc def ghi abc def ghi", "ghi def abc ghi def abc")] * 100
    folder = tmp_path / "ordered"
    folder.mkdir()
    write_corpus(folder, terms + sentences)
    given = command(folder, "data.dev_size=0", "data.test_size=0").run
    corpus = read_corpus(given.data, Path(given.cache_dir))
    exact = tokens_of(corpus, tokenizers, given.data)
    monkeypatch.setattr(corpus_facts, "ENCODED", 20)
    assert tokens_of(corpus, tokenizers, given.data) == exact
    monkeypatch.undo()
    encoded = [sorted(map(len, map(tokenizers.src.encode, pair))) for pair in sentences[:1]]
    assert encoded[0][0] > 8
    short = replace(given.data, filters=replace(given.data.filters, max_tokens=8))
    assert tokens_of(corpus, tokenizers, short) == exact - 100 * (encoded[0][1] + 1)


@pytest.mark.parametrize("share", [1.0, 0.03])
def test_copies_are_named(share: float) -> None:
    line = next(recipe.shown(replace(FACTS, new=share), []))
    assert ("97% of the text in copies" in line) == (share < 1)


def test_pieces_that_both_sides_share_stay_one_vocabulary() -> None:
    tied = command_of("train", ["data=demo_en_de", "model.tie=all"]).run
    keys = [each.key for each in tokenizer_choices(replace(FACTS, one_script=False), tied)]
    assert "tokenizer.joint" not in keys


def test_a_typed_batch_decides_how_long_an_epoch_is(corpora: dict[str, Path]) -> None:
    few, many = (
        filled(command(corpora["latin"], f"train.batch_tokens={size}")).run.train.validate_every for size in (2000, 100)
    )
    assert few is not None
    assert many is not None
    assert many > 10 * few


def test_a_mix_is_read_for_as_many_pairs_as_the_whole_would_be() -> None:
    assert readings_of(replace(FACTS, epoch=0.25)) == 4 * readings_of(FACTS)


def test_a_trained_model_reads_the_small_part_of_a_mix_as_often_as_that_part_alone() -> None:
    epoch, whole_part = of_epoch([3_000, 27_000], [1, 3], np.array([10.0, 10.0]))
    mixed = replace(FACTS, epoch=epoch, whole_part=whole_part)
    assert (epoch, whole_part) == (0.4, 0.1)
    alone = replace(FACTS, size=FACTS.size // 10)
    assert readings_of(mixed, further=True) == readings_of(alone, further=True) == 10


KINDS = {
    "rnn": [],
    "rnn in one pass": ["train.consistency=0"],
    "transformer": ["encoder=transformer", "decoder=transformer", "attention=multi_head"],
    "trained rnn": ["init_from=runs/other"],
    "trained transformer": [
        "init_from=runs/other",
        "encoder=transformer",
        "decoder=transformer",
        "attention=multi_head",
    ],
}


@pytest.mark.parametrize(
    ("kind", "megabytes", "layers", "passes", "lr", "batch", "epochs"),
    [
        ("rnn", 0.1, 2, 2, 0.004, 625, 32),
        ("rnn", 1.8, 2, 2, 0.004, 625, 12),
        ("rnn", 2.99, 2, 2, 0.004, 625, 10),
        ("rnn", 3.0, 2, 1, 0.002, 1250, 19),
        ("rnn", 5.5, 2, 1, 0.002, 1250, 14),
        ("rnn", 600, 2, 1, 0.002, 5000, 3),
        ("rnn", 0.04, 2, 2, 0.004, 600, 40),
        ("rnn in one pass", 1.8, 2, 1, 0.004, 625, 12),
        ("rnn in one pass", 5.5, 2, 1, 0.002, 1250, 14),
        ("transformer", 1.8, None, 2, 0.001, 1250, 12),
        ("transformer", 0.04, None, 2, 0.001, 600, 40),
        ("transformer", 3.0, None, 1, 0.001, 2500, 19),
        ("trained transformer", 1.8, None, 1, 0.0005, 2500, 5),
        ("trained rnn", 1.8, None, 1, 0.001, 1250, 5),
        ("trained rnn", 5.5, None, 1, 0.001, 1250, 3),
    ],
)
def test_what_each_amount_of_text_gets(
    kind: str, megabytes: float, layers: int | None, passes: int, lr: float, batch: int, epochs: int
) -> None:
    size = round(1e6 * megabytes)
    given = command_of("train", KINDS[kind])
    typed = given.changes.values
    facts = replace(FACTS, size=size, tokens=size // 4)
    found = {each.key: each.value for each in choices_of(facts, given.run, typed)}
    consistency = float(typed.get("train.consistency", found.get("train.consistency", 0)))
    assert (found.get("decoder.layers"), passes_of(consistency)) == (layers, passes)
    assert (found["optimizer.lr"], found["train.batch_tokens"], found["train.max_epochs"]) == (lr, batch, epochs)
    if passes == 2:
        assert consistency == 2


@pytest.mark.parametrize(("accumulate", "warmup"), [(1, 800), (4, 290), (16, 100)])
def test_accumulated_batches_make_fewer_updates(accumulate: int, warmup: int) -> None:
    facts = replace(FACTS, tokens=480_000)  # 9,216 batches
    found = values(facts, command_of("train", [f"train.accumulate={accumulate}"]).run)
    assert found["schedule.warmup"] == warmup


def test_epochs_of_very_many_updates_have_several_validations() -> None:
    facts = replace(FACTS, size=600_000_000, tokens=150_000_000)  # 30,000 updates an epoch
    assert values(facts)["train.validate_every"] == 5_000
    assert "train.validate_every" not in values(FACTS)


def test_few_epochs_of_many_updates_have_several_validations() -> None:
    facts = replace(FACTS, size=62_000_000, tokens=15_000_000)
    found = values(facts)
    updates = found["train.max_epochs"] * facts.tokens / found["train.batch_tokens"]
    assert updates / found["train.validate_every"] == pytest.approx(10, rel=0.1)
    further = values(replace(FACTS, size=18_000_000, tokens=4_500_000), command_of("train", ["init_from=x"]).run)
    updates = further["train.max_epochs"] * 4_500_000 / further["train.batch_tokens"]
    assert updates / further["train.validate_every"] > 9


@pytest.mark.parametrize("typed", [[], ["encoder.d_hidden=100"], ["decoder.d_hidden=100"]])
@pytest.mark.parametrize("directions", [1, 2])
def test_states_have_one_size_in_one_direction_too(directions: int, typed: list[str]) -> None:
    own = [*typed, "attention=dot", f"encoder.bidirectional={str(directions == 2).lower()}"]
    given: TrainCommand = command_of("train", own)
    found = {each.key: each.value for each in choices_of(FACTS, given.run, given.changes.values)}
    encoder = found["encoder.d_hidden"] if "encoder.d_hidden=100" not in typed else 100
    decoder = found["decoder.d_hidden"] if "decoder.d_hidden=100" not in typed else 100
    assert directions * encoder == decoder


def test_words_are_as_many_as_the_text_has(tmp_path: Path) -> None:
    write_corpus(tmp_path, [(f"{a} {b}.", f"{b} {a}.") for a in "abcdef" for b in "abcdef"])
    run = filled(command(tmp_path, "data.dev_size=2", "data.test_size=0", "tokenizer=word")).run
    assert 260 < run.tokenizer.vocab_size < 300
    assert values(FACTS, command_of("train", ["tokenizer=word"]).run)["tokenizer.vocab_size"] == 32_000


def test_one_vocabulary_needs_the_characters_of_both_sides() -> None:
    facts = replace(FACTS, one_script=False, alphabets=(2000, 3000))
    apart, joint = (values(facts, command_of("train", words).run) for words in ([], ["model.tie=all"]))
    assert "tokenizer.joint" not in joint
    assert (apart["tokenizer.vocab_size"], joint["tokenizer.vocab_size"]) == (5000, 6300)


def test_where_no_size_fits_both_sides_one_vocabulary_has_the_size_that_was_wanted(
    corpora: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Apart, one side needs at least 1,496 pieces, and the other can have 1,490."""

    def trained(corpus: Corpus, cfg: TokenizerConfig, cache_dir: Path) -> None:
        if not cfg.joint and cfg.vocab_size != 1490:
            raise VocabularySizeError.of("too large", "1490")
        if not cfg.joint:
            raise VocabularySizeError.of("too small", "1496")

    monkeypatch.setattr("nmt.data.prepare.trained_tokenizers", trained)
    given = command(corpora["latin"])
    wanted = replace(given.run.tokenizer, joint=False, vocab_size=1700)
    cache = Path(given.run.cache_dir)
    assert fitting(read_corpus(given.run.data, cache), wanted, cache) == replace(wanted, joint=True)
    with pytest.raises(ConfigError, match=r"tokenizer.joint=false needs a vocabulary size that both sides of this"):
        filled(command(corpora["latin"], "tokenizer.joint=false"))
