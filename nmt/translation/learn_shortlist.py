"""`nmt shortlist`: the target pieces that each source piece translates to, by a model's attention on training pairs.

The attention of a forced pair links each piece of the target with the source piece that it translates. Counting these
links over the training split gives a lexical translation table by pieces, as word alignments give one by words (Koehn
et al. 2003).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from nmt.data.batch import Batch, pad_batch
from nmt.data.batching import BatchOrder
from nmt.data.encoded import EncodedSide, Numbers, open_sides
from nmt.data.tokenizer import EOS, PAD
from nmt.machine.progress_bar import progress_bar
from nmt.model.seq2seq import Seq2Seq
from nmt.search.shortlist import SPECIAL, Shortlist
from nmt.translation.translator import Translator

TOKENS = 4096  # pairs forced together times tokens of their longest side, at most
PENDING = 1 << 22  # links held in memory before equal ones are counted together


@dataclass(frozen=True)
class Pairs:
    """The sentence pairs of a split at these rows."""

    src: EncodedSide
    tgt: EncodedSide
    rows: Numbers
    seed: int

    def batches(self, device: torch.device) -> Iterator[Batch]:
        """All pairs, in batches of similar lengths."""
        order = BatchOrder(self.src, self.tgt, TOKENS, self.seed)
        for rows in order.cut(self.rows[np.lexsort((self.src[self.rows], self.tgt[self.rows]))]):
            yield pad_batch(self.src.gather(rows), self.tgt.gather(rows)).to(device)


@dataclass(frozen=True)
class LinkCounts:
    """How often attention links a source piece with a target piece, and how often each target piece occurs."""

    link: Numbers  # source piece * target vocabulary size + target piece; each link once, ascending
    count: Numbers  # how often each link occurs
    occurrences: Numbers  # how often each target piece occurs


def drawn_pairs(split: Any, most: int | None, seed: int) -> Pairs:
    """The pairs of an encoded split: all, or `most` of them drawn at random with the seed."""
    src, tgt = open_sides(Path(split.cache_files[0]["filename"]))
    rows = np.arange(len(src))
    if most is not None and most < len(rows):
        rows = np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))
    return Pairs(src, tgt, rows, seed)


def learn(translator: Translator, pairs: Pairs, best: int, frequent: int) -> Shortlist:
    """A shortlist: for each source piece the `best` most linked target pieces, and the `frequent` most frequent ones.

    If both sides share one vocabulary, each source piece may also be copied, as names and numbers are.
    """
    counts = count(translator, pairs)
    table = most_linked(counts, translator.tokenizers.src.vocab_size, best)
    if translator.tokenizers.src is translator.tokenizers.tgt:
        table = np.concatenate([table, np.arange(len(table))[:, None]], 1)
    occurring = np.argsort(-counts.occurrences, kind="stable")[: len(SPECIAL) + frequent]
    often = [piece for piece in occurring if counts.occurrences[piece] and piece not in SPECIAL][:frequent]
    return Shortlist(torch.from_numpy(table), torch.tensor(often, dtype=torch.long), candidates=0.0)


def count(translator: Translator, pairs: Pairs) -> LinkCounts:
    """The links between the pieces of the pairs, and how often each target piece occurs."""
    vocab = translator.tokenizers.tgt.vocab_size
    assert isinstance(translator.model, Seq2Seq)
    counts = LinkCounts(*(np.zeros(size, np.int64) for size in (0, 0, vocab)))
    pending: list[Numbers] = []
    with progress_bar(len(pairs.rows), "pairs") as bar:
        for batch in pairs.batches(translator.device):
            src, tgt = links(translator.model, batch)
            pending.append((src * vocab + tgt).cpu().numpy())
            real = batch.tgt_out[batch.tgt_mask].cpu().numpy()
            counts.occurrences[:] += np.bincount(real, minlength=vocab)
            if sum(map(len, pending)) > PENDING:
                counts, pending = merged(counts, pending), []
            bar.update(len(batch.src))
    return merged(counts, pending)


@torch.inference_mode()
def links(model: Seq2Seq, batch: Batch) -> tuple[Int[Tensor, " N"], Int[Tensor, " N"]]:
    """Source and target piece of each link: a target piece links with the source piece that it attends to most.

    The attention is the mean of all layers and heads. Ends of sentences have no links. The output layer, most of the
    work in training, is not computed.
    """
    source, state = model.start(batch.src, batch.src_mask, wants_weights=True)
    _, weights, _ = model.decoder(batch.tgt_in, source, state)
    real = batch.src_mask & (batch.src != EOS)
    place = weights.float().mean((1, 2)).masked_fill(~real[:, None], -1).argmax(-1)  # [B, T]
    linked = batch.tgt_mask & (batch.tgt_out != EOS) & real.any(1, keepdim=True)
    return batch.src.gather(1, place)[linked], batch.tgt_out[linked]


def merged(counts: LinkCounts, pending: Sequence[Numbers]) -> LinkCounts:
    """`counts` with these links added."""
    link, place = np.unique(np.concatenate([counts.link, *pending]), return_inverse=True)
    added = np.ones(sum(map(len, pending)), np.int64)
    times = np.bincount(place, np.concatenate([counts.count, added]), len(link)).astype(np.int64)
    return LinkCounts(link, times, counts.occurrences)


def most_linked(counts: LinkCounts, src_pieces: int, best: int) -> Numbers:
    """Target pieces of each source piece [V, best], the most frequent link first; PAD fills the rest."""
    src, tgt = np.divmod(counts.link, len(counts.occurrences))
    order = np.lexsort((tgt, -counts.count, src))
    src, tgt = src[order], tgt[order]
    rank = np.arange(len(src)) - np.searchsorted(src, src)
    table = np.full((src_pieces, best), PAD, np.int64)
    table[src[rank < best], rank[rank < best]] = tgt[rank < best]
    return table


def coverage(shortlist: Shortlist, pairs: Pairs, vocab: int) -> tuple[float, float]:
    """How many pieces a sentence may use, on average, and the share of the targets' pieces that are among them."""
    candidates = held = pieces = 0
    for batch in pairs.batches(shortlist.best.device):
        allowed = shortlist.allowed(batch.src, batch.src_mask, vocab)
        counting = batch.tgt_mask & (batch.tgt_out != EOS)
        candidates += int(allowed.sum())
        held += int((allowed.gather(1, batch.tgt_out) & counting).sum())
        pieces += int(counting.sum())
    return candidates / len(pairs.rows), held / max(pieces, 1)
