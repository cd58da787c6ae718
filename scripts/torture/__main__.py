"""`python scripts/torture` does everything, `python scripts/torture PART` one part."""

import os
import sys
from pathlib import Path

PARTS = {
    "resume": "torture.resume",
    "storage": "torture.storage",
    "numbers": "torture.numbers",
    "processes": "torture.processes",
}

if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = (
        "1"  # processes are forked: torch, not imported yet, must have no threads of its own
    )
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # scripts/: its folders are packages
    from command_line import run

    sys.exit(run("torture", PARTS, sys.argv[1:]))
