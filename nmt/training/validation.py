"""How good a model is on the dev split while it trains."""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import torch
from datasets import Dataset
from jaxtyping import Bool, Float
from torch import Tensor
from tqdm import tqdm

from nmt.config.sections import SearchConfig
from nmt.data.batch import Batch, make_batch
from nmt.data.batching import BatchOrder
from nmt.data.tokenizer import TokenizerPair
from nmt.errors import DataError
from nmt.machine.allocator import lacks_memory
from nmt.machine.device import autocast
from nmt.model.seq2seq import Seq2Seq, evaluation_mode
from nmt.scoring.metrics import WordRule, bleu
from nmt.search.beam import search
from nmt.training.loss import batch_loss

Found = TypeVar("Found")

LONGEST_DEV = 5000  # pieces of a dev sentence: its attention is held in memory
ENTROPY_SENTENCES = 250  # dev sentences over whose reference translations the attention's entropy is taken


@dataclass(frozen=True)
class DevScores:
    """Per token: loss as trained on (label-smoothed), and negative log-likelihood; nats."""

    loss: float
    nll: float
    bleu: float | None
    attention_entropy: float | None  # nats; None: the model has no attention

    def values(self) -> dict[str, float]:
        """What there is to report."""
        known = {"loss": self.loss, "nll": self.nll, "perplexity": math.exp(min(self.nll, 700))}
        rest = {"bleu": self.bleu, "attention_entropy": self.attention_entropy}
        return known | {name: value for name, value in rest.items() if value is not None}


