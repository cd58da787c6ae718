"""Segments of test sets with their reference translations; incomplete segments are left out and counted."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from nmt.data.formats.tally import Tally
from nmt.data.text import is_visible
from nmt.errors import DataError, printable

NOUN = "segment"


class Referenced(NamedTuple):
    """A segment of a test set."""

    source: str | None  # None: the file has only a translation
    references: dict[str, str]  # by translator or file, in the order of the file


class ReferencedSegments:
    """The segments of a split that have a source and a reference."""

    def __init__(self, files: Sequence[Path], read: Callable[[], Iterator[Referenced]]) -> None:
        self._files, self._read = files, read
        self.tally = Tally(printable(files[0].name) if len(files) == 1 else f"{len(files):,} files", NOUN)

    def __iter__(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Yields each source with its references and counts in the tally. Raises DataError if no segment has both."""
        tally = self.tally
        tally.reset()
        for source, references in self._read():
            tally.units += 1
            visible = {name: text for name, text in references.items() if is_visible(text)}
            if source is None or not references:
                tally.left_out["without source" if source is None else "without reference"] += 1
            elif not visible or not is_visible(source):
                tally.left_out["empty"] += 1
            else:
                tally.pairs += 1
                yield source, visible
        if not tally.pairs:
            where = self._files[0] if len(self._files) == 1 else tally.name
            raise DataError(
                f"{where}: {tally.counts()}; no pair is left: name other files, or other data.src_lang, data.tgt_lang"
            )

    def pairs(self) -> Iterator[tuple[str, str]]:
        """The source and the first reference of each segment, for training."""
        return ((source, next(iter(references.values()))) for source, references in self)
