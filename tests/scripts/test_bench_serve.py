"""`bench serve`: which answers are wrong, and which are ties."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.small_runs import make_run

from bench.http_clients import Outcome
from bench.serve import OF_SEARCH, Yardstick


def test_the_yardstick_searches_as_the_server_does(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    words = ["search.beam=1", "port=1", "workers=1", "cache_mb=3"]
    yardstick = Yardstick(run, ["a b"], [word for word in words if word.startswith(OF_SEARCH)])
    assert yardstick.settings.beam == 1
    assert yardstick.about.endswith("1 workers, beam 1")


@pytest.mark.parametrize(("precision", "ties"), [("fp32", 0), ("fp32, int8 decoder", 1)])
def test_answers_of_other_sentences_or_probabilities_are_wrong(
    precision: str, ties: int, capsys: pytest.CaptureFixture[str]
) -> None:
    yardstick: Any = object.__new__(Yardstick)
    yardstick.translator = SimpleNamespace(precision=precision)
    yardstick.expected = [SimpleNamespace(text=text, log_prob=-10.0) for text in ("one", "two", "three", "four")]
    right = dict.fromkeys((0, 4, 8), ("one", -10.0))
    assert yardstick.wrong(Outcome(right)) == (0, 0)
    assert capsys.readouterr().err == ""
    others = {1: ("one", -10.0), 2: ("drei", -10.05), 3: ("vier", -10.2)}
    assert yardstick.wrong(Outcome(right | others)) == (3 - ties, ties)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "wrong: two (-10.0000), one (-10.0000)"
    assert said[1] == f"{'tie' if ties else 'wrong'}: three (-10.0000), drei (-10.0500)"
    assert said[2] == "wrong: four (-10.0000), vier (-10.2000)"
