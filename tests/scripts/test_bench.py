"""The measuring rods: operations against arithmetic, shares of the machine, and what is refused."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.models import random_batch, small_model

from bench import busy, data, everything, machine, neighbours, train, translate
from bench.__main__ import PARTS
from bench.memory import anonymous_memory_mb
from bench.operations import counted
from bench.precision import FIGURES, Run, table
from bench.precision import parse_arguments as precision_arguments
from bench.usage import Usage, peak_memory_mb
from nmt.machine.launch import cores
from nmt.model.rnn import RnnLayer
from nmt.training.loss import batch_loss

ROOT = Path(__file__).resolve().parents[2]
CPU = torch.device("cpu")


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_operations_are_those_of_the_weights(cell: str) -> None:
    """Without attention, every matrix is multiplied once a position forward and twice backward."""
    model, batch = small_model("none", cell=cell), random_batch(2, sentences=1)
    with counted() as operations:
        loss, _ = batch_loss(model, batch, 0.1)
        torch.autograd.backward(loss)
    sources, targets = batch.src.numel(), batch.tgt_out.numel()

    def products(module: torch.nn.Module, positions: int) -> int:
        layers = [m for m in module.modules() if isinstance(m, RnnLayer | torch.nn.Linear)]
        return sum(2 * p.numel() * positions for m in layers for p in m.parameters() if p.dim() == 2)

    decoder = products(model.decoder, targets) - products(model.decoder.bridge, targets - 1)  # type: ignore[arg-type]
    expected = 3 * (products(model.encoder, sources) + decoder + products(model.output, targets))
    if cell == "lstm":  # fused, every product is done
        assert operations.total == expected
    else:  # step by step, the gradient by the constant initial state is not
        assert 0.85 * expected < operations.total < expected


@pytest.mark.slow
def test_the_machine_is_described_and_measured() -> None:
    assert torch.__version__ in machine.describe(CPU)
    assert machine.matrix_rate(torch.float32, CPU, seconds=0.0) > 1e6
    with Usage() as usage:
        sum(range(3_000_000))
    assert usage.wall_s > 0
    assert 0 <= usage.ours <= 1.5
    assert 0 <= usage.others <= 1.0
    assert peak_memory_mb() > anonymous_memory_mb() / 2 > 0


HOLDING = """
import time
from bench.memory import ANONYMOUS, anonymous_memory_mb, watched_memory
before = anonymous_memory_mb()
with watched_memory(ANONYMOUS) as highest:
    held = b"x" * 300_000_000
    time.sleep(0.5)
    del held
