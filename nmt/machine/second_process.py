"""How a module of nmt runs in a process of its own, whatever else the first process has loaded."""

import os
import sys
from pathlib import Path


def command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of nmt; the current folder is not searched for modules."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """The environment of such a process, in which it finds this nmt."""
    places = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(places)}
