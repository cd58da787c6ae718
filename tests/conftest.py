"""Every test runs on one thread; with --shapes, axis annotations and types of nmt are checked in every call."""

import os
from pathlib import Path

import jaxtyping
import pytest
import torch
from helpers import configs_composed_once
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("any machine", deadline=None)  # a test's time says nothing on a machine that does other work
settings.load_profile("any machine")

# What `make test ARGS=…` was told is not for the make that a test calls.
for name in ("ARGS", "MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
    os.environ.pop(name, None)

TESTS = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    """An option of its own, because checked calls take up to three times as long."""
    parser.addoption("--shapes", action="store_true", help="check axis annotations and types in every call of nmt")


def pytest_configure(config: pytest.Config) -> None:
    """Before any test imports nmt."""
    if config.getoption("shapes"):
        jaxtyping.install_import_hook("nmt", "beartype.beartype")
    configs_composed_once.install()


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real corpora, which are not in the repository: NMT_DATA, or ../shared/data beside it."""
    folder = Path(os.environ.get("NMT_DATA", TESTS.parents[1] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real corpora: {folder} does not exist; name their folder in NMT_DATA")
    return folder
