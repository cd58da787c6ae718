"""Freed memory stays with the process."""

import os
import platform
import subprocess
import sys

import pytest

from nmt.memory import PRIMITIVES, keep_few_kernels

VARIABLE = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"

PROGRAM = """
import resource
import torch
from nmt.memory import keep_freed_memory

if {kept}:
    keep_freed_memory()
for _ in range(20):
    torch.ones(16_000_000)  # 64 MB, freed at once
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only the GNU C library is told how to keep memory")
def test_memory_that_was_freed_is_used_again() -> None:
    faults = [
        int(
            subprocess.run([sys.executable, "-c", PROGRAM.format(kept=kept)], stdout=subprocess.PIPE, check=True).stdout
        )
        for kept in (False, True)
    ]
    assert faults[1] < faults[0] - 150_000  # pages of 4 kB: of the 20 times 64 MB, all but the first


def test_what_the_user_set_for_onednn_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    for given, kept in ((None, PRIMITIVES), ("100", "100")):
        monkeypatch.delenv(VARIABLE, raising=False)
        if given is not None:
            monkeypatch.setenv(VARIABLE, given)
        keep_few_kernels()
        assert os.environ[VARIABLE] == kept
