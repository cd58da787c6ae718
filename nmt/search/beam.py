"""Beam search and sampling: one loop over target positions, tensors over sentences and hypotheses.

Axis letters as in hypotheses.py.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from nmt.config.sections import SearchConfig
from nmt.data.batch import Rows
from nmt.data.tokenizer import BOS, EOS, PAD
from nmt.errors import ConfigError
from nmt.search.hypotheses import (
    Beam,
    Candidates,
    Finished,
    Hypothesis,
    SearchStep,
    begin,
    extend,
    finish,
    length_divisors,
    merge,
    read_hypotheses,
    unsettled,
)
from nmt.search.prefix import Prefixes
from nmt.search.sampling import draw
from nmt.search.steering import UNSTEERED, Steering

BEAM = 5  # the beam width that batch_sentences refers to
MEMBERS = 64  # neighbouring vocabulary entries of a group; most are only read once, to find the likeliest groups
PAD_AND_BOS = slice(PAD, BOS + 1, BOS - PAD)  # both columns in one operation
FEW_LOG_PROBS = 2**16  # up to this many log-probabilities in a step, groups do not pay

AnySource = TypeVar("AnySource", bound=Rows)
AnyState = TypeVar("AnyState", bound=Rows)


@runtime_checkable
class StepModel(Protocol[AnySource, AnyState]):
    """A translation model as the search sees it."""

    @property
    def max_length(self) -> int | None:
        """The most tokens that a translation can have, eos not counted; None: any number."""
        ...

    def start(
        self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"], wants_weights: bool
    ) -> tuple[AnySource, AnyState]: ...

    def step(
        self, tokens: Int[Tensor, "R 1"], source: AnySource, state: AnyState
    ) -> tuple[Float[Tensor, "R V"], Float[Tensor, "R L H 1 S"], AnyState]:
        """Log-probabilities of the next token (the search may overwrite them), attention weights, new state.

        R is a multiple of the rows of `source`: the hypotheses of a sentence lie side by side.
        """
        ...


@torch.inference_mode()
def search(
    model: StepModel[AnySource, AnyState],
    src: Int[Tensor, "B S"],
    src_mask: Bool[Tensor, "B S"],
    cfg: SearchConfig,
    seeds: Sequence[int] | None,
    steering: Steering = UNSTEERED,
) -> list[list[Hypothesis]]:
    """The n_best hypotheses of each sentence, best first: found by beam search, or drawn if `cfg.sample`.

    `seeds`: one for each sentence; it decides what is drawn for the sentence, and only drawing needs it.

    A sentence has fewer hypotheses if it has fewer translations. It leaves the batch when the number of its finished
    hypotheses reaches the beam width, or when n_best have finished and no open one can still score higher. A hypothesis
    has at most the tokens that `cfg` allows for its source, or that its prefix needs, and never more than the model can
    read. A sentence that is gone (see `Steering`) has the hypotheses that were finished by then.
    """
    if len(src) == 0:
        return []
    width = width_of(cfg)
    prefixes = steering.prefixes
    beam, finished = begin(src, src_mask, cfg, model.max_length)
    if prefixes is not None:
        beam = prefixes.begun(beam, model.max_length)
    shortest, longest = (int(limit) for limit in beam.limit.aminmax())
    divisors = length_divisors(longest + 1, cfg, src.device)
    source, state = model.start(src, src_mask, cfg.coverage_penalty > 0)
    tokens = src.new_full((len(src), 1), BOS)
    generators = [torch.Generator().manual_seed(seed) for seed in seeds or ()]
    steps: list[SearchStep] = []
    done: list[Finished] = []
    for length, divisor in enumerate(divisors):
        log_probs, attention, state = model.step(tokens, source, state)
        beam = _cover(beam, attention, cfg.coverage_penalty)
        candidates = _continue(log_probs, beam, cfg, generators, prefixes)
        if length >= shortest:
            candidates = _force_eos(candidates, log_probs.view(*beam.log_prob.shape, -1), beam, length)
        finished = finish(finished, candidates, beam, length, width, divisor, cfg.coverage_penalty)
        open_before = beam.log_prob.shape[1]
        beam, step = extend(beam, candidates, width)
        if prefixes is not None:
            beam = prefixes.advanced(beam, step)
        steps.append(step)
        if steering.watch is not None:
            steering.watch(beam, candidates, step)
        going = unsettled(beam, finished, width, divisors)
        if steering.gone is not None and (gone := steering.gone()):
            going &= ~torch.isin(beam.sentence, beam.sentence.new_tensor(list(gone)))
        kept = going.nonzero()[:, 0]  # the only wait for the device in a step
        parent, token = step.parent, step.token
        if len(kept) < len(going):
            done.append(finished.select((~going).nonzero()[:, 0]))
            if len(kept) == 0:
                break
            source, finished, beam = source.select(kept), finished.select(kept), beam.select(kept)
            parent, token = parent[kept], token[kept]
            if cfg.sample:
                generators = [generators[row] for row in kept.tolist()]
        state = state.select((kept[:, None] * open_before + parent).flatten())
        tokens = token.view(-1, 1)
    return read_hypotheses(merge(done), steps)


def width_of(cfg: SearchConfig) -> int:
    """The number of open hypotheses per sentence."""
    return cfg.n_best if cfg.sample else cfg.beam


def batch_size(cfg: SearchConfig) -> int:
    """Sentences to search together: a narrow beam has room for more, a wide one for fewer."""
    return max(1, cfg.batch_sentences * BEAM // width_of(cfg))


def _continue(
    log_probs: Float[Tensor, "R V"],
    beam: Beam,
    cfg: SearchConfig,
    generators: Sequence[torch.Generator],
    prefixes: Prefixes | None,
) -> Candidates:
    """The candidates that continue the open hypotheses, before length limits are applied."""
    inside = [] if prefixes is None else prefixes.held(log_probs, beam)
    _forbid(log_probs, beam.history, cfg.no_repeat_ngram)
    for row, pieces, values in inside:  # a prefix may repeat what the settings forbid
        log_probs[row] = -inf
        log_probs[row, pieces] = values
    log_probs = log_probs.view(*beam.log_prob.shape, -1)
    if cfg.sample:
        return draw(log_probs, beam.log_prob, cfg, generators)
    return likeliest(log_probs, beam.log_prob, 2 * cfg.beam)


def _cover(beam: Beam, attention: Float[Tensor, "R L H 1 S"], penalty: float) -> Beam:
    """`beam` with this step's attention, averaged over layers and heads, added to its coverage."""
    if beam.coverage is None:
        return beam
    if attention.shape[1] == 0:
        raise ConfigError(f"search.coverage_penalty={penalty} needs attention, and this model has none; set it to 0")
    received = attention.mean((1, 2, 3)).view_as(beam.coverage)
    return replace(beam, coverage=beam.coverage + received)


