"""How little a pair looks like a translation to trained models: dual conditional cross-entropy."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nmt.errors import ConfigError
from nmt.translation.translator import LONGEST_FORCED, Translator


def misalignment(
    there: Translator, back: Translator | None, sources: Sequence[str], targets: Sequence[str]
) -> NDArray[np.float64]:
    """A score of each pair, nats per piece, the higher the worse: |a - b| + (a + b) / 2 (Junczys-Dowmunt 2018, eq. 2).

    a is the cross-entropy of the target under the model `there`, b that of the source under the model `back`; a alone
    where there is no such model. A pair that is too long to be scored has inf.
    """
    a = cross_entropies(there, sources, targets)
    if back is None:
        return a
    b = cross_entropies(back, targets, sources)
    known = np.isfinite(a) & np.isfinite(b)
    a, b = np.where(known, a, 0.0), np.where(known, b, 0.0)
    return np.where(known, np.abs(a - b) + (a + b) / 2, np.inf)


def cross_entropies(translator: Translator, sources: Sequence[str], targets: Sequence[str]) -> NDArray[np.float64]:
    """Nats per piece of each target, its end included; inf where a side has more than LONGEST_FORCED pieces."""
    tokenizers = translator.tokenizers
    src = tokenizers.src.encode_batch([translator.as_read(text) for text in sources])
    tgt = tokenizers.tgt.encode_batch([translator.cleaning.target(text) for text in targets])
    fitting = [row for row in range(len(src)) if max(len(src[row]), len(tgt[row])) <= LONGEST_FORCED]
    found = np.full(len(src), np.inf)
    for rows, (log_probs, _) in translator.forced_side_by_side([src[r] for r in fitting], [tgt[r] for r in fitting]):
        for row, log_prob in zip(rows, log_probs, strict=True):
            found[fitting[row]] = -log_prob / (len(tgt[fitting[row]]) + 1)
    return found


def refuse_other_direction(key: str, translator: Translator, languages: tuple[str, str]) -> None:
    """Refuses a model that is known to translate between other languages than these (source, target)."""
    stored = translator.config.data
    known = stored.src_lang, stored.tgt_lang
    if None not in known and known != languages:
        raise ConfigError(
            f"{key}={translator.name} translates {known[0]} to {known[1]}; name a model of {languages[0]} to "
            f"{languages[1]}"
        )
