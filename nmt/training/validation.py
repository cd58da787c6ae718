"""Scores of a model on the dev split while it trains."""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property, partial
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
from nmt.machine.peers import ALONE, Peers
from nmt.machine.signals import Interrupted
from nmt.machine.threads import Workers
from nmt.model.seq2seq import Seq2Seq, evaluation_mode
from nmt.runs.learned import LEAST_BLEU
from nmt.scoring.countable import is_countable
from nmt.scoring.metrics import bleu, bleu_of_others
from nmt.scoring.word_rules import WordRule, bleu_tokenizer
from nmt.search.beam import search
from nmt.training.loss import batch_loss

Found = TypeVar("Found")

LONGEST_DEV = 5000  # pieces of a dev sentence, whose attention must fit in memory
ENTROPY_SENTENCES = 250  # dev sentences whose reference translations the attention entropy is measured on


@dataclass(frozen=True)
class DevScores:
    """Dev scores. Loss as trained on (label-smoothed) and negative log-likelihood are in nats per token."""

    loss: float
    nll: float
    bleu: float | None
    attention_entropy: float | None  # nats; None: the model has no attention

    def values(self) -> dict[str, float]:
        """The scores to report, by name."""
        known = {"loss": self.loss, "nll": self.nll, "perplexity": math.exp(min(self.nll, 700))}
        rest = {"bleu": self.bleu, "attention_entropy": self.attention_entropy}
        return known | {name: value for name, value in rest.items() if value is not None}


