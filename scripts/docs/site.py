"""mkdocs, run as its own command line."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from command_line import ROOT
from nmt.errors import NmtError

CONFIG = ROOT / "scripts" / "docs" / "mkdocs.yml"
SITE = ROOT / "site"


def build(output: Path) -> int:
    """The exit code of a strict build into the folder."""
    return mkdocs("build", "--strict", "--clean", "--site-dir", str(output))


def is_site(folder: Path) -> bool:
    """Is it one that mkdocs made, or an empty folder?"""
    return folder.is_dir() and ((folder / "sitemap.xml").is_file() or not any(folder.iterdir()))


def mkdocs(verb: str, *words: str) -> int:
    """The exit code of `mkdocs VERB`; refuses without mkdocs."""
    if find_spec("mkdocs") is None or find_spec("material") is None:
        raise NmtError("mkdocs-material is not installed; type make docs, or pip install -e '.[docs]'")
    command = [sys.executable, "-m", "mkdocs", verb, "--config-file", str(CONFIG), *words]
    quiet = {
        "NO_MKDOCS_2_WARNING": "true",  # about another project's plans
        "PYTHONWARNINGS": "ignore::DeprecationWarning",  # from libraries that the reference is read from
    }
    return subprocess.run(command, cwd=ROOT, env=os.environ | quiet).returncode
