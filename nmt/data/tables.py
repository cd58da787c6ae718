"""Arrow tables on disk: written in batches, memory-mapped for reading."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import pyarrow as pa

from nmt.errors import DataError

if TYPE_CHECKING:
    from datasets import Dataset

BATCH_ROWS = 10_000


def load_table(path: Path) -> Dataset:
    """A memory-mapped table of the cache."""
    from datasets import Dataset  # takes half a second, and nothing else here needs it

    try:
        return Dataset.from_file(str(path))
    except (OSError, pa.ArrowInvalid) as error:
        raise _damaged(path) from error


def read_batches(path: Path) -> Iterator[pa.RecordBatch]:
    """The record batches of a table, one at a time."""
    try:
        with pa.OSFile(str(path)) as file:
            yield from pa.ipc.open_stream(file)
    except (OSError, pa.ArrowInvalid) as error:
        raise _damaged(path) from error


def count_rows(path: Path) -> int:
    """The number of rows of a table; mapped into memory, so that only the heads of the batches are read."""
    try:
        with pa.memory_map(str(path)) as file:
            return sum(batch.num_rows for batch in pa.ipc.open_stream(file))
    except (OSError, pa.ArrowInvalid) as error:
        raise _damaged(path) from error


def spread(path: Path, most: int) -> Iterator[pa.RecordBatch]:
    """At most so many rows of a table, at equal distances."""
    distance, before = max(1, -(-count_rows(path) // most)), 0
    for batch in read_batches(path):
        yield batch.take(pa.array(range(-before % distance, batch.num_rows, distance), pa.int64()))
        before += batch.num_rows


def _damaged(path: Path) -> DataError:
    return DataError(f"cached table {path} is damaged; delete the folder {path.parent}")


class TableWriter:
    """Writes an Arrow table batch by batch, in the stream format that `datasets` maps into memory."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._schema = schema
        self._sink = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_stream(self._sink, schema)

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()
        self._sink.close()
        pa.default_memory_pool().release_unused()

    def write(self, columns: dict[str, object]) -> None:
        """Writes rows, given as one sequence or array per column."""
        self._writer.write_batch(pa.record_batch([columns[name] for name in self._schema.names], schema=self._schema))
