"""`bench time_to_bleu`: everything but the peers themselves, which are not installed here."""

import os
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from helpers.small_corpora import write_splits

from bench.evaluation import Score
from bench.peers import pieces, time_to_bleu
from bench.peers.environments import Workplace, workplace
from bench.peers.time_to_bleu import ROWS, Outcome, Point, configuration, main, outcome_of, ratio, report
from command_line import run
from nmt.errors import NmtError

PART = {"time_to_bleu": "bench.peers.time_to_bleu"}


@pytest.fixture
def multi30k(tmp_path: Path) -> Path:
    return write_splits(tmp_path / "m30k", {"train": 300, "val": 20, "test_2016_flickr": 20})


@pytest.fixture
def place(multi30k: Path, tmp_path: Path) -> Workplace:
    return workplace(tmp_path / "work", multi30k, None)


def pretend(monkeypatch: pytest.MonkeyPatch, good: int = 3, lines: int | None = None) -> None:
    """A training keeps weights after 10, 20, 30 and 40 updates, a minute apart; from `good` on they are right."""
    monkeypatch.setattr(time_to_bleu, "set_up", lambda place, key: None)
    monkeypatch.setattr(time_to_bleu, "VOCAB_SIZE", 60)
    monkeypatch.setattr(time_to_bleu, "FOREVER", 7)

    def run(
        place: Workplace, what: str, name: str, command: Sequence[object], path: str | None = None, limit: float = 0
    ) -> str:
        words = list(map(str, command))
        folder = place.folder / "time_to_bleu" / name.rpartition("-")[0]
        if name.endswith("-pieces"):
            assert Path(words[5]) == folder
            pieces.main(*words[3:])
        elif name.endswith("-train"):
            (folder / "model").mkdir(exist_ok=True)
            now = time.time()
            for number in (1, 2, 3, 4):
                file = folder / "model" / f"weights_step_{number}0{'.pt' if 'onmt' in words[2] else '.ckpt'}"
                file.write_bytes(b"")
                os.utime(file, (now, now + 60 * number - 240))
            (folder / "model" / "best.ckpt").symlink_to(file)  # written last, and another name of it
        else:
            assert "translate" in words[2] or words[2:4] == ["joeynmt", "test"]
            if "-model" in words:
                weights, output = words[words.index("-model") + 1], words[words.index("-output") + 1]
            else:
                weights = yaml.safe_load(Path(words[4]).read_text())["testing"]["load_model"]
                output = words[words.index("-o") + 1] + ".test"
            number = int(Path(weights).stem.split("_")[2]) // 10
            said = (folder / "dev.tgt").read_text().splitlines()[:lines]
            wrong = [line.split()[0] for line in said]
            Path(output).write_text("".join(f"{line}\n" for line in (said if number >= good else wrong)))
        return ""

    monkeypatch.setattr(Workplace, "run", run)


def found_of(place: Workplace, name: str, levels: list[int]) -> Outcome:
    return outcome_of(place, name, Namespace(minutes=5.0, levels=levels, budgets=["1m"]))


@pytest.mark.parametrize("key", ["joeynmt", "opennmt"])
@pytest.mark.parametrize(("good", "translated"), [(1, "123"), (2, "123"), (3, "23"), (9, "123")])
def test_the_first_weights_that_reach_a_level_are_found_by_halving(
    place: Workplace, monkeypatch: pytest.MonkeyPatch, key: str, good: int, translated: str
) -> None:
    """Those of 40 updates are left out: the end of the training may have cut them."""
    pretend(monkeypatch, good=good)
    found = found_of(place, key, [25, 35])
    assert "".join(point.what.removesuffix("0 updates") for point in found.points) == translated
    right = {int(point.what[0]): point for point in found.points if point.bleu > 99}
    assert all(point.bleu < 25 for point in found.points if point not in right.values())
    assert set(right) == {number for number in map(int, translated) if number >= good}
    first = right[good].minutes if right else None
    assert found.minutes_to(25) == found.minutes_to(35) == first
    spent = [point.minutes - int(point.what[0]) for point in found.points]
    assert max(spent) - min(spent) < 0.1
    assert "tok:13a" in found.signature