class Validator:
    """Measures dev loss with teacher forcing and dev BLEU with greedy search, always on the same sentences."""

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
        workers: Workers,
        peers: Peers = ALONE,
    ) -> None:
        """`check_stop` is called between batches; it raises `Interrupted` once the user has asked the run to stop."""
        self.dev = dev
        self.tokenizers = tokenizers
        self.greedy = replace(settings, beam=1, n_best=1, sample=False)
        self.sentences = len(dev) if sentences is None else min(sentences, len(dev))
        self.smoothing = smoothing
        self.word_rule = word_rule
        self.counts_bleu = self.sentences > 0 and is_countable(self.dev[: self.sentences]["tgt"], word_rule)
        self.check_stop = check_stop
        self.workers = workers
        self.peers = peers
        self.halved = False  # has a batch ever been too large for memory?
        self.src_lengths = np.array([len(ids) + 1 for ids in dev["src_ids"]], dtype=np.int32)
        self.tgt_lengths = np.array([len(ids) + 1 for ids in dev["tgt_ids"]], dtype=np.int32)
        self.refuse_endless()
        order = BatchOrder(self.src_lengths, self.tgt_lengths, budget, seed=0)
        self.batches = order.cut(np.lexsort((self.src_lengths, self.tgt_lengths)))

    def refuse_endless(self) -> None:
        """Refuses a dev pair that is too long for memory, before any work. Dev pairs are never filtered."""
        pieces = np.maximum(self.src_lengths, self.tgt_lengths) - 1
        row = int(pieces.argmax())
        if pieces[row] > LONGEST_DEV:
            raise DataError(
                f"pair {self.dev[row]['index'] + 1:,} (as read) of the dev split has {pieces[row]:,} pieces; at most "
                f"{LONGEST_DEV:,} can be validated on: shorten it, or take it out of data.dev (data.train, if dev is "
                "cut off it)"
            )

    def scores(self, model: Seq2Seq, device: torch.device, dtype: torch.dtype) -> tuple[DevScores, list[str]]:
        """Loss and BLEU, and the translations of the first sentences in order (empty if BLEU is off)."""
        with evaluation_mode(model):
            products = partial(autocast, device, dtype)
            sums = self.shared([rows.tolist() for rows in self.batches], partial(self.loss, model, device), products)
            tokens = int(self.tgt_lengths.sum())
            loss, nll = (sum(each) / tokens for each in zip(*sums, strict=True))
            if not math.isfinite(loss):  # such a model cannot be searched with
                return DevScores(loss, nll, None, None), []
            entropy = self.entropy(model, device, products)
            translations = self.translate(model, device, products)
        references = [self.dev[: self.sentences]["tgt"]]
        score = bleu(translations, references, self.word_rule) if self.counts_bleu else None
        return DevScores(loss, nll, score, entropy), translations

    @cached_property
    def least_bleu(self) -> float:
        """BLEU from which on it says something of a model. Characters agree by chance, so they need more of it."""
        if not self.counts_bleu or bleu_tokenizer(self.word_rule) != "char":
            return LEAST_BLEU
        return max(LEAST_BLEU, bleu_of_others(self.dev[: self.sentences]["tgt"], self.word_rule))

    def counting(self) -> str | None:
        """How dev BLEU is counted, for people; None: as in most languages, or not at all because nobody wants it."""
        if not self.sentences:
            return None
        if not self.counts_bleu:
            return "dev BLEU is not counted, for hardly any reference has four words; dev loss decides instead"
        name = bleu_tokenizer(self.word_rule)
        return None if name == "13a" else f"dev BLEU is counted with sacreBLEU's tok:{name}"

    def shared(
        self,
        batches: list[list[int]],
        work: Callable[[list[int]], Found],
        products: Callable[[], AbstractContextManager[None]],
    ) -> list[Found]:
        """The results of `work` for these dev pairs, in order. Processes share the batches; workers take one at a time.

        Results must be plain data for JSON. `products` sets the dtype of products; each worker enters it anew.
        """

        def of_batch(rows: list[int]) -> list[Found]:
            with torch.no_grad(), products():
                return list(self.in_parts(rows, work))

        mine = batches[self.peers.rank :: self.peers.count]
        found: list[list[Found]] | None = None
        try:
            found = self.workers.each(of_batch, mine)
        except Interrupted:
            if self.peers.count == 1:
                raise
        everyone = self.peers.gathered(found)
        if None in everyone:
            raise Interrupted
        count = self.peers.count
        return [each for number in range(len(batches)) for each in everyone[number % count][number // count]]

    def in_parts(self, rows: list[int], work: Callable[[list[int]], Found]) -> Iterator[Found]:
        """The results of `work` for dev pairs: one for all or, if they do not fit in memory, one for each half."""
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
                f"there is not enough memory for pair {self.dev[rows[0]]['index'] + 1:,} (as read) of the dev split; "
                "shorten it, "
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

    def loss(self, model: Seq2Seq, device: torch.device, rows: list[int]) -> list[float]:
        """Sums of loss and negative log-likelihood over dev pairs, in nats."""
        found: list[float] = torch.stack(batch_loss(model, self.pairs(rows, device), self.smoothing)).tolist()
        return found

    def nll_of_others(self, model: Seq2Seq, device: torch.device, dtype: torch.dtype) -> float | None:
        """Nats per token of the translations, each given the source of another sentence of about the same length.

        None: no two sentences are similar enough in length to share a batch.
        """

        def of_rows(rows: list[int]) -> float:
            batch = self.pairs(rows, device)
            others = replace(batch, src=batch.src.roll(1, 0), src_mask=batch.src_mask.roll(1, 0))
            return float(batch_loss(model, others, self.smoothing)[1])

        batches = [rows.tolist() for rows in self.batches if len(rows) > 1]
        with evaluation_mode(model):
            sums = self.shared(batches, of_rows, partial(autocast, device, dtype))
        tokens = sum(int(self.tgt_lengths[rows].sum()) for rows in batches)
        return sum(sums) / tokens if tokens else None

    def entropy(
        self, model: Seq2Seq, device: torch.device, products: Callable[[], AbstractContextManager[None]]
    ) -> float | None:
        """Mean entropy of the attention over the first reference translations, in nats; None: no attention."""

        def of_rows(rows: list[int]) -> list[float]:
            batch = self.pairs(rows, device)
            weights = model.attention(batch)
            entropies: list[float] = attention_entropy(weights, batch.tgt_mask).tolist()
            return entropies

        first = list(range(min(len(self.dev), ENTROPY_SENTENCES)))
        size = self.greedy.batch_sentences
        batches = [first[start : start + size] for start in range(0, len(first), size)]
        entropies = [each for found in self.shared(batches, of_rows, products) for each in found]
        return sum(entropies) / len(entropies) if entropies else None

    def translate(
        self, model: Seq2Seq, device: torch.device, products: Callable[[], AbstractContextManager[None]]
    ) -> list[str]:
        """Greedy translations of the first `sentences` dev sentences."""
        order = np.argsort(self.src_lengths[: self.sentences], kind="stable").tolist()

        def of_rows(rows: list[int]) -> list[tuple[int, str]]:
            batch = make_batch(self.dev[rows]["src_ids"], [[] for _ in rows]).to(device)
            found = search(model, batch.src, batch.src_mask, self.greedy, None)
            texts = [self.tokenizers.tgt.decode(hypotheses[0].tokens) for hypotheses in found]
            return list(zip(rows, texts, strict=True))

        size = 4 * self.greedy.batch_sentences
        batches = [order[start : start + size] for start in range(0, self.sentences, size)]
        found = {row: text for each in self.shared(batches, of_rows, products) for row, text in each}
        return [found[row] for row in range(self.sentences)]


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
    """Attention weights [T, S] (eos included on both sides, mean over layers and heads); None: no attention."""
    with evaluation_mode(model):
        weights = model.attention(make_batch([src_ids], [tgt_ids]).to(device))
    return weights[0].mean((0, 1)).float().cpu() if weights.shape[1] else None
