"""Every test runs on one thread, with the axis annotations and types of nmt checked.

Checking doubles the time of trainings and whole commands: of their tests the same one in SHARE is checked every time.
"""

import os
import zlib
from pathlib import Path

import jaxtyping
import pytest
import torch

jaxtyping.install_import_hook("nmt", "beartype.beartype")
torch.set_num_threads(1)

SHARE = 8
WHOLE = {  # trainings and whole commands
    "align", "cautions", "folder", "cli", "compare", "refusals", "sections", "demo_corpus", "docs", "doctor",
    "evaluate", "fuzz", "hostile", "interactive", "long_lines", "odd_text", "shortlist", "status", "step", "torture",
    "train", "trainer", "translate", "study", "visualise",
}  # fmt: skip
REPOSITORY = Path(__file__).parents[1]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before the fixtures of the test, of its file and of the session."""
    whole = item.path.stem.removeprefix("test_") in WHOLE
    jaxtyping.config.update("jaxtyping_disable", whole and zlib.crc32(item.name.encode()) % SHARE != 0)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real corpora, which are not in the repository: NMT_DATA, or ../shared/data beside it."""
    folder = Path(os.environ.get("NMT_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real corpora: {folder} does not exist; name their folder in NMT_DATA")
    return folder
