"""A cache of translated sentences, bounded in bytes."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock

from nmt.translation.translations import Translation

OVERHEAD = 1000  # bytes of an entry besides its texts, pieces and attention


class Cache:
    """Translations by key. The least recently used leave first (LRU)."""

    def __init__(self, size: int) -> None:
        """`size` is in bytes; 0 keeps nothing."""
        self.size = size
        self.used = 0
        self.entries: OrderedDict[Hashable, tuple[Translation, int]] = OrderedDict()
        self.lock = Lock()

    def get(self, key: Hashable) -> Translation | None:
        """The translation, or None if it is not in the cache."""
        if not self.size:
            return None
        with self.lock:
            if (entry := self.entries.get(key)) is None:
                return None
            self.entries.move_to_end(key)
            return entry[0]

    def put(self, key: Hashable, translation: Translation) -> None:
        """Stores a translation, unless it would take more than a quarter of the cache."""
        if not self.size or (own := cost(translation)) > self.size // 4:
            return
        with self.lock:
            if key in self.entries:
                self.used -= self.entries.pop(key)[1]
            self.entries[key] = translation, own
            self.used += own
            while self.used > self.size:
                _, (_, freed) = self.entries.popitem(last=False)
                self.used -= freed

    def clear(self) -> None:
        """Forgets everything."""
        with self.lock:
            self.entries.clear()
            self.used = 0


def cost(translation: Translation) -> int:
    """About how many bytes of memory a translation takes."""
    texts = sum(2 * len(candidate.text) + 200 for candidate in translation.n_best)
    pieces = 60 * (2 * len(translation.src_pieces) + len(translation.tgt_pieces))
    attention = 0 if translation.attention is None else translation.attention.nbytes
    return OVERHEAD + texts + pieces + attention
