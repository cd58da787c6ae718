"""What `make demo` tells people to type next can be typed."""

import re
import subprocess
from pathlib import Path

import pytest

from command_line import ROOT
from demo.__main__ import next_steps


@pytest.mark.parametrize(("pair", "runs"), [("en_de", "runs"), ("en_zh", "runs"), ("en_de", "elsewhere")])
def test_the_next_command_serves_the_models_of_this_demo(pair: str, runs: str) -> None:
    general, none = (Path(runs) / f"demo_{pair}_{name}" for name in ("general", "none"))
    [serve] = re.findall(r"^  make (serve.*)$", next_steps(general, none), re.MULTILINE)
    verb, _, given = serve.partition(" ")
    words = ["make", "--dry-run", verb, given.replace('"', "")] if given else ["make", "--dry-run", verb]
    shown = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert f"nmt serve models=[{general},{none}]" in shown.replace("'", "")
