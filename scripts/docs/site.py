"""mkdocs, run as its own command line."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from command_line import ROOT

CONFIG = ROOT / "scripts" / "docs" / "mkdocs.yml"
SITE = ROOT / "site"


def build(output: Path) -> int:
    """The exit code of a strict build into the folder."""
    return mkdocs("build", "--strict", "--clean", "--site-dir", str(output))


def mkdocs(verb: str, *words: str) -> int:
    """The exit code of `mkdocs VERB`; 2 where mkdocs is not installed."""
    if find_spec("mkdocs") is None or find_spec("material") is None:
        print("error: mkdocs-material is not installed; type make docs, or pip install -e '.[docs]'", file=sys.stderr)
        return 2
    command = [sys.executable, "-m", "mkdocs", verb, "--config-file", str(CONFIG), *words]
    quiet = {
        "NO_MKDOCS_2_WARNING": "true",  # about another project's plans
        "PYTHONWARNINGS": "ignore::DeprecationWarning",  # of libraries that the reference is read from
    }
    return subprocess.run(command, cwd=ROOT, env=os.environ | quiet).returncode
