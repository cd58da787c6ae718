"""Figures to judge a finished model by: does it translate its sources, or know only how frequent words are?"""

from collections.abc import Sequence

import numpy as np

from nmt.data.encoded import EncodedSide
from nmt.data.parallel import correlation
from nmt.data.tokenizer import EOS, UNK, Tokenizer

MOST_PAIRS = 100_000  # training pairs that are read, at most
CHUNK_PAIRS = 10_000


def nll_of_frequencies(train: EncodedSide, vocab_size: int, dev_ids: Sequence[Sequence[int]]) -> float:
    """Nats per token of the dev targets under the piece frequencies of the training targets (add-one smoothing)."""
    counts = np.ones(vocab_size)
    for rows in chunks(len(train)):
        counts += np.bincount(train.gather(rows).tokens, minlength=vocab_size)
        counts[EOS] += len(rows)
    nll = np.log(counts.sum()) - np.log(counts)
    tokens = np.concatenate([[*ids, EOS] for ids in dev_ids])
    return float(nll[tokens].mean())


def length_correlation(src: EncodedSide, tgt: EncodedSide) -> float | None:
    """Correlation of the source and target lengths of the training pairs; None: lengths vary too little to tell."""
    lengths = np.concatenate([np.stack([src[rows], tgt[rows]], 1) for rows in chunks(len(src))])
    return correlation(lengths)


def unknown_share(dev_ids: Sequence[Sequence[int]]) -> float:
    """Share of the dev targets' tokens that are not in the vocabulary."""
    tokens = np.concatenate([[*ids, EOS] for ids in dev_ids])
    return float((tokens == UNK).mean())


def spelled_share(tokenizer: Tokenizer, dev_ids: Sequence[Sequence[int]]) -> float:
    """Share of the dev targets' tokens that are unknown, or single bytes of characters that have no piece."""
    return sum(map(tokenizer.spelled, dev_ids)) / sum(len(ids) + 1 for ids in dev_ids)


def chunks(pairs: int) -> list[np.ndarray]:
    """Row numbers, in chunks, of the pairs that are read."""
    rows = np.arange(min(pairs, MOST_PAIRS))
    return np.array_split(rows, -(-len(rows) // CHUNK_PAIRS))
