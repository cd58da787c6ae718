"""`python scripts/mutation` measures how many small changes of the code the tests notice."""

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    # Processes are forked: torch, which is not imported yet, must have no threads of its own.
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # scripts/: its folders are packages
    from mutation.run import main

    sys.exit(main(sys.argv[1:]))