def test_weights_between_two_that_reach_a_level_may_miss_it(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch)
    scores = {1: 24.0, 2: 26.0, 3: 23.0}

    def scored(place: Workplace, row: object, folder: Path, weights: Path) -> Score:
        return Score(scores[int(weights.stem.split("_")[2]) // 10], "s")

    monkeypatch.setattr(time_to_bleu, "scored", scored)
    found = found_of(place, "opennmt", [25])
    assert [point.what for point in found.points if point.minutes == found.minutes_to(25)] == ["20 updates"]


def test_lost_lines_are_refused_and_the_training_is_kept(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, lines=19)
    with pytest.raises(NmtError, match=r"OpenNMT-py 3.5.1 wrote 19 translations of 20 sentences, in "):
        found_of(place, "opennmt", [35])
    pretend(monkeypatch)
    monkeypatch.setattr(time_to_bleu, "train", lambda *given: pytest.fail("trained again"))
    assert found_of(place, "opennmt", [35]).minutes_to(35) is not None


def test_a_training_without_weights_is_refused(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch)
    monkeypatch.setattr(time_to_bleu, "HALF_WRITTEN", 1000)
    with pytest.raises(NmtError, match=r"JoeyNMT 2.3.0 kept no weights within 0.\d minutes; give more --minutes"):
        found_of(place, "joeynmt", [35])


def test_what_is_measured_is_not_measured_again(
    place: Workplace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(monkeypatch)
    peer = Outcome([Point(12, 31, "5 updates"), Point(60, 30, "9 updates")], 0.02, "s")
    ours = Outcome([Point(3, 36, "budget=3m")], 0, "s")

    def measured(*given: object) -> Outcome:
        (place.folder / "time_to_bleu" / "nmt").mkdir(parents=True, exist_ok=True)
        return ours

    monkeypatch.setattr(time_to_bleu, "measure", lambda *given: peer)
    monkeypatch.setattr(time_to_bleu, "measure_ours", measured)
    words = ["--multi30k", str(place.multi30k), "--work", str(place.folder), "--rows", "nmt,joeynmt"]
    assert main(words) == 0
    first = capsys.readouterr().out
    assert "| joeynmt | 12.0          | 12.0          | > 60.0        | 2%     |" in first
    assert "| joeynmt | 9 updates | 60.0    | 30.0 |" in first
    assert "ours ÷ joeynmt: 25 BLEU 0.25, 30 BLEU 0.25, 35 BLEU < 0.05" in first
    assert first.endswith("\n\ns\n")
    for name in ("measure", "measure_ours", "train"):
        monkeypatch.setattr(time_to_bleu, name, lambda *given: pytest.fail("measured again"))
    assert main(words) == 0
    assert capsys.readouterr().out == first
    for more in (["--minutes", "7"], ["--budgets", "7m"], ["--levels", "20"]):
        with pytest.raises(pytest.fail.Exception, match="measured again"):
            main([*words, *more])


def test_a_level_that_ours_does_not_reach_has_no_ratio() -> None:
    ours, peer = Outcome([Point(2, 20, "budget=2m")], 0, "s"), Outcome([Point(9, 26, "9 updates")], 0, "t")
    assert ratio(ours, peer, 25) == "not reached"
    assert "ours ÷ joeynmt: 25 BLEU not reached" in report({"nmt": ours, "joeynmt": peer}, [25])


@pytest.mark.parametrize("name", ROWS)
def test_every_configuration_names_the_files_and_keeps_weights(name: str, tmp_path: Path) -> None:
    peer = ROWS[name]
    (tmp_path / "train.src").write_text("a b\n")
    found = yaml.safe_load(configuration(peer, tmp_path, tmp_path / "it.yaml").read_text("utf-8"))
    if peer.key == "joeynmt":
        training = found["training"]
        assert training["validation_freq"] == peer.every
        assert training["patience"] * peer.every >= 16_000  # 8 validations, each after 2,000 updates
        assert (
            training.get("learning_rate_min", 0.0001) < training["learning_rate"] / 100 or training["patience"] == 1e6
        )
        assert found["training"]["keep_best_ckpts"] == -1
        assert (found["data"]["train"], found["data"]["dev"]) == (str(tmp_path / "train"), str(tmp_path / "dev"))
        weights = tmp_path / "model" / "50.ckpt"
        given = yaml.safe_load(configuration(peer, tmp_path, tmp_path / "it.yaml", weights).read_text("utf-8"))
        assert (given["testing"]["load_model"], given["testing"]["beam_size"]) == (str(weights), 5)
        assert (given["data"]["dev"], given["data"]["test"]) == (None, str(tmp_path / "dev"))
        assert given["model"] == found["model"]
    else:
        assert found["save_checkpoint_steps"] == peer.every
        assert found.get("keep_checkpoint", -1) == -1
        assert found["data"]["corpus"]["path_src"] == str(tmp_path / "train.src")
        assert found["src_vocab"] == found["tgt_vocab"] == str(tmp_path / "vocabulary")


@pytest.mark.parametrize(("key", "special"), [("joeynmt", pieces.SPECIAL), ("opennmt", [])])
def test_pieces_are_those_of_the_vocabulary_and_give_the_text_back(
    key: str, special: list[str], multi30k: Path, tmp_path: Path
) -> None:
    files = [str(multi30k / f"{split}.{side}") for split in ("train", "val") for side in ("en", "de")]
    pieces.main(key, "60", str(tmp_path), *files)
    vocabulary = (tmp_path / "vocabulary").read_text("utf-8").splitlines()
    assert vocabulary[: len(special)] == special
    known = {line.split("\t")[0] for line in vocabulary}
    assert len(known) == len(vocabulary) == 56 + len(special)
    for name, file in zip(("train.src", "train.tgt", "dev.src", "dev.tgt"), files, strict=True):
        lines = [line.split() for line in (tmp_path / name).read_text("utf-8").splitlines()]
        assert {piece for line in lines for piece in line} <= known
        text = ["".join(line).replace("\u2581", " ").strip() for line in lines]
        assert text == Path(file).read_text("utf-8").splitlines()


@pytest.mark.slow
def test_a_process_ends_at_its_limit_with_what_it_has_started(tmp_path: Path) -> None:
    place = Workplace(tmp_path, tmp_path)
    begun = time.monotonic()
    code = "import time, subprocess; print(subprocess.Popen(['sleep', '60']).pid, flush=True); time.sleep(60)"
    pid = int(place.run("it", "it", [sys.executable, "-c", code], limit=2))
    assert time.monotonic() - begun < 30
    assert ended(Path(f"/proc/{pid}/status"))


def ended(state: Path) -> bool:
    """Does the process with this state end within five seconds?"""
    for _ in range(100):
        if not state.exists() or "zombie" in state.read_text():
            return True
        time.sleep(0.05)
    return False


def refused(words: list[str]) -> None:
    """Exit code 2, as the parser and our own errors give it."""
    try:
        code: object = run("bench", PART, ["time_to_bleu", *words])
    except SystemExit as end:
        code = end.code
    assert code == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--rows", "marian"], "--rows marian: marian is none of nmt, joeynmt, opennmt, "),
        (["--minutes", "0"], "--minutes: 0 is not a number above 0"),
        (["--budgets", "5x"], "budget=5x is not a length of time"),
        (["--levels", "high"], "high is not whole numbers from 0 on with commas between them"),
    ],
)
def test_mistakes_get_one_line(
    words: list[str], message: str, multi30k: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(["--multi30k", str(multi30k), *words])
    assert message in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_refused(multi30k: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = multi30k / "train.en"
    refused(["--multi30k", str(multi30k), "--work", str(file / "work")])
    assert f"cannot make --work {file / 'work'} (Not a directory); name another folder" in capsys.readouterr().err


def test_every_file_must_be_there(multi30k: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (multi30k / "val.de").unlink()
    refused(["--multi30k", str(multi30k)])
    assert "no val.de in --multi30k" in capsys.readouterr().err