class Validator:
    """Dev loss of teacher forcing and dev BLEU of greedy search, always over the same sentences."""

    def __init__(
        self,
        dev: Dataset,
        tokenizers: TokenizerPair,
        settings: SearchConfig,
        sentences: int | None,
        smoothing: float,
        budget: int,
        word_rule: WordRule,
        check_stop: Callable[[], None],
    ) -> None:
        """`check_stop` raises where the user wants an end; it is called between batches."""
        self.dev = dev
        self.tokenizers = tokenizers
        self.greedy = replace(settings, beam=1, n_best=1, sample=False)
        self.sentences = len(dev) if sentences is None else min(sentences, len(dev))
        self.smoothing = smoothing
        self.word_rule = word_rule
        self.check_stop = check_stop
        self.halved = False  # has memory ever lacked?
        self.src_lengths = np.array([len(ids) + 1 for ids in dev["src_ids"]], dtype=np.int32)
        self.tgt_lengths = np.array([len(ids) + 1 for ids in dev["tgt_ids"]], dtype=np.int32)
        self.refuse_endless()
        order = BatchOrder(self.src_lengths, self.tgt_lengths, budget, seed=0)
        self.batches = order.cut(np.lexsort((self.src_lengths, self.tgt_lengths)))

    def refuse_endless(self) -> None:
        """Dev pairs are never filtered: one that no memory holds is named before any work."""
        pieces = np.maximum(self.src_lengths, self.tgt_lengths) - 1
        row = int(pieces.argmax())
        if pieces[row] > LONGEST_DEV:
            raise DataError(
                f"pair {self.dev[row]['index'] + 1:,} (as read) of the dev split has {pieces[row]:,} pieces; at most "
                f"{LONGEST_DEV:,} can be validated on: shorten it, or take it out of data.dev (data.train, if dev is "
                "cut off it)"
            )

    @torch.no_grad()
    def scores(self, model: Seq2Seq, device: torch.device, dtype: torch.dtype) -> tuple[DevScores, list[str]]:
        """Loss and BLEU, and the translations of the first sentences in order (none where BLEU is off)."""
        with evaluation_mode(model), autocast(device, dtype):
            sums = torch.zeros(2, device=device)
            for rows in self.batches:
                for found in self.in_parts(rows.tolist(), lambda rows: self.loss(model, self.pairs(rows, device))):
                    sums += found
            loss, nll = (sums / int(self.tgt_lengths.sum())).tolist()
            if not math.isfinite(loss):  # a model that no search can follow
                return DevScores(loss, nll, None, None), []
            entropy = self.entropy(model, device)
            translations = self.translate(model, device)
        score = bleu(translations, [self.dev[: self.sentences]["tgt"]], self.word_rule) if translations else None
        return DevScores(loss, nll, score, entropy), translations

    def in_parts(self, rows: list[int], work: Callable[[list[int]], Found]) -> Iterator[Found]:
        """What `work` makes of dev pairs: of all, or of halves of them where memory does not hold what all need."""
        self.check_stop()
        try:
            found = work(rows)
        except (MemoryError, RuntimeError) as error:
            if not lacks_memory(error):
                raise
        else:
            yield found
            return
        if len(rows) == 1:
            raise DataError(
                f"memory does not hold pair {self.dev[rows[0]]['index'] + 1:,} (as read) of the dev split; shorten it, "
                "or take it out of data.dev (data.train, if dev is cut off it)"
            )
        if not self.halved:
            self.halved = True
            said = f"note: memory did not hold {len(rows):,} dev pairs at once, so that fewer are validated together"
            tqdm.write(f"{said}; dev scores may differ in rounding", file=sys.stderr)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        middle = len(rows) // 2
        for half in (rows[:middle], rows[middle:]):
            yield from self.in_parts(half, work)

    def pairs(self, rows: list[int], device: torch.device) -> Batch:
        """Dev pairs as a batch."""
        pairs = self.dev[rows]
        return make_batch(pairs["src_ids"], pairs["tgt_ids"]).to(device)

    def loss(self, model: Seq2Seq, batch: Batch) -> Float[Tensor, "2"]:
        """Sums of loss and negative log-likelihood."""
        return torch.stack(batch_loss(model, batch, self.smoothing))

    def entropy(self, model: Seq2Seq, device: torch.device) -> float | None:
        """Mean entropy of the attention over the reference translations of the first sentences."""

        def of_rows(rows: list[int]) -> Tensor:
            batch = self.pairs(rows, device)
            _, weights = model.forced(batch)
            return attention_entropy(weights, batch.tgt_mask)

        first = list(range(min(len(self.dev), ENTROPY_SENTENCES)))
        size = self.greedy.batch_sentences
        batches = [first[start : start + size] for start in range(0, len(first), size)]
        means = torch.cat([found for rows in batches for found in self.in_parts(rows, of_rows)])
        return float(means.mean()) if len(means) else None

    def translate(self, model: Seq2Seq, device: torch.device) -> list[str]:
        """Greedy translations of the first `sentences` dev sentences."""
        translations = [""] * self.sentences
        order = np.argsort(self.src_lengths[: self.sentences], kind="stable").tolist()

        def of_rows(rows: list[int]) -> list[tuple[int, str]]:
            batch = make_batch(self.dev[rows]["src_ids"], [[] for _ in rows]).to(device)
            found = search(model, batch.src, batch.src_mask, self.greedy, None)
            texts = [self.tokenizers.tgt.decode(hypotheses[0].tokens) for hypotheses in found]
            return list(zip(rows, texts, strict=True))

        for start in range(0, self.sentences, 4 * self.greedy.batch_sentences):
            for found in self.in_parts(order[start : start + 4 * self.greedy.batch_sentences], of_rows):
                for row, text in found:
                    translations[row] = text
        return translations


def attention_entropy(weights: Float[Tensor, "B L H T S"], tgt_mask: Bool[Tensor, "B T"]) -> Float[Tensor, " N"]:
    """Entropy -Σ_i α_{t,i} ln α_{t,i} (nats) at each of the N real target positions, mean over layers and heads.

    Empty where the model has no attention.
    """
    if not weights.shape[1]:
        return weights.new_zeros(0)
    return -torch.xlogy(weights.float(), weights.float()).sum(-1).mean((1, 2))[tgt_mask]


@torch.no_grad()
def forced_attention(
    model: Seq2Seq, src_ids: Sequence[int], tgt_ids: Sequence[int], device: torch.device
) -> Tensor | None:
    """Attention weights [T, S] (eos included on both sides, mean over layers and heads); None where there are none."""
    with evaluation_mode(model):
        _, weights = model.forced(make_batch([src_ids], [tgt_ids]).to(device))
    return weights[0].mean((0, 1)).float().cpu() if weights.shape[1] else None
