"""Every test runs on one thread, with the axis annotations and types of nmt checked where `is_checked` says so."""

import os
from pathlib import Path

import jaxtyping
import pytest
import torch

jaxtyping.install_import_hook("nmt", "beartype.beartype")
torch.set_num_threads(1)

TESTS = Path(__file__).parent
# Folders of whole commands, whose time the checks would double. tests/test_shape_checks.py runs each verb with them.
UNCHECKED = ("commands", "compare", "end_to_end", "robustness", "scripts", "tune")


def is_checked(item: pytest.Item) -> bool:
    """Are shapes and types checked in this test? Not in UNCHECKED folders, nor where it is marked `whole_training`."""
    in_folder = item.path.relative_to(TESTS).parts[0] in UNCHECKED
    return not in_folder and item.get_closest_marker("whole_training") is None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before the fixtures of the test, of its file and of the session."""
    jaxtyping.config.update("jaxtyping_disable", not is_checked(item))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real corpora, which are not in the repository: NMT_DATA, or ../shared/data beside it."""
    folder = Path(os.environ.get("NMT_DATA", TESTS.parents[1] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real corpora: {folder} does not exist; name their folder in NMT_DATA")
    return folder
