"""Scores of how little a pair looks like a translation to trained models."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from nmt.data.batch import make_batch
from nmt.data.batching import forced_batches
from nmt.data.clean_corpus import PairScores
from nmt.errors import ConfigError
from nmt.translation.translator import LONGEST_FORCED, Translator


def scores(
    there: Translator, back: Translator | None, contrast: bool, sources: Sequence[str], targets: Sequence[str]
) -> PairScores:
    """Scores of each pair, the higher the worse; inf for a pair that is too long to be scored.

    a is the cross-entropy of the target given the source under the model `there`. b is the cross-entropy of the source
    given the target under the model `back`. Both are in nats per piece. Without `back`, a alone counts.
    `contrast`: is the contrast wanted? It doubles the work.
    """
    a, end = surprise(there, sources, targets)
    ratio = contrasts(there, a, sources, targets) if contrast else np.zeros(len(a))
    if back is None:
        return PairScores(a, end, ratio)
    b, start = surprise(back, targets, sources)
    if contrast:
        ratio = np.maximum(ratio, contrasts(back, b, targets, sources))
    known = np.isfinite(a) & np.isfinite(b)
    a, b = np.where(known, a, 0.0), np.where(known, b, 0.0)
    dual = np.where(known, np.abs(a - b) + (a + b) / 2, np.inf)
    return PairScores(dual, np.maximum(end, start), ratio)


def contrasts(
    translator: Translator, own: NDArray[np.float64], sources: Sequence[str], targets: Sequence[str]
) -> NDArray[np.float64]:
    """The cross-entropy of each target given its own source, divided by its cross-entropy given another pair's source.

    It is about 1 if the source says nothing about the target, and 0 without another pair to compare with.
    """
    if len(sources) < 2:
        return np.zeros(len(sources))
    shift = len(sources) // 2  # neighbours may be alike
    other, _ = surprise(translator, [*sources[shift:], *sources[:shift]], targets)
    known = np.isfinite(own) & np.isfinite(other)
    # a pair is not to blame for another one that is too long
    return np.where(known, own / np.where(known, other, 1.0), np.where(np.isfinite(own), 0.0, np.inf))


def surprise(
    translator: Translator, sources: Sequence[str], targets: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nats per piece of each target, its end of sentence included, and nats of the end of sentence alone.

    Both are inf if a side has more than LONGEST_FORCED pieces.
    """
    tokenizers = translator.tokenizers
    src = tokenizers.src.encode_batch([translator.as_read(text) for text in sources])
    tgt = tokenizers.tgt.encode_batch([translator.cleaning.target(text) for text in targets])
    fitting = [row for row in range(len(src)) if max(len(src[row]), len(tgt[row])) <= LONGEST_FORCED]
    src, tgt = [src[row] for row in fitting], [tgt[row] for row in fitting]
    per_piece, end = np.full((2, len(sources)), np.inf)

    def work(rows: list[int]) -> NDArray[np.float32]:
        batch = make_batch([src[row] for row in rows], [tgt[row] for row in rows]).to(translator.device)
        with torch.inference_mode():
            log_probs, _ = translator.model.forced(batch)  # [B, T]
        if not log_probs.isfinite().all():
            raise translator.no_numbers()
        found: NDArray[np.float32] = log_probs.float().cpu().numpy()
        return found

    batches = forced_batches(src, tgt)
    for rows, log_probs in zip(batches, translator.workers.each(work, batches), strict=True):
        for row, own in zip(rows, log_probs, strict=True):
            pieces = len(tgt[row]) + 1
            per_piece[fitting[row]], end[fitting[row]] = -own[:pieces].mean(), -own[pieces - 1]
    return per_piece, end


def refuse_other_direction(key: str, translator: Translator, languages: tuple[str | None, ...]) -> None:
    """Refuses a model that is known to translate between other languages than these (source, target)."""
    stored = translator.config.data
    known = stored.src_lang, stored.tgt_lang
    if None not in known and known != languages:
        raise ConfigError(
            f"{key}={translator.name} translates {known[0]} to {known[1]}; name a model of {languages[0]} to "
            f"{languages[1]}"
        )