print(before, highest.mb, anonymous_memory_mb())
"""


def test_the_most_memory_is_seen_from_outside() -> None:
    """In a small process, of which the system takes nothing back meanwhile."""
    run = subprocess.run([sys.executable, "-c", HOLDING], cwd=ROOT / "scripts", stdout=subprocess.PIPE, check=True)
    before, highest, after = map(float, run.stdout.split())
    assert before + 290 < highest < before + 400
    assert after < before + 50


def measured(attention: str, precision: str, share: float) -> train.Speed:
    """A case of train."""
    return train.Speed(attention, precision, 1000 * share, share, 2e6, 4e9, 100.0, 0.0, 1)


def test_scores_are_set_beside_dot_in_their_own_precision() -> None:
    speeds = [
        measured("dot", "bf16", 0.5),
        measured("general", "bf16", 0.4),
        measured("dot", "fp32", 0.8),
        measured("general", "fp32", 0.6),
    ]
    assert train.beside_dot([speeds]) == [
        "\nshare ÷ that of dot, bf16: general 0.80",
        "\nshare ÷ that of dot, fp32: general 0.75",
    ]
    assert train.beside_dot([speeds[:1]]) == train.beside_dot([speeds[3:]]) == []


def test_ratios_are_taken_within_rounds() -> None:
    """A machine that slows down as a whole changes none of them."""
    rounds = [
        [measured("dot", "bf16", slow * 0.5), measured("general", "bf16", slow * share)]
        for slow, share in ((1.0, 0.4), (0.5, 0.45), (0.25, 0.5))
    ]
    assert train.beside_dot(rounds) == ["\nshare ÷ that of dot, bf16: general 0.90 (0.80 to 1.00)"]
    general = [speeds[1] for speeds in rounds]
    assert train.line(general) == "| general | bf16 | 225 | 22% of 4 Gflop/s | 2.0 | 100 | 0% |"


def test_a_folder_without_the_corpus_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        train.parse_arguments(["--multi30k", str(tmp_path)])
    assert stop.value.code == 2
    assert f"--multi30k {tmp_path} has no train.en" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        everything.main(["--multi30k", str(tmp_path), "--tatoeba", str(tmp_path)])
    assert stop.value.code == 2
    assert f"{tmp_path} has no train.de" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("parse", "words"),
    [
        (train.parse_arguments, ["--multi30k", "."]),
        (busy.parse_arguments, ["--multi30k", "."]),
        (translate.parse_arguments, ["--multi30k", ".", "--model", "."]),
        (data.parse_arguments, ["--tatoeba", "."]),
    ],
)
def test_no_rounds_are_refused(parse: Callable[..., Any], words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        parse([*words, "--rounds", "0"])
    assert stop.value.code == 2
    assert "--rounds: 0 is not a whole number from 1 on" in capsys.readouterr().err


def test_folders_of_this_machine_are_named_even_one_inside_another() -> None:
    names = {"/d/m": "MULTI30K", "/d/m2/w": "WORK", "/d/m/tat": "TATOEBA"}
    given = "--multi30k /d/m --work /d/m2/w --tatoeba /d/m/tat --model /d/m2/w/runs/reference"
    wanted = "--multi30k MULTI30K --work WORK --tatoeba TATOEBA --model WORK/runs/reference"
    assert everything.replaced(given, names) == wanted


def test_every_benchmark_that_make_bench_calls_is_there() -> None:
    listed = everything.benches("a", "b", "c")
    assert [bench.name for bench in listed] == everything.NAMES
    for bench in listed:
        assert (ROOT / bench.words[0] / "__main__.py").is_file()
        assert bench.words[1] in PARTS


def test_the_page_gets_what_was_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, work = tmp_path / "corpus", tmp_path / "work"
    corpus.mkdir()
    (corpus / "train.de").touch()
    (tmp_path / "docs" / "speed").mkdir(parents=True)
    (tmp_path / "docs" / "speed" / "scale_pairs.png").touch()
    monkeypatch.setattr(everything, "ROOT", tmp_path)
    printed = {"peers": f"2026:\n| a |\n|---|\n| 1 |\n{corpus}\n", "data": "plain\n"}
    monkeypatch.setattr(everything, "said", lambda command: printed[command[1]])
    words = ["--multi30k", str(corpus), "--tatoeba", str(corpus), "--work", str(work)]
    by_hand = "## On a GPU\n\nBy hand.\n\n- One.\n"
    (tmp_path / "docs" / "speed.md").write_text(
        f"# Speed\n\nIntroduction.\n\n{by_hand}\n![old](speed/old.png)\n", "utf-8"
    )
    for only in ("peers", "data", "data"):  # other sections are kept; a second time changes nothing
        assert everything.main([*words, "--only", only]) == 0
    page = (tmp_path / "docs" / "speed.md").read_text("utf-8")
    assert f"\n\n{everything.said_of_now()}\n\n```\npython scripts/bench peers --multi30k TATOEBA " in page
    assert "```\n\n2026:\n| a |\n|---|\n| 1 |\nTATOEBA\n" in page
    assert page.index("## Beside other toolkits") < page.index("## Start-up and data")
    assert "```\nplain\n```" in page
    assert by_hand in page
    assert page.count("\n## ") == 3
    assert "old.png" not in page
    assert str(tmp_path) not in page
    assert page.endswith("\n![scale pairs](speed/scale_pairs.png)\n")
    printed["data"] = "other\n"
    assert everything.main([*words, "--only", "data", "--quick"]) == 0
    assert (tmp_path / "docs" / "speed.md").read_text("utf-8") == page, "short forms were written down"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--recipes", "demo,small"], "--recipes demo,small: small is none of demo, narrow, reference"),
        (["--parts", "0,1"], "--parts 0 is not a number of parts; give 1 or more, or auto"),
        (["--parts", "auto,-1"], "--parts -1 is not a number of parts; give 1 or more, or auto"),
        (["--neighbours", "1,3"], "--neighbours begins with 1; begin with 0, which the others are compared to"),
    ],
)
def test_cases_beside_neighbours_that_cannot_be_are_refused(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.en").touch()
    with pytest.raises(SystemExit) as stop:
        busy.parse_arguments(["--multi30k", str(tmp_path), *words])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_shares_are_those_of_the_same_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "cores", lambda: 2)
    rounds = [
        {
            "1": busy.Rates({"0": 100.0, "1": 30.0, "2 trainings": 50.0}, 500.0, 1, 1),
            "auto": busy.Rates({"0": 110.0, "1": 66.0, "2 trainings": 33.0}, 600.0, 2, 2),
        },
        {
            "1": busy.Rates({"0": 200.0, "1": 50.0, "2 trainings": 100.0}, 520.0, 1, 1),
            "auto": busy.Rates({"0": 200.0, "1": 100.0, "2 trainings": 60.0}, 620.0, 2, 2),
        },
    ]
    assert busy.line("demo", "auto", "1", rounds) == (
        "| demo | auto: 2 | 1 | 83 | 0.58 (0.50 to 0.66) | 0.55 (0.50 to 0.60) | 0.82 (0.75 to 0.90) | 610 |"
    )
    assert busy.line("demo", "auto", "2 trainings", rounds[1:]) == (
        "| demo | auto: 2 | 2 trainings | 60 | 0.30 | 0.30 | 0.90 | 620 |"
    ), "a third is fair"
    assert busy.line("demo", "1", "2 trainings", rounds[:1]) == (
        "| demo | 1 | 2 trainings | 50 | 0.50 | 0.50 | 0.75 | 500 |"
    ), "three trainings of one worker have two cores: two thirds"


@pytest.mark.parametrize(
    ("workers", "others", "share"), [(2, 0, 1), (2, 1, 2 / 3), (2, 3, 2 / 5), (1, 1, 1), (1, 3, 1 / 2), (4, 2, 2 / 3)]
)
def test_the_fair_share_is_that_of_two_cores(
    workers: int, others: int, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbours, "cores", lambda: 2)
    assert neighbours.fair_share(workers, others) == pytest.approx(share)


def test_what_runs_beside_a_training(tmp_path: Path) -> None:
    (tmp_path / "train.en").touch()
    words = ["--multi30k", str(tmp_path), "--recipes", "narrow", "--neighbours", "0,4", "train.accumulate=2"]
    arguments, rest = busy.parse_arguments(words)
    assert busy.cases(arguments) == ["0", "4", "2 trainings"]
    again, same = busy.parse_arguments(busy.case_words(arguments, "narrow", "auto", rest))
    assert (again.case, again.parts, again.trainings, again.neighbours) == (True, ["auto"], [2], [0, 4])
    assert same == rest == ["train.accumulate=2"]
    without, _ = busy.parse_arguments([*words, "--trainings", "0"])
    assert busy.cases(without) == ["0", "4"]
    again, _ = busy.parse_arguments(busy.case_words(without, "narrow", "1", rest))
    assert (again.parts, again.trainings) == (["1"], [])
    assert busy.words_for("auto") == []
    assert busy.words_for("3") == ["train.parts=3"]


WORKING = """
import sys, time
from pathlib import Path
from bench.neighbours import is_to_end
print("works", flush=True)
while not is_to_end():
    time.sleep(0.01)
