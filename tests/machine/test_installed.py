"""Which nmt is installed: its version, and its commit where that can be known."""

import json
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from nmt.cli.main import main
from nmt.machine import installed


def git(clone: Path, *words: str) -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", "-C", str(clone), *identity, *words], capture_output=True, text=True, check=True
    ).stdout


def test_the_commit_is_that_of_the_clone_and_changes_are_said(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "file").write_text("one")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-qm", "one")
    git(tmp_path, "tag", "-a", "v1", "-m", "one")
    commit = git(tmp_path, "rev-parse", "HEAD")[:12]
    assert installed.commit_of(tmp_path) == commit
    (tmp_path / "file").write_text("two")
    assert installed.commit_of(tmp_path) == f"{commit}-dirty"


def test_without_a_clone_or_git_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert installed.commit_of(tmp_path) is None
    (tmp_path / ".git").mkdir()  # which is no repository
    assert installed.commit_of(tmp_path) is None
    monkeypatch.setenv("PATH", "")
    assert installed.commit_of(tmp_path) is None


@pytest.mark.parametrize(
    ("origin", "commit"),
    [
        (
            {"url": "https://example.org/nmt", "vcs_info": {"vcs": "git", "commit_id": "0123456789abcdef"}},
            "0123456789ab",
        ),
        ({"url": "file:///home/a/nmt", "dir_info": {"editable": True}}, None),
        (None, None),
    ],
)
def test_the_commit_that_pip_installed_is_known(
    origin: dict[str, Any] | None, commit: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Distribution:
        def read_text(self, name: str) -> str | None:
            assert name == "direct_url.json"
            return None if origin is None else json.dumps(origin)

    monkeypatch.setattr(installed, "distribution", lambda name: Distribution())
    assert installed.installed_commit() == commit


def test_version_prints_what_a_report_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.startswith(f"nmt {version('nmt')}")
    assert second.startswith("Python 3.")
    assert f"torch {version('torch')}, sentencepiece {version('sentencepiece')}" in third
