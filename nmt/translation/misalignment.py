"""How little a pair looks like a translation to trained models."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from nmt.data.batch import make_batch
from nmt.data.batching import forced_batches
from nmt.errors import ConfigError
from nmt.translation.translator import LONGEST_FORCED, Translator


def scores(
    there: Translator, back: Translator | None, sources: Sequence[str], targets: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two scores of each pair, the higher the worse; inf for a pair that is too long to be scored.

    The first is in nats per piece: |a - b| + (a + b) / 2, where a is the cross-entropy of the target under the model
    `there`, b that of the source under the model `back` (Junczys-Dowmunt 2018, eq. 2); a alone without such a model.
    The second is in nats: the end of the target, or of the source under `back`, whichever is less expected. A sentence
    that was cut off ends where the model would go on.
    """
    a, end = surprise(there, sources, targets)
    if back is None:
        return a, end
    b, start = surprise(back, targets, sources)
    known = np.isfinite(a) & np.isfinite(b)
    a, b = np.where(known, a, 0.0), np.where(known, b, 0.0)
    return np.where(known, np.abs(a - b) + (a + b) / 2, np.inf), np.maximum(end, start)


def surprise(
    translator: Translator, sources: Sequence[str], targets: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nats per piece of each target, its end included, and nats of that end alone.

    Both are inf where a side has more than LONGEST_FORCED pieces.
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
