"""`python scripts/docs` builds the documentation site, `python scripts/docs PART` does one thing."""

import sys
from pathlib import Path

PARTS = {"serve": "docs.serve", "prose": "docs.prose", "trainings": "docs.trainings"}

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # scripts/: its folders are packages
    from command_line import run

    sys.exit(run("docs", PARTS, sys.argv[1:]))
