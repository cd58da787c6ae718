"""Token ids of an encoded split, read from the memory-mapped file: no memory is needed per pair."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Ragged:
    """Token ids of sentences of different lengths, joined into one array."""

    tokens: NDArray[np.int32]
    lengths: NDArray[np.int32]


@dataclass(frozen=True)
class EncodedSide:
    """Token ids of one side, and where each record batch of the file begins. Positions count words of four bytes."""

    words: NDArray[np.int32]  # the whole file
    first: Numbers  # number of each batch's first pair
    offsets_at: Numbers  # position of the offset that pair 0 would have if the record batch reached back to it
    values_at: Numbers  # position of each batch's first token
    pairs: int

    def __len__(self) -> int:
        return self.pairs

    def __getitem__(self, rows: Numbers) -> NDArray[np.int32]:
        """The number of tokens of each of these pairs, end-of-sentence included."""
        _, at = self._find(rows)
        lengths: NDArray[np.int32] = self.words[at + 1] - self.words[at] + 1
        return lengths

    def gather(self, rows: Numbers) -> Ragged:
        """The ids of these pairs, without end-of-sentence."""
        batch, at = self._find(rows)
        begin = self.words[at]
        lengths = self.words[at + 1] - begin
        skipped = self.values_at[batch] + begin - (np.cumsum(lengths) - lengths)
        return Ragged(self.words[np.repeat(skipped, lengths) + np.arange(lengths.sum())], lengths)

    def _find(self, rows: Numbers) -> tuple[Numbers, Numbers]:
        """The record batch of each pair, and the position of the pair's offset."""
        batch = np.searchsorted(self.first, rows, side="right") - 1
        return batch, self.offsets_at[batch] + rows


def open_sides(path: Path) -> tuple[EncodedSide, EncodedSide]:
    """The source and target sides of a file that `nmt.data.prepare` wrote."""
    words = np.asarray(np.memmap(path, np.int32, mode="r"))
    table = pa.ipc.open_stream(pa.py_buffer(words)).read_all()
    return _side(words, table.column("src_ids")), _side(words, table.column("tgt_ids"))


def _side(words: NDArray[np.int32], column: pa.ChunkedArray) -> EncodedSide:
    chunks = [chunk for chunk in column.chunks if len(chunk)]
    first = np.cumsum([0, *map(len, chunks)])

    def position(buffer: pa.Buffer | None) -> int:  # without tokens there is no buffer, and its position is never used
        return 0 if buffer is None else (buffer.address - words.ctypes.data) // words.itemsize

    offsets = np.array([position(chunk.buffers()[1]) for chunk in chunks], np.int64)
    values = np.array([position(chunk.values.buffers()[1]) for chunk in chunks], np.int64)
    return EncodedSide(words, first[:-1], offsets - first[:-1], values, int(first[-1]))
