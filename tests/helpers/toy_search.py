"""A toy model for the search, and the search in plain Python."""

import itertools
import math
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from nmt.config.sections import SearchConfig
from nmt.data.tokenizer import BOS, EOS, PAD
from nmt.model.interfaces import Source, State
from nmt.search.beam import search
from nmt.search.hypotheses import Hypothesis

CFG = SearchConfig(
    beam=4,
    n_best=1,
    length_penalty="average",
    alpha=1.0,
    coverage_penalty=0.0,
    max_length_a=2.0,
    max_length_b=1.5,
    no_repeat_ngram=None,
    sample=False,
    temperature=1.0,
    top_k=None,
    top_p=None,
    batch_sentences=64,
)


@dataclass(frozen=True)
class ToySource(Source):
    """Sentences that may leave, once and for all, and nothing else."""

    def select(self, rows: Tensor) -> Self:
        assert len(rows) < len(self.mask), "selected although nothing left"
        assert (rows.diff() > 0).all(), "repeated or reordered"
        return super().select(rows)


@dataclass(frozen=True)
class ToyState(State):
    hidden: Tensor  # [R, D], of the whole prefix


class Toy:
    """A random recurrent model in double precision; pad, bos and unk have probability like all others."""

    def __init__(self, seed: int, vocab: int, d: int = 8) -> None:
        random = torch.Generator().manual_seed(seed)
        self.vocab = vocab
        self.embedding, self.recurrent, self.output, self.words = (
            torch.randn(shape, generator=random, dtype=torch.float64)
            for shape in ((vocab, d), (d, d), (d, vocab), (vocab, d))
        )

        self.bias = torch.zeros(vocab, dtype=torch.float64)
        self.max_length: int | None = None

    def start(self, src: Tensor, src_mask: Tensor, wants_weights: bool) -> tuple[ToySource, ToyState]:
        words = (self.words[src] * src_mask[..., None])[:, None, None]
        hidden = (words * torch.arange(1, src.shape[1] + 1).view(-1, 1)).sum((1, 2, 3))
        return ToySource(words, words, src_mask, wants_weights), ToyState(hidden)

    def step(self, tokens: Tensor, source: Source, state: State) -> tuple[Tensor, Tensor, ToyState]:
        assert isinstance(state, ToyState)
        sentences, hypotheses = len(source.mask), len(tokens) // len(source.mask)
        assert len(tokens) == len(state.hidden) == sentences * hypotheses
        hidden = (state.hidden @ self.recurrent * 0.5 + self.embedding[tokens[:, 0]]).tanh()
        query = hidden.view(sentences, hypotheses, -1)
        scores = query @ source.keys[:, 0, 0].mT
        attention = scores.masked_fill(~source.mask[:, None], -math.inf).softmax(-1)
        context = (attention @ source.values[:, 0, 0]).flatten(0, 1)
        log_probs = ((hidden + 0.5 * context) @ self.output * 0.7 + self.bias).log_softmax(-1).float()
        layers = 1 if source.wants_weights else 0
        shown = attention.flatten(0, 1).float()[:, None, None, None].expand(-1, layers, 1, 1, -1)
        return log_probs, shown, ToyState(hidden)


def sentences(seed: int, vocab: int, lengths: list[int]) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(seed + 1000)
    src = torch.full((len(lengths), max(lengths) + 1), PAD)
    for row, length in zip(src, lengths, strict=True):
        row[:length] = torch.randint(4, vocab, (length,), generator=random)
        row[length] = EOS
    return src, src != PAD


def one(src: Tensor, mask: Tensor, row: int) -> tuple[Tensor, Tensor]:
    length = int(mask[row].sum())
    return src[row : row + 1, :length], mask[row : row + 1, :length]


class Forced:
    """Scores of given continuations of one sentence, token by token."""

    def __init__(self, model: Toy, src: Tensor, mask: Tensor, cfg: SearchConfig) -> None:
        self.model, self.cfg = model, cfg
        self.source, self.begin = model.start(src, mask, True)
        self.limit = math.floor(cfg.max_length_a + cfg.max_length_b * (src.shape[1] - 1))
        if model.max_length is not None:
            self.limit = min(self.limit, model.max_length)
        self.seen: dict[tuple[int, ...], tuple[list[float], list[float], ToyState]] = {}

    def after(self, prefix: tuple[int, ...]) -> tuple[list[float], list[float], ToyState]:
        """Log-probabilities of the next token, attention of that step, state."""
        if prefix not in self.seen:
            state = self.after(prefix[:-1])[2] if prefix else self.begin
            token = torch.tensor([[prefix[-1] if prefix else BOS]])
            log_probs, attention, state = self.model.step(token, self.source, state)
            self.seen[prefix] = log_probs[0].tolist(), attention[0, 0, 0, 0].tolist(), state
        return self.seen[prefix]

    def log_prob(self, tokens: tuple[int, ...]) -> float:
        return sum(self.after(tokens[:t])[0][token] for t, token in enumerate((*tokens, EOS)))

    def score(self, tokens: tuple[int, ...]) -> float:
        length, cfg = len(tokens) + 1, self.cfg
        divisor = {
            "average": length**cfg.alpha,
            "wu": ((5 + length) / 6) ** cfg.alpha,
            "none": 1.0,
        }[cfg.length_penalty]
        coverage = 0.0
        if cfg.coverage_penalty:
            steps = [self.after(tokens[:t])[1] for t in range(length)]
            coverage = sum(math.log(min(sum(received), 1)) for received in zip(*steps, strict=True))
        return self.log_prob(tokens) / divisor + cfg.coverage_penalty * coverage

    def allowed(self, prefix: tuple[int, ...], token: int) -> bool:
        if len(prefix) == self.limit or token == EOS:
            return token == EOS
        n, tokens = self.cfg.no_repeat_ngram, (*prefix, token)
        grams = [tokens[i : i + n] for i in range(len(tokens) - n + 1)] if n else []
        return token not in (PAD, BOS) and len(set(grams)) == len(grams)

    def every(self) -> list[tuple[int, ...]]:
        """All translations."""
        words = [token for token in range(self.model.vocab) if token not in (PAD, BOS, EOS)]
        return [
            tokens
            for length in range(self.limit + 1)
            for tokens in itertools.product(words, repeat=length)
            if all(self.allowed(tokens[:t], token) for t, token in enumerate(tokens))
        ]

    def beam_search(self) -> list[tuple[int, ...]]:
        """As search.py says it is done, for one sentence, without its early stop by the bound."""
        width, finished = self.cfg.beam, []
        beam: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
        while beam and len(finished) < width:
            candidates = sorted(
                (
                    (total + log_prob, prefix, token)
                    for total, prefix in beam
                    for token, log_prob in enumerate(self.after(prefix)[0])
                    if self.allowed(prefix, token)
                ),
                reverse=True,
            )
            finished += [prefix for _, prefix, token in candidates[:width] if token == EOS]
            going = [(total, (*prefix, token)) for total, prefix, token in candidates if token != EOS]
            beam = going[:width]
        return sorted(finished, key=self.score, reverse=True)[: self.cfg.n_best]


def run(model: Toy, src: Tensor, mask: Tensor, cfg: SearchConfig, seed: int = 0) -> list[list[Hypothesis]]:
    return search(model, src, mask, cfg, [seed] * len(src))
