"""What validation measures besides loss and BLEU, that it ends when asked, and what it does with little memory."""

import math
import random
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from helpers.models import VOCAB, random_batch, small_model
from helpers.small_runs import small_tokenizer
from helpers.training_runs import run_config
from sacrebleu.metrics.bleu import BLEU

from nmt.data.batch import Batch
from nmt.data.tokenizer import TokenizerPair
from nmt.errors import DataError
from nmt.machine.signals import Interrupted
from nmt.machine.threads import Workers
from nmt.model.seq2seq import Seq2Seq
from nmt.scoring.word_rules import CHARACTERS
from nmt.search.beam import search
from nmt.training import validation
from nmt.training.loss import batch_loss
from nmt.training.validation import Validator, attention_entropy, forced_attention

CPU = torch.device("cpu")


@torch.no_grad()
@pytest.mark.parametrize("attention", ["general", "multi_head"])
def test_entropy_is_its_definition_over_real_targets(attention: str) -> None:
    model, batch = small_model(attention), random_batch(1)
    _, weights = model.forced(batch)
    found = attention_entropy(weights, batch.tgt_mask)
    expected = []
    for row in range(len(batch.src)):
        for t in range(int(batch.tgt_mask[row].sum())):
            heads = [[w for w in head[t].tolist() if w > 0] for layer in weights[row] for head in layer]
            expected.append(sum(-w * math.log(w) for head in heads for w in head) / len(heads))
    torch.testing.assert_close(found, torch.tensor(expected), atol=1e-5, rtol=1e-4)
    lengths = batch.src_mask.sum(1).max().item()
    assert found.min() >= 0
    assert found.max() <= math.log(lengths) + 1e-5


@torch.no_grad()
def test_the_baseline_has_no_entropy() -> None:
    model, batch = small_model("none"), random_batch(1)
    _, weights = model.forced(batch)
    assert attention_entropy(weights, batch.tgt_mask).numel() == 0


def validator(check_stop: Callable[[], None] = lambda: None) -> Validator:
    """Of 20 random pairs, in several batches for each of its loops."""
    rng = random.Random(1)
    src, tgt = ([rng.choices(range(4, VOCAB), k=rng.randint(1, 9)) for _ in range(20)] for _ in range(2))
    texts = ["ein Hund"] * 20
    dev = Dataset.from_dict(
        {"src_ids": src, "tgt_ids": tgt, "src": texts, "tgt": texts, "index": list(range(100, 120))}
    )
    short = {"search__max_length_a": 2, "search__max_length_b": 0.0, "search__batch_sentences": 4}
    settings = run_config(Path(), Path(), **short).search
    tokenizer = small_tokenizer()
    return Validator(dev, TokenizerPair(tokenizer, tokenizer), settings, None, 0.1, 40, None, check_stop, Workers(1))


def test_characters_need_more_bleu_than_chance_brings() -> None:
    given = validator()
    rng = random.Random(2)
    thai = ["".join(rng.choices("กขคงจฉชซ", weights=range(1, 9), k=rng.randint(20, 30))) for _ in range(20)]
    given.dev = Dataset.from_dict({"tgt": thai})
    given.counts_bleu = True
    assert given.least_bleu == 1
    for rule, chance in ((CHARACTERS, True), ("th", True), ("zh", False)):
        given.word_rule = rule
        vars(given).pop("least_bleu")
        by_length = sorted(thai, key=len)
        found = BLEU(tokenize="char", force=True).corpus_score([*by_length[1:], by_length[0]], [by_length]).score
        assert found > 2
        assert given.least_bleu == (pytest.approx(found) if chance else 1)
    given.counts_bleu, given.word_rule = False, CHARACTERS
    vars(given).pop("least_bleu")
    assert given.least_bleu == 1


LOOPS: dict[str, Callable[[Validator, Seq2Seq], object]] = {
    "dev loss": lambda given, model: given.scores(model, CPU, torch.float32),
    "entropy": lambda given, model: given.entropy(model, CPU, nullcontext),
    "translate": lambda given, model: given.translate(model, CPU, nullcontext),
}


@torch.no_grad()
@pytest.mark.parametrize("loop", LOOPS)
def test_an_end_is_noticed_between_the_batches_of_each_loop(loop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0

    def check() -> None:
        nonlocal asked
        asked += 1
        if asked == 2:
            raise Interrupted

    given = validator(check)
    if loop == "dev loss":
        monkeypatch.setattr(Validator, "entropy", None)
        monkeypatch.setattr(Validator, "translate", None)
    with pytest.raises(Interrupted):
        LOOPS[loop](given, small_model())
    assert asked == 2


def little_memory(patch: pytest.MonkeyPatch, pairs: int, error: Exception) -> None:
    """Memory holds so many pairs at most, whatever is done with them."""

    def limited(work: Callable[..., Any], count: Callable[..., int]) -> Callable[..., Any]:
        def tried(*given: Any) -> Any:
            if count(*given) > pairs:
                raise error
            return work(*given)

        return tried

    patch.setattr(validation, "batch_loss", limited(batch_loss, lambda model, batch, *_: len(batch.src)))
    patch.setattr(validation, "search", limited(search, lambda model, src, *_: len(src)))
    patch.setattr(Seq2Seq, "forced", limited(Seq2Seq.forced, lambda model, batch, *_: len(batch.src)))


@pytest.mark.parametrize("error", [MemoryError(), torch.OutOfMemoryError("CUDA out of memory")])
def test_where_memory_lacks_fewer_pairs_are_validated_together(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model, given = small_model(), validator()
    roomy, texts = given.scores(model, CPU, torch.float32)
    assert capsys.readouterr().err == ""
    assert not given.halved
    little_memory(monkeypatch, 1, error)
    for _ in range(2):
        tight, same_texts = given.scores(model, CPU, torch.float32)
        assert tight.values() == pytest.approx(roomy.values(), rel=1e-4)
        assert same_texts == texts
    [line] = capsys.readouterr().err.splitlines()  # said once
    assert line.startswith("note: memory did not hold ")
    assert line.endswith("dev scores may differ in rounding")


def test_a_dev_pair_that_memory_does_not_hold_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    little_memory(monkeypatch, 0, MemoryError())
    message = r"^there is not enough memory for pair 1\d\d \(as read\) of the dev split; shorten it, or take it out of"
    with pytest.raises(DataError, match=message):
        validator().scores(small_model(), CPU, torch.float32)


def test_other_errors_of_validation_are_not_taken_for_lack_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    little_memory(monkeypatch, 0, RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        validator().scores(small_model(), CPU, torch.float32)


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_the_model_is_left_in_the_mode_that_it_was_in(
    training: bool, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = small_model(dropout=0.5).train(training)
    modes = []

    def read(model: Seq2Seq, batch: Batch, whole: Callable[..., Any] = Seq2Seq._read) -> Any:
        modes.append({module.training for module in model.modules()})
        if fails:
            raise RuntimeError("no more")
        return whole(model, batch)

    monkeypatch.setattr(Seq2Seq, "_read", read)
    calls: list[Callable[[], object]] = [
        lambda: forced_attention(model, [5, 6], [7], CPU),
        lambda: validator().scores(model, CPU, torch.float32),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="no more") if fails else nullcontext():
            call()
        assert {module.training for module in model.modules()} == {training}
    assert modes
    assert all(mode == {False} for mode in modes)
