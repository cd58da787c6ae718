"""`python scripts/fuzz` tries every property, `… guided` one property by coverage, `… serve` a server."""

import sys
from pathlib import Path

PARTS = {"guided": "fuzz.guided", "serve": "fuzz.serve"}

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # scripts/: its folders are packages
    from command_line import run

    sys.exit(run("fuzz", PARTS, sys.argv[1:]))