def _forbid(log_probs: Float[Tensor, "R V"], history: Int[Tensor, "N K T"] | None, ngram: int | None) -> None:
    """Sets to -inf the tokens that must not come next: pad, bos, the last token of an n-gram that has occurred."""
    log_probs[:, PAD_AND_BOS].fill_(-inf)
    if history is None or ngram is None or history.shape[-1] < ngram:
        return
    seen = history.flatten(0, 1).unfold(1, ngram, 1)  # [R, T - ngram + 1, ngram]
    last = history.flatten(0, 1)[:, history.shape[-1] - ngram + 1 :]
    repeated = (seen[..., :-1] == last[:, None]).all(-1)
    log_probs.scatter_(1, seen[..., -1].masked_fill(~repeated, PAD), -inf)


def _force_eos(candidates: Candidates, log_probs: Float[Tensor, "N K V"], beam: Beam, length: int) -> Candidates:
    """The candidates, but in sentences at their length limit only the open hypotheses followed by eos."""
    missing = (0, candidates.token.shape[1] - log_probs.shape[1])
    ended = functional.pad(beam.log_prob + log_probs[..., EOS], missing, value=-inf)
    parent = torch.arange(ended.shape[1], device=ended.device).clamp(max=log_probs.shape[1] - 1)
    forced = (beam.limit <= length)[:, None]
    return Candidates(
        torch.where(forced, ended, candidates.log_prob),
        torch.where(forced, parent, candidates.parent),
        candidates.token.masked_fill(forced, EOS),
    )


def likeliest(log_probs: Float[Tensor, "N K V"], log_prob: Float[Tensor, "N K"], size: int) -> Candidates:
    """The `size` likeliest continuations of each sentence, likeliest first."""
    vocab = log_probs.shape[-1]
    there = min(size, log_probs[0].numel())
    if log_probs.numel() <= FEW_LOG_PROBS:
        values, index = (log_probs + log_prob[..., None]).flatten(1).topk(there)
    else:
        values, index = _likeliest_by_groups(log_probs, log_prob, there)
    found = Candidates(values, index // vocab, index % vocab)
    if there == size:
        return found
    missing = (0, size - there)
    return Candidates(
        functional.pad(found.log_prob, missing, value=-inf),
        functional.pad(found.parent, missing),
        functional.pad(found.token, missing, value=PAD),
    )


def _likeliest_by_groups(
    log_probs: Float[Tensor, "N K V"], log_prob: Float[Tensor, "N K"], size: int
) -> tuple[Float[Tensor, "N C"], Int[Tensor, "N C"]]:
    """The `size` largest sums of each sentence, and their indices among all K * V.

    The whole vocabulary is read once, for the maximum of each group. Only the best groups are then read again.
    """
    vocab = log_probs.shape[-1]
    whole = vocab // MEMBERS
    best = log_probs[..., : whole * MEMBERS].view(*log_probs.shape[:2], whole, MEMBERS).amax(-1)
    if vocab % MEMBERS:
        best = torch.cat([best, log_probs[..., whole * MEMBERS :].amax(-1, keepdim=True)], -1)
    groups = best.shape[-1]
    best = (best + log_prob[..., None]).flatten(1)
    group = best.topk(min(size, best.shape[1]), sorted=False).indices
    parent = group // groups
    token = (group % groups * MEMBERS)[..., None] + torch.arange(MEMBERS, device=group.device)
    index = (parent[..., None] * vocab + token.clamp(max=vocab - 1)).flatten(1)
    total = log_probs.flatten(1).gather(1, index).view(token.shape) + log_prob.gather(1, parent)[..., None]
    values, chosen = total.masked_fill(token >= vocab, -inf).flatten(1).topk(size)
    return values, index.gather(1, chosen)
