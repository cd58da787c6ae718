"""Every test runs with the axis annotations and types of nmt checked, and on one thread."""

import os
from pathlib import Path

import jaxtyping
import pytest
import torch

jaxtyping.install_import_hook("nmt", "beartype.beartype")
torch.set_num_threads(1)

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real corpora, which are not in the repository: NMT_DATA, or ../shared/data beside it."""
    folder = Path(os.environ.get("NMT_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real corpora: {folder} does not exist; name their folder in NMT_DATA")
    return folder
