"""Freed memory stays with the process, and lack of memory is told from other errors."""

import os
import platform
import subprocess
import sys

import pytest
import torch
from helpers.models import NEEDS_BF16

from nmt.machine.allocator import CAPACITIES, keep_few_kernels, lacks_memory

PROGRAM = """
import resource
import torch
from nmt.machine.allocator import keep_freed_memory

if {kept}:
    keep_freed_memory()
for _ in range(20):
    torch.ones(16_000_000)  # 64 MB, freed at once
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only the GNU C library is told how to keep memory")
@pytest.mark.slow
def test_memory_that_was_freed_is_used_again() -> None:
    faults = [
        int(
            subprocess.run([sys.executable, "-c", PROGRAM.format(kept=kept)], stdout=subprocess.PIPE, check=True).stdout
        )
        for kept in (False, True)
    ]
    assert faults[1] < faults[0] - 150_000  # pages of 4 kB: of the 20 times 64 MB, all but the first


@pytest.mark.parametrize("variable", CAPACITIES)
def test_what_the_user_set_for_kernels_stays(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for given, kept in ((None, CAPACITIES[variable]), ("100", "100")):
        monkeypatch.delenv(variable, raising=False)
        if given is not None:
            monkeypatch.setenv(variable, given)
        keep_few_kernels()
        assert os.environ[variable] == kept


LSTMS = """
from pathlib import Path
import torch
from nmt.machine.allocator import keep_few_kernels

if {few}:
    keep_few_kernels()
layer = torch.nn.LSTM(256, 256, batch_first=True)
with torch.autocast("cpu", torch.bfloat16):
    for rows in range(40, 240):
        layer(torch.zeros(rows, 3, 256))[0].float().sum().backward()
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])  # ru_maxrss is at least the parent's
"""


@NEEDS_BF16
@pytest.mark.slow
def test_batches_of_many_shapes_leave_few_kernels_behind() -> None:
    environment = {name: value for name, value in os.environ.items() if name not in CAPACITIES}
    most = [
        int(
            subprocess.run(
                [sys.executable, "-c", LSTMS.format(few=few)], stdout=subprocess.PIPE, check=True, env=environment
            ).stdout
        )
        for few in (False, True)
    ]
    assert most[1] < most[0] - 10_000  # kB


def test_lack_of_memory_is_told_from_other_errors() -> None:
    with pytest.raises((MemoryError, RuntimeError)) as raised:
        torch.empty(2**61, dtype=torch.uint8)
    lack = [torch.OutOfMemoryError("x"), MemoryError(), RuntimeError("CUDNN_STATUS_ALLOC_FAILED"), raised.value]
    assert all(map(lacks_memory, lack))
    others = [RuntimeError("shapes"), ValueError("DefaultCPUAllocator"), OSError(12, "Cannot allocate memory")]
    assert not any(map(lacks_memory, others))


def test_nothing_heavy_is_imported_to_tell() -> None:
    program = (
        "import sys; from nmt.machine.allocator import lacks_memory as tell; tell(MemoryError()); "
        "sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
