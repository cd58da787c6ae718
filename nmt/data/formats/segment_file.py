"""What every file of segments has: a path, two wanted languages, and its segments one at a time."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from nmt.config.sections import DataConfig
from nmt.data.formats.languages import WantedLanguage
from nmt.data.formats.segment import Segment


class SegmentFile(ABC):
    """A file that holds segments; each format is a subclass."""

    noun: ClassVar[str] = "segment"  # the report's word for a segment
    has_sides: ClassVar[bool] = False  # a file for each language? Then the languages need no names

    def __init__(self, path: Path, src: WantedLanguage, tgt: WantedLanguage) -> None:
        self.path = path
        self._wanted = (src, tgt)

    @classmethod
    def of(cls, data: DataConfig, paths: Sequence[Path], src: WantedLanguage, tgt: WantedLanguage) -> "SegmentFile":
        """A file of this corpus, or one for each language; most formats need nothing else of its configuration."""
        return cls(paths[0], src, tgt)

    def described(self) -> str:
        """What was found out of its form, for the report; empty where the format leaves nothing open."""
        return ""

    @abstractmethod
    def segments(self) -> Iterator[Segment]:
        """The file's segments, in order."""
