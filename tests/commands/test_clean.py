"""`nmt clean` writes the pairs that stay and a report of the others, or says in one line what is wrong."""

import hashlib
import json
import random
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.small_corpora import make_pairs
from helpers.small_runs import make_run

from nmt.cli.main import main
from nmt.data.batch import make_batch
from nmt.data.train_hashes import hashes
from nmt.errors import NmtError
from nmt.runs.learned import Learned, write_learned
from nmt.translation.misalignment import scores, surprise
from nmt.translation.translator import LONGEST_FORCED, Translator

FILES = ["data=text", "data.train.src=src", "data.train.tgt=tgt", "data.src_lang=en", "data.tgt_lang=de"]
NO_PACKAGE = "data.filters.min_language=null"  # texts of a few words are in no language
FAST = ["device=cpu", "workers=1"]
ODD = '<script>alert("x")</script> &amp; {{ 7 * 7 }}'
PAIRS = [
    ("The dog sleeps.", "Der Hund schläft."),
    ("", "leer"),
    ("Same on both sides", "Same on both sides"),
    ("the dog sleeps", "der Hund schläft!"),
    ("3 dogs", "4 Hunde"),
    (ODD, "schön"),
    ("It is beautiful.", "Das ist schÃ¶n."),
    ("See www.a.de.", "Siehe www.b.de."),
    ("A" + "very" * 20 + " long word", "Ein langes Wort"),
    ("!!! ??? !!! a", "a b c d e"),
    ("Short.", "Lang und länger und immer noch länger als alles andere."),
    ("“Good” morning", "„Guten“ Morgen"),
]
REASONS = (
    "kept empty identical duplicates numbers markup broken addresses max_word min_letters max_length_ratio kept".split()
)
KEPT = [0, 11]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(PAIRS)


def write(pairs: list[tuple[str, str]]) -> None:
    """The input."""
    for name, side in (("src", 0), ("tgt", 1)):
        Path(name).write_text("".join(f"{pair[side]}\n" for pair in pairs), "utf-8")


def clean(*words: str) -> dict[str, Any]:
    """The report of a command that works."""
    assert main(["clean", *FILES, "output=out", NO_PACKAGE, *words]) == 0
    report: dict[str, Any] = json.loads(Path("out/report.json").read_text("utf-8"))
    return report


def kept() -> list[tuple[str, str]]:
    """The pairs in the output."""
    sides = (Path(f"out/train.{side}").read_text("utf-8").split("\n")[:-1] for side in ("en", "de"))
    return list(zip(*sides, strict=True))


def test_pairs_stay_or_are_shown_under_the_filter_that_drops_them(capsys: pytest.CaptureFixture[str]) -> None:
    before = [Path(name).read_bytes() for name in ("src", "tgt")]
    report = clean()
    assert kept() == [PAIRS[row] for row in KEPT]
    assert [Path(name).read_bytes() for name in ("src", "tgt")] == before
    assert sorted(path.name for path in Path("out").iterdir()) == ["report.html", "report.json", "train.de", "train.en"]
    assert not [path for path in Path().iterdir() if path.name.endswith(".writing")]
    assert (report["read"], report["kept"]) == (len(PAIRS), len(KEPT))
    found = {sample["pair"] - 1: each["filter"] for each in report["dropped"] for sample in each["samples"]}
    assert found == {row: reason for row, reason in enumerate(REASONS) if reason != "kept"}
    for each in report["dropped"]:
        assert each["pairs"] == REASONS.count(each["filter"])
        assert each["share"] == each["pairs"] / len(PAIRS)
        for sample in each["samples"]:
            assert (sample["src"], sample["tgt"], sample["score"]) == (*PAIRS[sample["pair"] - 1], None)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["filter", "pairs", "share"]
    assert ["numbers", "1", "8.33%"] in lines
    assert lines[-1] == ["kept", "2", "16.67%"]


