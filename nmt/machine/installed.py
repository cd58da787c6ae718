"""Versions of nmt and of the software under it, for bug reports."""

import json
import os
import platform
import subprocess
from importlib.metadata import distribution, version
from pathlib import Path

PACKAGES = ("torch", "sentencepiece", "sacrebleu", "datasets", "hydra-core", "tensorboard", "safetensors")
PATIENCE_S = 5.0  # seconds to wait for git


def nmt_version() -> str:
    """The version of this installation, with its commit if that is known."""
    commit = installed_commit() or commit_of(Path(__file__).parents[2])
    return version("nmt") if commit is None else f"{version('nmt')} (commit {commit})"


def system() -> str:
    """Python and the machine's operating system."""
    return f"Python {platform.python_version()}, {platform.platform()}"


def packages() -> str:
    """Versions of the most important packages."""
    return ", ".join(f"{name} {version(name)}" for name in PACKAGES)


def installed_commit() -> str | None:
    """The commit that pip installed from a repository; None: pip installed from something else (PEP 610)."""
    origin = json.loads(distribution("nmt").read_text("direct_url.json") or "{}")
    found = origin.get("vcs_info", {}).get("commit_id")
    return None if found is None else str(found)[:12]


def commit_of(clone: Path) -> str | None:
    """The commit that a clone has checked out, with "-dirty" if files differ from it; None: unknown, or not a clone."""
    if not (clone / ".git").exists():
        return None
    command = ["git", "-C", str(clone), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},  # git writes nothing into the clone
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
