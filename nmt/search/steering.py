"""What a caller may ask of a search besides its settings."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from nmt.search.hypotheses import Beam, Candidates, SearchStep
from nmt.search.prefix import Prefixes

Watch = Callable[[Beam, Candidates, SearchStep], None]


@dataclass(frozen=True)
class Steering:
    """All of it is optional."""

    prefixes: Prefixes | None = None  # what translations begin with
    gone: Callable[[], Collection[int]] | None = None  # asked at each step: sentences that nobody waits for any more
    watch: Watch | None = None  # told of each step: the open hypotheses after it, and what they were chosen from


UNSTEERED = Steering()
