"""The search against plain Python, brute force and the model's own probabilities, with a toy model."""

import itertools
import math
from collections import Counter
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.toy_search import CFG, Forced, Toy, ToySource, ToyState, one, run, sentences
from hydra import compose, initialize_config_dir
from torch import Tensor
from torch.nn import functional

from nmt.config.check import read
from nmt.config.sections import SearchConfig
from nmt.data.tokenizer import BOS, EOS, PAD
from nmt.errors import ConfigError
from nmt.search.beam import BEAM, FEW_LOG_PROBS, _force_eos, batch_size, likeliest, search
from nmt.search.hypotheses import Hypothesis, begin, extend, finish, length_divisors, unsettled
from nmt.search.sampling import draw

SEEDS = range(6)


def tokens_of(found: list[list[Hypothesis]]) -> list[list[list[int]]]:
    return [[hypothesis.tokens for hypothesis in sentence] for sentence in found]


def random_config(seed: int) -> SearchConfig:
    """Any penalty, coverage, n-gram blocking."""
    return replace(
        CFG,
        length_penalty=("average", "wu", "none")[seed % 3],
        alpha=(1.0, 0.6, 1.7, 0.0)[seed % 4],
        coverage_penalty=(0.0, 0.4)[seed // 2 % 2],
        no_repeat_ngram=(None, 1, 2, None, 3)[seed % 5],
        n_best=1 + seed % 4,
    )


@pytest.mark.parametrize("seed", range(12))
def test_a_wide_beam_is_brute_force(seed: int) -> None:
    cfg = replace(random_config(seed), beam=128, max_length_a=1.0, max_length_b=1.0, n_best=(1, 2, 7)[seed % 3])
    model = Toy(seed, vocab=6)
    src, mask = sentences(seed, 6, [3, 1, 2])
    for row, found in enumerate(run(model, src, mask, cfg)):
        forced = Forced(model, *one(src, mask, row), cfg)
        best = sorted(forced.every(), key=forced.score, reverse=True)[: cfg.n_best]
        assert [tuple(h.tokens) for h in found] == best


@pytest.mark.parametrize("seed", range(20))
def test_a_narrow_beam_is_plain_python(seed: int) -> None:
    cfg = replace(random_config(seed), beam=4 + seed % 3)
    model = Toy(seed, vocab=10)
    src, mask = sentences(seed, 10, [4, 1, 6, 2, 5])
    found = run(model, src, mask, cfg)
    for row, sentence in enumerate(found):
        forced = Forced(model, *one(src, mask, row), cfg)
        assert [tuple(h.tokens) for h in sentence] == forced.beam_search()
        for h in sentence:
            assert h.log_prob == pytest.approx(forced.log_prob(tuple(h.tokens)), abs=1e-4)
            assert h.score == pytest.approx(forced.score(tuple(h.tokens)), abs=1e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_beam_1_is_greedy_argmax(seed: int) -> None:
    cfg = replace(CFG, beam=1)
    model = Toy(seed, vocab=30)
    src, mask = sentences(seed, 30, [3, 7, 1, 5])
    for row, found in enumerate(run(model, src, mask, cfg)):
        forced = Forced(model, *one(src, mask, row), cfg)
        tokens: tuple[int, ...] = ()
        while True:
            allowed = [token for token in range(30) if forced.allowed(tokens, token)]
            token = max(allowed, key=forced.after(tokens)[0].__getitem__)
            if token == EOS:
                break
            tokens = (*tokens, token)
        assert [tuple(h.tokens) for h in found] == [tokens]


@pytest.mark.parametrize("seed", SEEDS)
def test_batch_mates_and_their_order_change_nothing(seed: int) -> None:
    cfg = replace(random_config(seed), beam=5)
    model = Toy(seed, vocab=15)
    src, mask = sentences(seed, 15, [4, 1, 6, 2, 5, 6, 3])
    batched = run(model, src, mask, cfg)
    assert tokens_of(batched) == [tokens_of(run(model, *one(src, mask, row), cfg))[0] for row in range(7)]
    order = torch.randperm(7, generator=torch.Generator().manual_seed(seed))
    assert tokens_of(run(model, src[order], mask[order], cfg)) == [tokens_of(batched)[i] for i in order]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("sample", [False, True])
def test_hypotheses_are_within_the_limit_and_sorted(seed: int, sample: bool) -> None:
    cfg = replace(CFG, beam=6, n_best=6, max_length_a=0.5, max_length_b=0.7, sample=sample)
    model = Toy(seed, vocab=12)
    lengths = [4, 1, 9, 2, 5]
    for length, found in zip(lengths, run(model, *sentences(seed, 12, lengths), cfg), strict=True):
        assert len(found) == 6
        assert all(len(h.tokens) <= math.floor(0.5 + 0.7 * length) for h in found)
        assert not {PAD, BOS, EOS}.intersection(*(h.tokens for h in found))
        scores = [h.score for h in found]
        assert scores == sorted(scores, reverse=True)
        if not sample:
            assert len({tuple(h.tokens) for h in found}) == 6


@pytest.mark.parametrize("max_length", [0, 1, 4])
@pytest.mark.parametrize("seed", SEEDS)
def test_no_translation_is_longer_than_the_model_can_read(seed: int, max_length: int) -> None:
    """Some sentences of the batch have a lower limit of their own."""
    cfg = replace(random_config(seed), beam=4)
    model = Toy(seed, vocab=10)
    model.bias[EOS] = -3  # long translations
    model.max_length = max_length
    src, mask = sentences(seed, 10, [4, 1, 6, 0, 5])
    for row, found in enumerate(run(model, src, mask, cfg)):
        forced = Forced(model, *one(src, mask, row), cfg)
        assert [tuple(h.tokens) for h in found] == forced.beam_search()
    drawn = run(model, src, mask, replace(cfg, sample=True, n_best=9))
    assert max(len(h.tokens) for found in drawn for h in found) == max_length


@pytest.mark.parametrize("ngram", [1, 2, 3])
@pytest.mark.parametrize("sample", [False, True])
def test_no_ngram_is_repeated(ngram: int, sample: bool) -> None:
    cfg = replace(CFG, n_best=4, max_length_a=20.0, sample=sample)
    model = Toy(1, vocab=6)
    model.bias[EOS] = -4  # long translations from few words
    src, mask = sentences(1, 6, [4, 6])

    def repeats(found: list[list[Hypothesis]]) -> bool:
        grams = [
            [tuple(h.tokens[i : i + ngram]) for i in range(len(h.tokens) - ngram + 1)] for h in itertools.chain(*found)
        ]
        return any(len(set(each)) < len(each) for each in grams)

    assert repeats(run(model, src, mask, cfg))
    assert not repeats(run(model, src, mask, replace(cfg, no_repeat_ngram=ngram)))


def test_fewer_translations_than_asked_for_are_all_returned() -> None:
    cfg = replace(CFG, beam=50, n_best=50, max_length_a=1.0, max_length_b=0.0)
    found = run(Toy(0, vocab=6), *sentences(0, 6, [2, 3]), cfg)
    assert [sorted(sentence) for sentence in tokens_of(found)] == [[[], [1], [4], [5]]] * 2
    assert all(math.isfinite(h.score) for sentence in found for h in sentence)


@pytest.mark.parametrize("sentences_at_beam_5", [1, 7, 64])
def test_a_batch_has_about_as_many_hypotheses_at_any_width(sentences_at_beam_5: int) -> None:
    wanted = BEAM * sentences_at_beam_5
    for width in range(1, 2 * wanted):
        for cfg in (replace(CFG, beam=width), replace(CFG, sample=True, n_best=width)):
            size = batch_size(replace(cfg, batch_sentences=sentences_at_beam_5))
            assert size == 1 or wanted - width < size * width <= wanted


def test_no_sentences_give_no_translations() -> None:
    assert run(Toy(0, vocab=6), torch.zeros(0, 3).long(), torch.zeros(0, 3).bool(), CFG) == []


@pytest.mark.parametrize("vocab", [5, 63, 64, 65, 700, 1024, 1537])
@pytest.mark.parametrize("hypotheses", [1, 3])
@pytest.mark.parametrize("few", [0, FEW_LOG_PROBS], ids=["groups", "at once"])
def test_likeliest_is_topk_of_everything(
    vocab: int, hypotheses: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nmt.search.beam.FEW_LOG_PROBS", few)
    random = torch.Generator().manual_seed(vocab)
    log_probs = torch.randn(4, hypotheses, vocab, generator=random)
    log_prob = torch.randn(4, hypotheses, generator=random)
    log_prob[0, -1] = -math.inf
    for size in (1, 2, 6, 1300):
        found = likeliest(log_probs, log_prob, size)
        total = functional.pad((log_probs + log_prob[..., None]).flatten(1), (0, 1300), value=-math.inf)
        assert torch.equal(found.log_prob, total.topk(size).values)
        where = found.parent * vocab + found.token
        real = found.log_prob > -math.inf
        assert torch.equal(total.gather(1, where)[real], found.log_prob[real])
        assert all(len(set(row[kept].tolist())) == kept.sum() for row, kept in zip(where, real, strict=True))


def test_sampling_repeats_with_the_same_seed_only() -> None:
    cfg = replace(CFG, sample=True, n_best=5, top_p=0.9, temperature=1.3)
    model = Toy(3, vocab=20)
    src, mask = sentences(3, 20, [5, 2, 4])
    assert run(model, src, mask, cfg, seed=1) == run(model, src, mask, cfg, seed=1)
    assert run(model, src, mask, cfg, seed=1) != run(model, src, mask, cfg, seed=2)


@pytest.mark.parametrize("seed", SEEDS)
def test_draws_of_a_sentence_depend_on_its_own_seed_alone(seed: int) -> None:
    """Not on batch mates, their order, and which of them have left; that of another sentence draws others."""
    cfg = replace(CFG, sample=True, n_best=3, temperature=1.3)
    model = Toy(seed, vocab=15)
    src, mask = sentences(seed, 15, [4, 1, 6, 2, 5, 6, 3])
    seeds = [7 * seed + row for row in range(7)]
    together = tokens_of(search(model, src, mask, cfg, seeds))
    alone = [tokens_of(search(model, *one(src, mask, row), cfg, seeds[row : row + 1]))[0] for row in range(7)]
    assert together == alone
    order = torch.randperm(7, generator=torch.Generator().manual_seed(seed)).tolist()
    ordered = search(model, src[order], mask[order], cfg, [seeds[row] for row in order])
    assert tokens_of(ordered) == [together[row] for row in order]
    others = tokens_of(search(model, src, mask, cfg, seeds[::-1]))
    assert [row for row in range(7) if others[row] == together[row]] == [3]


@pytest.mark.parametrize(("chance", "token"), [(0.0, 2), (0.5, 4), (math.nextafter(1, 0), 4)])
def test_no_chance_draws_a_token_of_probability_0(monkeypatch: pytest.MonkeyPatch, chance: float, token: int) -> None:
    """The ends and the middle of the numbers that a generator gives."""
    monkeypatch.setattr(torch, "rand", lambda size, **given: torch.full((size,), chance, dtype=torch.float64))
    log_probs = torch.tensor([0.0, 0.0, 0.5, 0.0, 0.5, 0.0]).log().expand(2, 1, 6)
    found = draw(log_probs, torch.zeros(2, 1), replace(CFG, sample=True, n_best=3), [torch.Generator()] * 2)
    assert torch.equal(found.token, torch.full((2, 3), token))


def test_nothing_is_drawn_from_probabilities_that_are_no_numbers() -> None:
    model = Toy(3, vocab=20)
    model.bias[:] = math.nan
    assert run(model, *sentences(3, 20, [5, 2]), replace(CFG, sample=True, n_best=2)) == [[], []]


def test_more_tokens_than_there_are_to_draw_from_are_all() -> None:
    cfg = replace(CFG, sample=True, n_best=5, temperature=1.3, top_p=1.0)
    model = Toy(3, vocab=20)
    src, mask = sentences(3, 20, [5, 2, 4])
    assert run(model, src, mask, replace(cfg, top_k=20)) == run(model, src, mask, replace(cfg, top_k=1000))


@pytest.mark.parametrize("cut", [{"top_k": 1}, {"top_p": 1e-6}, {"temperature": 1e-4}])
def test_sampling_the_likeliest_only_is_greedy(cut: dict[str, float]) -> None:
    model = Toy(4, vocab=20)
    src, mask = sentences(4, 20, [5, 2, 4])
    greedy = run(model, src, mask, replace(CFG, beam=1))
    cfg = replace(CFG, sample=True, n_best=3, **cut)
    for drawn, (best,) in zip(run(model, src, mask, cfg), greedy, strict=True):
        assert [h.tokens for h in drawn] == [best.tokens] * 3
        assert drawn[0].log_prob == pytest.approx(best.log_prob, abs=1e-4)


@pytest.mark.parametrize(
    "cut",
    [{}, {"temperature": 2.0}, {"top_k": 3}, {"top_p": 0.7}, {"top_k": 4, "top_p": 0.8, "temperature": 1.5}],
)
def test_sampling_frequencies_are_the_models_probabilities(cut: dict[str, float]) -> None:
    draws = 20_000
    cfg = replace(CFG, sample=True, n_best=draws, max_length_a=2.0, max_length_b=0.0, **cut)
    model = Toy(5, vocab=8)
    src, mask = sentences(5, 8, [3])
    forced = Forced(model, src, mask, cfg)

    def distribution(prefix: tuple[int, ...]) -> dict[int, float]:
        log_probs = forced.after(prefix)[0]
        if len(prefix) == forced.limit:
            return {EOS: 1.0}
        words = sorted((t for t in range(8) if t not in (PAD, BOS)), key=lambda t: -log_probs[t])[: cfg.top_k]
        weights = {t: math.exp(log_probs[t] / cfg.temperature) for t in words}
        kept, mass = {}, 0.0
        for t, weight in weights.items():
            if mass < (cfg.top_p or 1) * sum(weights.values()) or not kept:
                kept[t] = weight
            mass += weight
        return {t: weight / sum(kept.values()) for t, weight in kept.items()}

    expected = {
        tokens: math.prod(distribution(tokens[:t]).get(token, 0.0) for t, token in enumerate((*tokens, EOS)))
        for tokens in forced.every()
    }
    assert sum(expected.values()) == pytest.approx(1)
    found = run(model, src, mask, cfg)[0]
    times = Counter(tuple(h.tokens) for h in found)
    for tokens, probability in expected.items():
        spread = math.sqrt(draws * probability * (1 - probability))
        assert abs(times[tokens] - draws * probability) <= 5 * spread
    for h in found[:5]:
        assert h.log_prob == pytest.approx(forced.log_prob(tuple(h.tokens)), abs=1e-4)


@pytest.mark.parametrize(
    ("key", "value", "remedy"),
    [
        ("beam", 0, "at least 1"),
        ("beam", 10_001, "at most 10,000"),
        ("n_best", 0, "at least 1"),
        ("alpha", -0.1, "at least 0"),
        ("alpha", math.nan, "at least 0 and at most 5"),
        ("alpha", 6.0, "at most 5"),
        ("coverage_penalty", -1.0, "at least 0"),
        ("coverage_penalty", math.inf, "at least 0"),
        ("max_length_a", -1.0, "at least 0"),
        ("max_length_a", 1e30, "at most 100,000"),
        ("max_length_b", 1e7, "at most 100"),
        ("max_length_b", -0.5, "at least 0"),
        ("no_repeat_ngram", 0, "at least 1, or null"),
        ("temperature", 0.0, "at least 1e-06"),
        ("temperature", 1e7, "at most 1,000,000"),
        ("top_k", 0, "at least 1, or null"),
        ("top_p", 0.0, "above 0 and at most 1, or null"),
        ("top_p", 1.1, "at most 1, or null"),
        ("batch_sentences", 0, "at least 1"),
    ],
)
def test_values_that_no_search_can_use(key: str, value: float, remedy: str) -> None:
    with pytest.raises(ConfigError) as error:
        replace(CFG, **{key: value})
    message = str(error.value)
    assert message.startswith(f"search.{key} is {value}; it must be {remedy}")
    assert "\n" not in message


def test_more_hypotheses_than_the_beam_holds_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"^search\.n_best=5 is more than search\.beam=4; give search\.beam=5"):
        replace(CFG, n_best=5)


def test_a_length_limit_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"search\.max_length_a=0.*search\.max_length_b"):
        replace(CFG, max_length_a=0.0, max_length_b=0.0)


def test_more_draws_than_the_beam_is_wide_are_fine() -> None:
    replace(CFG, sample=True, n_best=9)


def test_coverage_of_a_model_without_attention_is_refused() -> None:
    class NoAttention(Toy):
        def start(self, src: Tensor, src_mask: Tensor, wants_weights: bool) -> tuple[ToySource, ToyState]:
            return super().start(src, src_mask, False)

    with pytest.raises(ConfigError, match=r"search\.coverage_penalty=0\.2 .* set it to 0"):
        run(NoAttention(0, 6), *sentences(0, 6, [2]), replace(CFG, coverage_penalty=0.2))


@pytest.mark.parametrize(("name", "changed"), [("beam", {}), ("greedy", {"beam": 1}), ("sample", {"sample": True})])
def test_configs_are_complete_and_differ_in_what_they_are_for(name: str, changed: dict[str, object]) -> None:
    folder = Path(__file__).parents[2] / "configs"
    with initialize_config_dir(str(folder), version_base="1.3"):
        found, base = compose(f"search/{name}").search, compose("search/beam").search
    assert list(base) == [field.name for field in fields(SearchConfig)]
    assert found == {**base, **changed}
    cfg = read(SearchConfig, found, "search")
    assert asdict(cfg) == found


@pytest.mark.parametrize("sample", [False, True])
def test_tensors_are_made_where_the_inputs_are(sample: bool) -> None:
    """One step of the search without values, on the meta device, where tensors of a processor are an error."""
    meta, vocab = torch.device("meta"), 8000
    cfg = replace(CFG, n_best=3, no_repeat_ngram=2, coverage_penalty=0.1, sample=sample, top_k=9, top_p=0.9)
    src = torch.zeros(3, 5, dtype=torch.long, device=meta)
    beam, finished = begin(src, src > 3, cfg, None)
    divisors = length_divisors(4, cfg, meta)
    for width in (1, 3):
        log_probs = torch.zeros(3, width, vocab, device=meta)
        assert (log_probs.numel() > FEW_LOG_PROBS) == (width == 3)
        drawn = draw(log_probs, beam.log_prob, cfg, [torch.Generator()] * 3) if sample else None
        found = drawn or likeliest(log_probs, beam.log_prob, 6)
        found = _force_eos(found, log_probs, beam, 1)
        finished = finish(finished, found, beam, 1, 3, divisors[1], 0.1)
        beam, step = extend(beam, found, 3)
        tensors = [*vars(found).values(), *vars(finished).values(), *vars(beam).values(), *vars(step).values()]
        tensors.append(unsettled(beam, finished, 3, divisors))
        assert all(each.device == meta for each in tensors if each is not None)


@pytest.mark.parametrize("penalty", ["average", "wu", "none"])
def test_there_is_a_divisor_for_every_length_and_no_more(penalty: Any) -> None:
    assert len(length_divisors(5, replace(CFG, length_penalty=penalty), torch.device("cpu"))) == 5
