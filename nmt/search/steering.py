"""Requests that a caller can make of a search, besides its settings."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from nmt.search.hypotheses import Beam, Candidates, SearchStep
from nmt.search.prefix import Prefixes

Watch = Callable[[Beam, Candidates, SearchStep], None]


@dataclass(frozen=True)
class Steering:
    """Requests to a search; each is optional."""

    prefixes: Prefixes | None = None  # the text that each translation begins with
    gone: Callable[[], Collection[int]] | None = None  # called at each step: sentences that nobody waits for any more
    watch: Watch | None = None  # called after each step with the open hypotheses and the candidates for them


UNSTEERED = Steering()