class Page(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_shows_odd_text_as_text() -> None:
    clean()
    page = Page(Path("out/report.html").read_text("utf-8"))
    assert "script" not in page.tags
    assert ODD in page.text
    assert "pairs that do not have the same digits on both sides" in page.text
    assert "What was dropped of 12 pairs, en to de" in page.text


def test_samples_are_drawn_by_the_seed_and_long_text_is_shortened() -> None:
    write([*((f"number {row}", "keine") for row in range(50)), ("x " * 2000 + "1", "y"), ("good", "gut")])
    drawn = []
    for seed in (1, 1, 2):
        report = clean(f"seed={seed}", "samples=3", "data.filters.max_characters=null")
        [numbers] = [each for each in report["dropped"] if each["filter"] == "numbers"]
        assert (numbers["pairs"], len(numbers["samples"])) == (51, 3)
        drawn.append([sample["pair"] for sample in numbers["samples"]])
        for name in Path("out").iterdir():
            name.unlink()  # an empty folder may be written into
    assert drawn[0] == drawn[1] != drawn[2]
    long = clean("samples=51", "data.filters.max_characters=null")["dropped"]
    assert max(len(sample["src"]) for each in long for sample in each["samples"]) == 1001


@pytest.mark.parametrize("rows", [1, 7, 10_000])
def test_batches_change_nothing(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    pairs = rng.choices([*PAIRS, *make_pairs(40)], k=300)
    write(pairs)
    clean()
    expected = {path.name: path.read_bytes() for path in Path("out").iterdir()}
    Path("out").rename("first")
    monkeypatch.setattr("nmt.data.corpus.BATCH_ROWS", rows)
    clean()
    assert {path.name: path.read_bytes() for path in Path("out").iterdir()} == expected


def test_other_formats_are_read_and_lines_stay_lines() -> None:
    rows = [{"a": "The dog\nsleeps\u2028here", "b": "Der Hund\tschläft hier"}, {"a": "x 1", "b": "x"}]
    Path("in.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    words = ["data=jsonl", "data.train.files=in.jsonl", "data.src_column=a", "data.tgt_column=b", *FILES[3:]]
    assert main(["clean", *words, NO_PACKAGE, "output=out"]) == 0
    assert kept() == [("The dog sleeps here", "Der Hund schläft hier")]


# Scorers


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Random models of both directions."""
    folder = tmp_path_factory.mktemp("runs")
    back = {"src_lang": "de", "tgt_lang": "en"}
    return {"there": make_run(folder / "there"), "back": make_run(folder / "back", seed=1, data=back)}


def score(runs: dict[str, Path], pairs: list[tuple[str, str]], dual: bool) -> list[float]:
    """One pair at a time, from sums of log-probabilities."""
    there, back = (Translator.load(runs[key], device="cpu", precision="float") for key in ("there", "back"))

    def per_piece(model: Translator, src: str, tgt: str) -> float:
        return -model.forced_scores([src], [tgt])[0] / (len(model.tokenizers.tgt.encode(tgt)) + 1)

    a = [per_piece(there, src, tgt) for src, tgt in pairs]
    b = [per_piece(back, tgt, src) for src, tgt in pairs]
    return [abs(x - y) + 0.5 * (x + y) if dual else x for x, y in zip(a, b, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("dual", [False, True])
def test_the_worst_share_and_what_is_above_a_threshold_goes(runs: dict[str, Path], dual: bool) -> None:
    pairs = make_pairs(40)
    write([*pairs, ("1 dog", "2 Hunde")])
    expected = np.array(score(runs, pairs, dual))
    words = [f"scorer={runs['there']}", *([f"scorer_reverse={runs['back']}"] if dual else []), *FAST]
    report = clean(*words, "drop_worst=0.25", "samples=100", "data.filters.max_length_ratio=null")
    worst = set(np.argsort(-expected)[:10].tolist())
    assert report["dropped"][-1]["filter"] == "drop_worst"
    assert {sample["pair"] - 1 for sample in report["dropped"][-1]["samples"]} == worst
    for sample in report["dropped"][-1]["samples"]:
        assert sample["score"] == pytest.approx(expected[sample["pair"] - 1], rel=1e-3)
    assert kept() == [pair for row, pair in enumerate(pairs) if row not in worst]
    Path("out").rename("first")
    limit = float(np.sort(expected)[[19, 20]].mean())
    report = clean(*words, f"max_cross_entropy={limit}")
    assert (report["dropped"][-1]["pairs"], report["kept"]) == (20, 20)


def test_a_pair_that_is_too_long_to_be_scored_is_the_worst(runs: dict[str, Path]) -> None:
    there, back = (Translator.load(runs[key], device="cpu", precision="float") for key in ("there", "back"))
    long = "x " * (LONGEST_FORCED + 1)
    assert np.isinf(surprise(there, ["a", long], [long, "b"])).all()
    found = scores(there, back, True, ["a", long, "b"], ["a", "b", "a"])
    for own in (found.cross_entropy, found.end, found.contrast):
        assert np.isfinite(own).tolist() == [True, False, True]
    assert (found.cross_entropy[[0, 2]] > 0).all()
    assert scores(there, back, True, ["a"], ["b"]).contrast == [0.0]  # no other pair to compare with


@pytest.mark.parametrize("dual", [False, True])
def test_a_target_that_goes_as_well_with_another_source_drops_the_pair(runs: dict[str, Path], dual: bool) -> None:
    pairs = make_pairs(20)
    write(pairs)
    others = [*pairs[10:], *pairs[:10]]
    there, back = (Translator.load(runs[key], device="cpu", precision="float") for key in ("there", "back"))
    ratios = []
    for (src, tgt), (other_src, other_tgt) in zip(pairs, others, strict=True):
        a = there.forced_scores([src, other_src], [tgt, tgt])
        b = back.forced_scores([tgt, other_tgt], [src, src])
        ratios.append(max(a[0] / a[1], b[0] / b[1] if dual else 0.0))
    limit = float(np.sort(ratios)[[9, 10]].mean())
    words = [f"scorer={runs['there']}", *([f"scorer_reverse={runs['back']}"] if dual else []), *FAST]
    report = clean(*words, f"max_contrast={limit}", "data.filters.max_length_ratio=null")
    assert (report["dropped"][-1]["filter"], report["dropped"][-1]["pairs"]) == ("max_contrast", 10)
    assert kept() == [pair for pair, own in zip(pairs, ratios, strict=True) if own < limit]


@pytest.mark.parametrize("dual", [False, True])
def test_an_end_that_the_model_does_not_expect_drops_the_pair(runs: dict[str, Path], dual: bool) -> None:
    """With both models, on either side."""
    pairs = make_pairs(20)
    write(pairs)
    there, back = (Translator.load(runs[key], device="cpu", precision="float") for key in ("there", "back"))

    def end(model: Translator, src: str, tgt: str) -> float:
        ids = [model.tokenizers.src.encode(model.as_read(src))], [model.tokenizers.tgt.encode(tgt)]
        return -model.model.forced(make_batch(*ids))[0][0, -1].item()

    ends = [max(end(there, src, tgt), end(back, tgt, src) if dual else 0.0) for src, tgt in pairs]
    limit = float(np.sort(ends)[[9, 10]].mean())
    words = [f"scorer={runs['there']}", *([f"scorer_reverse={runs['back']}"] if dual else []), *FAST]
    report = clean(*words, f"max_end_surprise={limit}", "data.filters.max_length_ratio=null")
    assert (report["dropped"][-1]["filter"], report["dropped"][-1]["pairs"]) == ("max_end_surprise", 10)
    assert kept() == [pair for pair, own in zip(pairs, ends, strict=True) if own < limit]


def trained_on(pairs: list[tuple[str, str]], run: Path, folder: Path) -> Path:
    """A copy of the run, in this folder, whose training pairs are these."""
    shutil.copytree(run, folder)
    content = hashes(*zip(*pairs, strict=True)).tobytes()
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["sha256"]["seen.bin"] = hashlib.sha256(content).hexdigest()
    (folder / "seen.bin").write_bytes(content)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


@pytest.mark.parametrize("key", ["scorer", "scorer_reverse"])
def test_a_scorer_that_was_trained_on_the_pairs_gets_a_caution(
    runs: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path, key: str
) -> None:
    pairs = make_pairs(20)
    write(pairs)
    name = "back" if key == "scorer_reverse" else "there"
    own = pairs[:2] if name == "there" else [(tgt, src) for src, tgt in pairs[:2]]
    knows = trained_on(own, runs[name], tmp_path / "knows")
    words = {"scorer": runs["there"], "scorer_reverse": runs["back"]}
    report = clean(*(f"{key}={run}" for key, run in (words | {key: knows}).items()), "max_end_surprise=100", *FAST)
    assert next(line for line in report["cautions"] if "scorer" in line) in Path("out/report.html").read_text("utf-8")
    said = [line for line in capsys.readouterr().err.splitlines() if "caution: scorer" in line]
    assert len(said) == 1
    assert said[0].startswith(f"caution: {key}={knows} was trained on 2 of 20 pairs that were looked at: it has ")
    assert said[0].endswith("score each half of the corpus with a model that was trained on the other half")


def test_cautions_come_before_the_scores(
    runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which may take hours."""

    def stop(*_: object) -> None:
        raise NmtError("scoring has begun")

    write(make_pairs(20))
    knows = trained_on(make_pairs(20), runs["there"], tmp_path / "knows")
    monkeypatch.setattr("nmt.translation.misalignment.scores", stop)
    words = [f"scorer={knows}", "max_end_surprise=100", *FAST]
    assert main(["clean", *FILES, "output=out", NO_PACKAGE, *words]) == 2
    said = capsys.readouterr().err
    assert said.index(f"caution: scorer={knows} was trained on ") < said.index("error: scoring has begun")


def test_a_few_pairs_from_all_over_those_that_are_left_are_looked_at(
    runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = [pair for pair in make_pairs(20) for pair in (pair, ("", "dropped by a filter"))]
    write(pairs)
    monkeypatch.setattr("nmt.data.clean_corpus.LOOKED_AT", 6)
    monkeypatch.setattr("nmt.data.corpus.BATCH_ROWS", 7, raising=False)
    looked_at: list[tuple[str, str]] = []

    def seen(_: Path, __: str, *sides: list[str]) -> list[str]:
        looked_at.extend(zip(*sides, strict=True))
        return []

    monkeypatch.setattr("nmt.commands.clean.of_scorer", seen)
    clean(f"scorer={runs['there']}", "max_end_surprise=100", *FAST)
    assert looked_at == kept()[::4]


def test_a_scorer_that_has_learned_nothing_gets_a_caution_and_the_right_remedy(
    runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(runs["there"], tmp_path / "weak")
    write_learned(tmp_path / "weak", Learned(0.1, 5.0, 5.0, 6.0, 5.0, 30, 10, 20, 0.9, 0.0))
    write(make_pairs(20))
    words = [f"scorer={tmp_path / 'weak'}", "max_end_surprise=0.0001", *FAST]
    assert main(["clean", *FILES, "output=out", NO_PACKAGE, *words]) == 2
    said = capsys.readouterr().err
    assert f"caution: {tmp_path / 'weak'}: the model has learned next to nothing: " in said
    assert "20 max_end_surprise; loosen data.filters, or take a better scorer or another limit\n" in said


def test_a_scorer_may_be_in_the_home_of_the_user(
    runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(runs["there"].parent))
    assert clean(f"scorer=~/{runs['there'].name}", "max_end_surprise=100", *FAST)["kept"]
    assert main(["clean", *FILES, "output=more", NO_PACKAGE, "scorer=~/nothing", "drop_worst=0.1", *FAST]) == 2
    assert "nothing is not a folder; give a run folder such as runs/NAME" in capsys.readouterr().err


def test_a_scorer_whose_training_is_not_known_is_refused(
    runs: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shutil.copytree(runs["there"], tmp_path / "damaged")
    (tmp_path / "damaged" / "seen.bin").write_bytes(b"12345678")
    words = [f"scorer={tmp_path / 'damaged'}", "drop_worst=0.1", *FAST]
    assert main(["clean", *FILES, "output=out", NO_PACKAGE, *words]) == 2
    assert "seen.bin is damaged: its checksum differs; restore it from a copy" in capsys.readouterr().err
    assert not Path("out").exists()


# What is refused


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["data.src_lang=null"], "data.src_lang is null, but it names the file of that side; give it, for example"),
        (["data.tgt_lang=en"], "data.src_lang and data.tgt_lang are both en, and name one file; make them differ"),
        (["data.filters.max_tokens=9"], "data.filters.max_tokens=9 counts pieces, which nmt clean does not make; use"),
        (["data.train.weights=[2]"], "data.train.weights=[2] is for training; nmt clean reads each pair once, leave"),
        (["data.filters.max_ratio=2"], "use data.filters.max_length_ratio"),
        (["drop_worst=0.1"], "drop_worst=0.1 needs a model of these languages; name one, scorer=runs/NAME"),
        (["scorer_reverse=x"], "scorer_reverse=x needs a model of these languages"),
        (
            ["scorer=x"],
            "scorer=x scores the pairs, but no limit says which to drop; give one of max_end",
        ),
        (["max_end_surprise=2"], "max_end_surprise=2.0 needs a model of these languages; name one"),
        (["scorer=x", "drop_worst=0.1", "max_cross_entropy=3"], "max_cross_entropy and drop_worst are both given"),
        (["output=src"], "output=src is there already; name a new or empty folder, or delete it"),
        (["data.train.src=null", "data.train.tgt=null"], "the training split is not given, data.format=text; set"),
        (["data.train.tgt=none"], "none"),
        (["data.filters.min_letters=2"], "data.filters.min_letters is 2; it must be at most 1, or null (pairs with"),
        (["data.filters.duplicates=lose"], "data.filters.duplicates='lose' is not possible; did you mean 'loose'?"),
    ],
)
def test_mistakes_are_one_line(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = [] if any(word.startswith("output=") for word in words) else ["output=out"]
    assert main(["clean", *FILES, *given, NO_PACKAGE, *words]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert said in err
    assert err.count("\n") == 1
    assert not Path("out").exists()


def test_a_corpus_of_which_nothing_is_left_is_refused_and_leaves_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    write([("", "a"), ("1", "2")])
    assert main(["clean", *FILES, "output=out", NO_PACKAGE]) == 2
    said = "error: no pair is left of 2 pairs read, data.train: dropped: 1 empty, 1 numbers; loosen data.filters\n"
    assert capsys.readouterr().err.endswith(said)
    assert sorted(path.name for path in Path().iterdir()) == ["src", "tgt"]


def test_an_empty_corpus_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    write([])
    assert main(["clean", *FILES, "output=out", NO_PACKAGE]) == 2
    assert "the training split has no sentence pair" in capsys.readouterr().err


def test_a_scorer_of_another_direction_is_refused(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    words = [f"scorer={runs['back']}", "drop_worst=0.1", *FAST]
    assert main(["clean", *FILES, "output=out", NO_PACKAGE, *words]) == 2
    assert f"scorer={runs['back']} translates de to en; name a model of en to de" in capsys.readouterr().err


def test_a_full_folder_is_never_written_into(capsys: pytest.CaptureFixture[str]) -> None:
    clean()
    before = {path.name: path.stat().st_mtime_ns for path in Path("out").iterdir()}
    assert main(["clean", *FILES, "output=out", NO_PACKAGE]) == 2
    assert "output=out is there already" in capsys.readouterr().err
    assert {path.name: path.stat().st_mtime_ns for path in Path("out").iterdir()} == before
