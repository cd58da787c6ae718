"""`python scripts/fuzz` tries every property, `… damaged` files, `… guided` one by coverage, `… serve` a server."""

import sys
from pathlib import Path

PARTS = {"damaged": "fuzz.damaged", "guided": "fuzz.guided", "serve": "fuzz.serve"}

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # scripts/: its folders are packages
    from command_line import run

    sys.exit(run("fuzz", PARTS, sys.argv[1:]))
