"""The runs whose mean a run is; kept in the folder that `nmt average` has written."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from nmt.config.check import read
from nmt.errors import CheckpointError, ConfigError, printable
from nmt.machine.safe_files import read_file, write_atomically

PARTS_FILE = "average.json"
MOST_BYTES = 1_000_000


@dataclass(frozen=True)
class Part:
    """One of the runs."""

    model: str  # its folder, as it was typed
    checksum: str  # SHA-256 of its weights, hexadecimal
    share: float  # of the mean, from 0 to 1


def write_parts(run: Path, parts: Sequence[Part]) -> None:
    """Writes the file in the run folder."""
    write_atomically(run / PARTS_FILE, json.dumps([asdict(part) for part in parts], indent=1).encode())


def read_parts(run: Path) -> list[Part]:
    """The runs whose mean a run is; empty for a run that was trained."""
    path = run / PARTS_FILE
    if not path.exists():
        return []
    try:
        return [read(Part, part, PARTS_FILE) for part in json.loads(read_file(path, MOST_BYTES))]
    except (ValueError, TypeError, AttributeError, RecursionError, ConfigError):
        raise CheckpointError(f"{path} is not what nmt writes; restore it from a copy, or delete it") from None


def described(parts: Sequence[Part]) -> str:
    """Shares and folders as text: 10% runs/general, 90% runs/tuned."""
    return ", ".join(f"{part.share:.0%} {printable(part.model)}" for part in parts)
