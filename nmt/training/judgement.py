"""What a finished model is judged by: whether sources, and not word frequencies alone, tell it the translations."""

from collections.abc import Sequence

import numpy as np

from nmt.data.encoded import EncodedSide
from nmt.data.parallel import correlation
from nmt.data.tokenizer import EOS, UNK

MOST_PAIRS = 100_000  # of the training split, that are looked at
CHUNK_PAIRS = 10_000


def nll_of_frequencies(train: EncodedSide, vocab_size: int, dev_ids: Sequence[Sequence[int]]) -> float:
    """Nats per token of dev targets by the frequencies of pieces (each seen once more) in the training targets."""
    counts = np.ones(vocab_size)
    for rows in chunks(len(train)):
        counts += np.bincount(train.gather(rows).tokens, minlength=vocab_size)
        counts[EOS] += len(rows)
    nll = np.log(counts.sum()) - np.log(counts)
    tokens = np.concatenate([[*ids, EOS] for ids in dev_ids])
    return float(nll[tokens].mean())


def length_correlation(src: EncodedSide, tgt: EncodedSide) -> float | None:
    """Of the lengths of both sides of the training pairs; None: they are too much alike to say anything."""
    lengths = np.concatenate([np.stack([src[rows], tgt[rows]], 1) for rows in chunks(len(src))])
    return correlation(lengths)


def unknown_share(dev_ids: Sequence[Sequence[int]]) -> float:
    """Of the dev targets' pieces, how many the vocabulary has not."""
    tokens = np.concatenate([[*ids, EOS] for ids in dev_ids])
    return float((tokens == UNK).mean())


def chunks(pairs: int) -> list[np.ndarray]:
    """Row numbers of the pairs that are looked at."""
    rows = np.arange(min(pairs, MOST_PAIRS))
    return np.array_split(rows, -(-len(rows) // CHUNK_PAIRS))
