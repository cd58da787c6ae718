"""Hypotheses of a search: open ones, finished ones, and their tokens, which are read back from parent to parent.

Axis letters: B sentences of the batch, N sentences still searched, K open hypotheses per sentence, C candidates,
F finished hypotheses kept.
"""

from dataclasses import dataclass, fields, replace
from math import inf

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from nmt.config.sections import SearchConfig
from nmt.data.batch import Rows
from nmt.data.tokenizer import EOS, PAD


@dataclass(frozen=True)
class Hypothesis:
    """A finished translation."""

    tokens: list[int]  # without bos and eos
    log_prob: float  # of all tokens, eos included; nats
    score: float  # log_prob after length and coverage penalties


@dataclass(frozen=True)
class Beam(Rows):
    """The open hypotheses of sentences still searched; log_prob is -inf in empty slots. K is 1 at the first step."""

    sentence: Int[Tensor, " N"]  # row in the original batch
    limit: Int[Tensor, " N"]  # the most tokens that a translation may have, eos not counted
    mask: Bool[Tensor, "N S"]
    log_prob: Float[Tensor, "N K"]
    history: Int[Tensor, "N K T"] | None  # tokens so far, kept only to block n-grams
    coverage: Float[Tensor, "N K S"] | None  # attention that each source position has received
    place: Int[Tensor, "N K"] | None = None  # bytes of the prefix spelled so far; None: no prefix is left to spell


@dataclass(frozen=True)
class Candidates:
    """Open hypotheses continued by one token; log_prob is of the whole, and -inf in empty slots."""

    log_prob: Float[Tensor, "N C"]
    parent: Int[Tensor, "N C"]  # the open hypothesis that is continued
    token: Int[Tensor, "N C"]


@dataclass(frozen=True)
class Finished(Rows):
    """The best finished hypotheses of each sentence, best first; score is -inf in empty slots."""

    sentence: Int[Tensor, " N"]
    count: Int[Tensor, " N"]  # all hypotheses that have finished, even if they are no longer kept
    score: Float[Tensor, "N F"]
    log_prob: Float[Tensor, "N F"]
    length: Int[Tensor, "N F"]  # tokens, eos not counted
    parent: Int[Tensor, "N F"]  # the open hypothesis of this length that eos ended


@dataclass(frozen=True)
class SearchStep:
    """One step of the search: the last token and the parent of each open hypothesis, to read the tokens back from."""

    sentence: Int[Tensor, " N"]
    parent: Int[Tensor, "N K"]
    token: Int[Tensor, "N K"]


def length_divisors(longest: int, cfg: SearchConfig, device: torch.device) -> Float[Tensor, " T"]:
    """The divisors of log-probabilities; index t is for t tokens and eos."""
    length = torch.arange(1, longest + 1, device=device, dtype=torch.float32)
    match cfg.length_penalty:
        case "average":
            return length**cfg.alpha
        case "wu":  # Wu et al. 2016, eq. 14
            return ((5 + length) / 6) ** cfg.alpha
        case "none":
            return torch.ones_like(length)


def coverage_log(coverage: Float[Tensor, "N K S"], mask: Bool[Tensor, "N S"]) -> Float[Tensor, "N K"]:
    """Sum over source positions of log min(attention received, 1): Wu et al. 2016, eq. 14 without beta."""
    smallest = torch.finfo(coverage.dtype).tiny  # attention can underflow to 0
    return coverage.clamp(smallest, 1).log().masked_fill(~mask[:, None], 0).sum(-1)


def begin(
    src: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"], cfg: SearchConfig, max_length: int | None
) -> tuple[Beam, Finished]:
    """One open hypothesis without tokens for each sentence, none finished; length limits are at most `max_length`."""
    sentence = torch.arange(len(src), device=src.device)
    length = (mask & (src != EOS)).sum(1)
    limit = (cfg.max_length_a + cfg.max_length_b * length.double()).floor().long()
    if max_length is not None:
        limit = limit.clamp(max=max_length)
    blocking, covering = cfg.no_repeat_ngram is not None, cfg.coverage_penalty > 0
    beam = Beam(
        sentence,
        limit,
        mask,
        log_prob=torch.zeros(len(src), 1, device=src.device),
        history=src.new_empty(len(src), 1, 0) if blocking else None,
        coverage=torch.zeros(mask.shape, device=src.device)[:, None] if covering else None,
    )
    none = torch.full((len(src), cfg.n_best), -inf, device=src.device)
    nowhere = torch.zeros_like(none, dtype=torch.long)
    return beam, Finished(sentence, torch.zeros_like(sentence), none, none, nowhere, nowhere)