Path(sys.argv[1]).touch()
"""


def test_neighbours_that_work_have_begun_and_end_by_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "scripts"))
    ended = tmp_path / "ended"
    with neighbours.working_neighbours(2, [sys.executable, "-c", WORKING, str(ended)]):
        assert not ended.exists()
    assert ended.exists()
    with pytest.raises(SystemExit) as stop, neighbours.working_neighbours(1, [sys.executable, "-c", "exit(3)"]):
        raise AssertionError("it has not begun")
    assert stop.value.code == 3


@pytest.mark.slow
def test_neighbours_are_there_while_they_are_wanted() -> None:
    with Usage() as usage, neighbours.busy_neighbours(1):
        time.sleep(1.0)
    assert usage.ours + usage.others > 0.3 / cores()  # ended ones are counted as our own


def test_a_part_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        everything.parse_arguments(["--multi30k", ".", "--tatoeba", ".", "--only", "peers,speed"])
    assert stop.value.code == 2
    assert "--only peers,speed: speed is none of peers, scores" in capsys.readouterr().err


def test_precisions_are_compared_beside_what_seeds_change() -> None:
    figures = {(1, "fp32"): 2.0, (1, "bf16"): 2.5, (2, "fp32"): 4.0, (2, "bf16"): 3.5}
    runs = [Run(seed, precision, dict.fromkeys(FIGURES, figure)) for (seed, precision), figure in figures.items()]
    lines = table(runs)
    assert "| 2 | bf16 | 3.500 | 3.500 | 3.500 | 3.500 |" in lines
    assert lines[-1] == "| dev BLEU | +0.000 | +0.500, -0.500 | 1.414 | yes |"
    worse = [Run(run.seed, run.precision, dict(run.figures)) for run in runs]
    for run in worse[1::2]:
        run.figures["dev BLEU"] -= 1.5
    assert table(worse)[-1] == "| dev BLEU | -1.500 | -1.000, -2.000 | 1.414 | no |"


def test_comparing_precisions_refuses_one_seed_and_a_folder_without_the_corpus(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = ["--multi30k", str(tmp_path), "--runs", str(tmp_path / "runs")]
    for words, message in (([*runs, "--seeds", "1"], "--seeds: one seed has no noise"), (runs, "has no train.en")):
        with pytest.raises(SystemExit) as stopped:
            precision_arguments(words)
        assert stopped.value.code == 2
        assert message in capsys.readouterr().err
