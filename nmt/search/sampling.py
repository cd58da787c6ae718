"""Draws tokens from the model's distribution."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from nmt.config.sections import SearchConfig
from nmt.search.hypotheses import Candidates


def draw(
    log_probs: Float[Tensor, "N K V"],
    log_prob: Float[Tensor, "N K"],
    cfg: SearchConfig,
    generators: Sequence[torch.Generator],
) -> Candidates:
    """A random continuation of each of the n_best hypotheses; at the first step, n_best of the only hypothesis.

    Each sentence has its own generator, on the CPU, so that its draws do not depend on the others of the batch.
    top_k and top_p (nucleus, Holtzman et al. 2020) cut the distribution after the temperature has shaped it.
    """
    sentences, hypotheses, vocab = log_probs.shape
    size = cfg.n_best
    draws = size // hypotheses
    rows = log_probs.flatten(0, 1)
    likely, index = rows, None
    if cfg.top_k is not None or cfg.top_p is not None:
        likely, index = rows.topk(min(cfg.top_k or vocab, vocab))
    probs = (likely / cfg.temperature).softmax(-1)
    if cfg.top_p is not None:
        likelier = probs.cumsum(-1) - probs
        likelier[:, 0] = 0  # the likeliest token always stays
        probs = probs.masked_fill(likelier >= cfg.top_p, 0)
    mass = probs.nan_to_num(1.0).cumsum(-1, dtype=torch.float64)  # hypotheses with NaN do not count
    chance = torch.stack([torch.rand(size, generator=own, dtype=torch.float64) for own in generators])
    token = torch.searchsorted(mass, chance.to(mass.device).view(-1, draws) * mass[:, -1:], right=True)
    if index is not None:
        token = index.gather(1, token)
    total = rows.gather(1, token).view(sentences, size) + log_prob.repeat_interleave(draws, 1)
    parent = torch.arange(size, device=token.device) // draws
    return Candidates(total, parent.expand(sentences, size), token.view(sentences, size))
