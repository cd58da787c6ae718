"""The search options of a request."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from nmt.config.sections import SearchConfig


@dataclass(frozen=True)
class Search:
    """Options of a request. Without an option, the model's own setting applies."""

    n_best: int = 1
    beam: int | None = None
    attention: Literal[False, "words", "pieces"] = False
    prefix: str | None = None  # what the translation begins with
    split: bool = True  # cut texts into sentences
    tree: bool = False  # also answer with the hypotheses of every step

    def settings(self, own: SearchConfig) -> SearchConfig:
        """The model's `own` settings with these options, and without sampling."""
        return _settings(own, max(self.beam or own.beam, self.n_best), self.n_best)


@lru_cache(64)  # most requests ask for the same options
def _settings(own: SearchConfig, beam: int, n_best: int) -> SearchConfig:
    return replace(own, beam=beam, n_best=n_best, sample=False, temperature=1.0, top_k=None, top_p=None)
