"""The figures a finished model is judged by, against sums written out; and what the verbs say of a hopeless one."""

import json
import math
import random
import re
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from helpers.training_runs import signals_after, start, write_corpus

from nmt.cli.main import main
from nmt.data.encoded import open_sides
from nmt.data.tokenizer import EOS, UNK
from nmt.machine.signals import SAVED
from nmt.runs.folder import read_run
from nmt.runs.learned import LEARNED_FILE, read_learned
from nmt.scoring import word_rules
from nmt.training import trainer
from nmt.training.judgement import chunks, length_correlation, nll_of_frequencies, spelled_share, unknown_share

TRAINED = {"tokenizer__vocab_size": 40, "train__max_updates": 200, "optimizer__lr": 0.005, "train__validate_every": 100}


def easy_pairs(count: int) -> list[tuple[str, str]]:
    """Sentences of ten words, translated word by word."""
    rng = random.Random(1)
    words = dict(zip("abcdefghij", "klmnopqrst", strict=True))
    sources = [rng.choices(list(words), k=rng.randint(2, 9)) for _ in range(count)]
    return [(" ".join(source), " ".join(words[word] for word in source)) for source in sources]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run of a corpus, and one of the same corpus with its targets shuffled."""
    pairs = easy_pairs(300)
    targets = [tgt for _, tgt in pairs]
    random.Random(1).shuffle(targets)
    corpora = {"parallel": pairs, "shuffled": [(src, tgt) for (src, _), tgt in zip(pairs, targets, strict=True)]}
    found = {}
    for name, rows in corpora.items():
        folder = tmp_path_factory.mktemp(name)
        write_corpus(folder, rows)
        assert start(folder, folder / "runs", **TRAINED) == 0
        found[name] = folder / "runs" / "run"
    return found


@pytest.mark.slow
def test_the_source_tells_the_translation_of_parallel_text_only(runs: dict[str, Path]) -> None:
    learned, shuffled = (read_learned(runs[name]) for name in ("parallel", "shuffled"))
    assert learned is not None
    assert shuffled is not None
    assert learned.nll_of_others is not None
    assert shuffled.nll_of_others is not None
    assert learned.nll_of_others - learned.nll > 0.3
    assert learned.sign() is None
    assert (learned.caution() or "").startswith("the model is weak: ")
    assert shuffled.nll_of_others - shuffled.nll < 0.1
    assert shuffled.caution() is not None
    assert 250 < learned.pairs <= 290
    assert learned.updates == 200


@pytest.mark.slow
def test_status_evaluate_and_translate_say_it(
    runs: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lines = tmp_path / "lines"
    lines.write_text("a b c\n")
    for name, count in (("parallel", 0), ("shuffled", 1)):
        run = runs[name]
        cache = f"cache_dir={run.parent.parent / 'cache'}"
        for words in (
            ["status", f"model={run}"],
            ["translate", f"model={run}", f"input={lines}"],
            ["evaluate", f"model={run}", f"src={lines}", f"ref={lines}", cache],
        ):
            assert main(words) == 0
            out, err = capsys.readouterr()
            assert (out + err).count("learned next to nothing") == count, words


@pytest.mark.slow
def test_the_scores_of_an_evaluation_keep_the_caution(runs: dict[str, Path], tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_text("a b c d\n")
    for name, count in (("parallel", 0), ("shuffled", 1)):
        words = [f"model={runs[name]}", f"src={lines}", f"ref={lines}", f"output={tmp_path / name}"]
        assert main(["evaluate", *words, f"cache_dir={runs[name].parent.parent / 'cache'}"]) == 0
        kept = json.loads((tmp_path / name / "scores.json").read_text())["cautions"]
        assert sum("learned next to nothing" in line for line in kept) == count


@pytest.mark.slow
def test_a_run_that_was_stopped_says_it_so_far(
    runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = runs["parallel"].parent.parent
    with signals_after({6}):
        assert start(folder, tmp_path, **{**TRAINED, "train__validate_every": 4}) == SAVED
    assert main(["status", f"model={tmp_path / 'run'}"]) == 0
    said = capsys.readouterr().out
    assert "so far, the model has learned next to nothing: its greedy translations of the dev split have 0." in said
    assert "It was trained for 4 updates only; train longer" in said


@pytest.mark.slow
@pytest.mark.parametrize(("name", "is_said"), [("parallel", False), ("shuffled", True)])
def test_files_that_are_not_parallel_are_doubted_while_the_model_is_trained(
    runs: dict[str, Path], tmp_path: Path, name: str, is_said: bool, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(trainer, "FEW_UPDATES", 150)
    longer = TRAINED | {"train__validate_every": 50, "train__average_best": False}
    assert start(runs[name].parent.parent, tmp_path, **longer) == 0
    said = capsys.readouterr().err
    doubt = said.find("caution: so far, the model has learned next to nothing: ")
    assert (doubt >= 0) == is_said
    if is_said:
        assert "Or the files are not parallel: compare some lines" in said[doubt:].split("\n")[0]
        assert said.count("caution: so far") == 1
        assert said.index("dev, update 150") < doubt < said.index("dev, update 200")


@pytest.mark.slow
def test_one_dev_pair_is_judged_by_bleu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_corpus(tmp_path, easy_pairs(60))
    assert start(tmp_path, tmp_path / "runs", tokenizer__vocab_size=40, data__dev_size=1) == 0
    assert "the model has learned next to nothing: its greedy translations of the dev split" in capsys.readouterr().err


@pytest.mark.slow
def test_translations_too_short_for_bleu_are_judged_by_loss(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [(" ".join(src.split()[:3]), " ".join(tgt.split()[:3])) for src, tgt in easy_pairs(300)]
    write_corpus(tmp_path, pairs)
    assert start(tmp_path, tmp_path / "runs", **TRAINED) == 0
    said = capsys.readouterr().err
    assert "dev BLEU is not counted, for hardly any reference has four words; dev loss decides instead" in said
    assert "learned next to nothing" not in said
    assert re.search(r"best on dev: loss \d", said)


@pytest.mark.slow
def test_without_bleu_nothing_is_needed_to_count_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(*given: object, **options: object) -> None:
        raise RuntimeError("no MeCab")

    monkeypatch.setattr(word_rules, "BLEU", missing)
    word_rules.is_installed.cache_clear()
    write_corpus(tmp_path, easy_pairs(60))
    words = {"tokenizer__vocab_size": 40, "data__tgt_lang": "ja", "train__bleu_sentences": 0, "train__metric": "loss"}
    assert start(tmp_path, tmp_path / "runs", **words) == 0
    assert "sacrebleu[ja]" not in capsys.readouterr().err
    word_rules.is_installed.cache_clear()


@pytest.mark.slow
def test_japanese_without_mecab_is_counted_by_characters_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(word_rules, "is_installed", lambda language: language != "ja")
    letters = str.maketrans("klmnopqrst", "あいうえおかきくけこ")
    write_corpus(tmp_path, [(src, tgt.translate(letters).replace(" ", "")) for src, tgt in easy_pairs(60)])
    words = {"tokenizer__vocab_size": 24, "tokenizer__joint": False, "data__tgt_lang": "ja"}
    hint = "data.tgt_lang=ja, is not installed; to count words: pip install 'sacrebleu[ja]'"
    assert start(tmp_path, tmp_path / "runs", **words) == 0
    said = capsys.readouterr().err
    assert said.count(hint) == 1
    assert "dev BLEU is counted with sacreBLEU's tok:char" in said
    assert main(["evaluate", f"model={tmp_path}/runs/run", "split=dev", f"data.root={tmp_path}"]) == 0
    found = capsys.readouterr()
    assert found.err.count(hint) == 1
    assert "tok:char" in found.out


@pytest.mark.slow
def test_another_way_of_counting_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    letters = str.maketrans("klmnopqrst", "กขคงจฉชซญฎ")
    write_corpus(tmp_path, [(src, tgt.translate(letters).replace(" ", "")) for src, tgt in easy_pairs(60)])
    words = {"tokenizer__vocab_size": 24, "tokenizer__joint": False, "data__tgt_lang": None}
    assert start(tmp_path, tmp_path / "runs", **words) == 0
    assert "dev BLEU is counted with sacreBLEU's tok:char" in capsys.readouterr().err


@pytest.mark.slow
def test_a_damaged_file_is_named(runs: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = runs["parallel"] / LEARNED_FILE
    content = file.read_bytes()
    file.write_text("{}")
    try:
        assert main(["translate", f"model={runs['parallel']}"]) == 2
    finally:
        file.write_bytes(content)
    assert f"error: {file} is not what nmt writes" in capsys.readouterr().err


def test_frequencies_are_counted(runs: dict[str, Path]) -> None:
    folder = runs["parallel"].parent.parent / "cache"
    tables = list(folder.glob("encoded-*/train.arrow"))
    src, tgt = open_sides(tables[0])
    rows = np.arange(len(tgt))
    ids = np.split(tgt.gather(rows).tokens, np.cumsum(tgt.gather(rows).lengths)[:-1])
    counts = Counter(dict.fromkeys(range(40), 1))
    for sentence in ids:
        counts.update([*sentence.tolist(), EOS])
    dev = [[7, 8], [9], []]
    tokens = [7, 8, EOS, 9, EOS, EOS]
    expected = -sum(math.log(counts[token] / counts.total()) for token in tokens) / len(tokens)
    assert nll_of_frequencies(tgt, 40, dev) == pytest.approx(expected)
    lengths = np.log1p(np.stack([src[rows], tgt[rows]]))
    assert length_correlation(src, tgt) == pytest.approx(np.corrcoef(lengths)[0, 1])


def test_of_many_pairs_the_first_are_read() -> None:
    for pairs, read in ((1, 1), (10_001, 10_001), (250_000, 100_000)):
        assert np.concatenate(chunks(pairs)).tolist() == list(range(read))
        assert all(len(each) <= 10_000 for each in chunks(pairs))


def test_unknown_pieces_are_counted() -> None:
    assert unknown_share([[UNK, 5, UNK], [UNK]]) == pytest.approx(3 / 6)
    assert unknown_share([[5]]) == 0


def test_unknown_pieces_and_single_bytes_are_counted(runs: dict[str, Path]) -> None:
    tokenizer = read_run(runs["parallel"])[1].tgt
    assert spelled_share(tokenizer, [tokenizer.encode("k l"), tokenizer.encode("m")]) == 0
    text = tokenizer.encode("\u6211\u4eec")
    assert text.count(UNK) == 1
    assert spelled_share(tokenizer, [text]) == pytest.approx(1 / (len(text) + 1))


@pytest.mark.slow
def test_a_model_without_dev_sentences_says_that_it_was_not_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_corpus(tmp_path, easy_pairs(5))
    few = {**TRAINED, "train__max_updates": 5, "tokenizer__vocab_size": 30}
    assert start(tmp_path, tmp_path / "runs", **few) == 0
    said = "caution: the run has no dev split, so nothing shows whether the model has learned to translate. There are "
    assert said in capsys.readouterr().err
    run = tmp_path / "runs" / "run"
    assert main(["status", f"model={run}"]) == 0
    out = capsys.readouterr().out
    assert "dev       none: the run has no dev split\n" in out
    assert "too few pairs, 5;" in out
    shutil.rmtree(run / "checkpoints")  # as if the model was sent to somebody
    assert main(["status", f"model={run}"]) == 0
    out = capsys.readouterr().out
    assert "progress  update 5, 5 different training pairs\n" in out
    assert "best" not in out
    assert start(tmp_path, tmp_path / "more", init_from=str(run), **few) == 0
    assert "no dev split" not in capsys.readouterr().err  # the model that it started from may be a good one


@pytest.mark.slow
def test_a_run_whose_updates_were_all_skipped_says_so_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_corpus(tmp_path, easy_pairs(1200))
    wild = {"train__init_range": 1e38, "train__on_nonfinite": "skip", "train__max_updates": 3, "data__dev_size": 0}
    assert start(tmp_path, tmp_path / "runs", **{**TRAINED, **wild, "tokenizer__vocab_size": 30}) == 0
    assert "nothing shows whether the model has learned to translate. No update changed its weights" in (
        capsys.readouterr().err
    )
    more = ["train.max_updates=5", "resume_with=train.max_updates"]
    assert main(["train", f"resume={tmp_path / 'runs' / 'run'}", *more]) == 0
    assert "goes on from update 3" in capsys.readouterr().err