def finish(
    finished: Finished,
    candidates: Candidates,
    beam: Beam,
    length: int,
    width: int,
    divisor: Float[Tensor, ""],
    coverage_penalty: float,
) -> Finished:
    """`finished` with the candidates that end in eos, if they are among the best `width`."""
    parent = candidates.parent[:, :width]
    log_prob = candidates.log_prob[:, :width].masked_fill(candidates.token[:, :width] != EOS, -inf)
    score = log_prob / divisor
    if beam.coverage is not None:
        score = score + coverage_penalty * coverage_log(beam.coverage, beam.mask).gather(1, parent)
    best, chosen = torch.cat([finished.score, score], 1).topk(finished.score.shape[1])
    return Finished(
        finished.sentence,
        finished.count + (score > -inf).sum(1),
        best,
        torch.cat([finished.log_prob, log_prob], 1).gather(1, chosen),
        functional.pad(finished.length, (0, width), value=length).gather(1, chosen),
        torch.cat([finished.parent, parent], 1).gather(1, chosen),
    )


def extend(beam: Beam, candidates: Candidates, width: int) -> tuple[Beam, SearchStep]:
    """The best `width` candidates that do not end in eos become the open hypotheses."""
    log_prob, chosen = candidates.log_prob.masked_fill(candidates.token == EOS, -inf).topk(width)
    parent = candidates.parent.gather(1, chosen)
    token = candidates.token.gather(1, chosen).masked_fill(log_prob == -inf, PAD)
    history, coverage = beam.history, beam.coverage
    if history is not None:
        history = torch.cat([_pick(history, parent), token[..., None]], -1)
    if coverage is not None:
        coverage = _pick(coverage, parent)
    place = None if beam.place is None else beam.place.gather(1, parent)
    extended = replace(beam, log_prob=log_prob, history=history, coverage=coverage, place=place)
    return extended, SearchStep(beam.sentence, parent, token)


def unsettled(beam: Beam, finished: Finished, width: int, divisors: Float[Tensor, " T"]) -> Bool[Tensor, " N"]:
    """Which sentences have fewer than `width` finished hypotheses and an open one that may still be among the best?

    An open hypothesis cannot score above its log-probability divided by the divisor at the length limit: the
    log-probability only falls, coverage_log is at most 0, and that divisor is the largest.
    """
    bound = beam.log_prob[:, 0] / divisors[beam.limit]
    return (bound > finished.score[:, -1]) & (finished.count < width)


def _pick(rows: Tensor, parent: Int[Tensor, "N K"]) -> Tensor:
    """Rows `parent` of axis 1, for each sentence."""
    return rows.gather(1, parent[..., None].expand(-1, -1, rows.shape[-1]))


def merge(parts: list[Finished]) -> Finished:
    """The parts as one, with sentences in the order of the original batch."""
    whole = Finished(*(torch.cat([getattr(part, f.name) for part in parts]) for f in fields(Finished)))
    return whole.select(whole.sentence.argsort())


def read_hypotheses(finished: Finished, steps: list[SearchStep]) -> list[list[Hypothesis]]:
    """The hypotheses of each sentence; tokens are found by following the parents from end to beginning."""
    links = [
        dict(zip(step.sentence.tolist(), zip(step.parent.tolist(), step.token.tolist(), strict=True), strict=True))
        for step in steps
    ]  # of each step: the parents and the tokens of a sentence's open hypotheses

    def tokens_of(sentence: int, length: int, slot: int) -> list[int]:
        """The tokens of a sentence's hypothesis in this slot after `length` steps."""
        found = []
        for step in reversed(links[:length]):
            parents, tokens = step[sentence]
            found.append(tokens[slot])
            slot = parents[slot]
        return found[::-1]

    return [
        [
            Hypothesis(tokens_of(sentence, length, slot), log_prob, score)
            for score, log_prob, length, slot in zip(*hypotheses, strict=True)
            if score > -inf
        ]
        for sentence, *hypotheses in zip(
            finished.sentence.tolist(),
            finished.score.tolist(),
            finished.log_prob.tolist(),
            finished.length.tolist(),
            finished.parent.tolist(),
            strict=True,
        )
    ]
