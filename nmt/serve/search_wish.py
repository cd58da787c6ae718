"""What a request wants of the search."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from nmt.config.sections import SearchConfig


@dataclass(frozen=True)
class Search:
    """The model's own settings are used where nothing is asked for."""

    n_best: int = 1
    beam: int | None = None
    attention: Literal[False, "words", "pieces"] = False
    prefix: str | None = None  # what the translation begins with
    split: bool = True  # cut texts into sentences
    tree: bool = False  # the hypotheses of every step

    def settings(self, own: SearchConfig) -> SearchConfig:
        """The settings of this search; nothing is drawn at random."""
        return _settings(own, max(self.beam or own.beam, self.n_best), self.n_best)


@lru_cache(64)  # a request asks for what others have asked for
def _settings(own: SearchConfig, beam: int, n_best: int) -> SearchConfig:
    return replace(own, beam=beam, n_best=n_best, sample=False, temperature=1.0, top_k=None, top_p=None)
