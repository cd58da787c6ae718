"""`nmt compare` from the command line to the page, on runs of a few updates."""

import json
import re
import shutil
import statistics
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from helpers.comparisons import AXES, compare, models, no_figures, results, write_splits
from helpers.training_runs import same, signals_after, tensors

from nmt.compare import scores
from nmt.compare.page import comparison_page
from nmt.compare.results import MEANS
from nmt.compare.scores import kept_scores
from nmt.compare.table import RUN_COLUMNS, TABLE_COLUMNS, number, run_table, table
from nmt.machine.signals import SAVED
from nmt.scoring import metrics
from nmt.translation.translator import Translator, translate_all

pytestmark = pytest.mark.slow  # each needs runs that take seconds


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_splits(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def runs(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run folders of a comparison whose seed 2 was trained by a command of its own, and the page in `page`."""
    folder = tmp_path_factory.mktemp("runs")
    with no_figures():
        assert compare(data, folder, "attention=none,dot", "seed=2") == 0
    alone = models(folder)
    assert len({Path(name).parts[0] for name in alone}) == 2
    assert compare(data, folder, *AXES, f"output={folder / 'page'}") == 0
    assert alone.items() <= models(folder).items()  # found finished: neither content nor time has changed
    return folder


def run_of(runs: Path, attention: str, seed: int) -> Path:
    [folder] = [
        Path(runs / run["run"])
        for run in results(runs / "page")["runs"]
        if run["variant"] == f"attention={attention}" and run["seed"] == seed
    ]
    return folder


def test_everything_is_written(runs: Path) -> None:
    found = results(runs / "page")
    assert [row["variant"] for row in found["variants"]] == ["attention=none", "attention=dot"]
    assert [(run["variant"], run["seed"]) for run in found["runs"]] == [
        ("attention=none", 1), ("attention=none", 2), ("attention=dot", 1), ("attention=dot", 2),
    ]  # fmt: skip
    figures = {"bleu_by_length", "dev_bleu", "dev_perplexity", "dev_attention_entropy"}
    figures |= {f"attention_{number}" for number in (1, 2, 3, 4)}
    expected = {
        "index.html",
        "table.md",
        "results.json",
        *(f"{name}.{kind}" for name in figures for kind in ("svg", "png")),
    }
    assert {path.name for path in (runs / "page").iterdir()} == expected
    assert found["seeds"] == [1, 2]
    assert found["same_data_order"]
    assert found["differences"]["attention=none"]["attention.class"] is None
    assert "attention.class" not in found["common"]
    assert not {"seed", "train.workers", "name", "runs_dir"} & set(found["common"])


def test_variants_are_means_over_seeds(runs: Path) -> None:
    found = results(runs / "page")
    for row in found["variants"]:
        own = [run for run in found["runs"] if run["variant"] == row["variant"]]
        for key in ("bleu", "chrf", "perplexity", "tokens_per_s", "best_update"):
            values = [run[key] for run in own]
            assert row[key] == pytest.approx({"mean": sum(values) / 2, "sd": statistics.stdev(values)})
        assert row["low"] <= row["bleu"]["mean"] + 1e-9
        assert row["bleu"]["mean"] <= row["high"] + 1e-9
    none, dot = found["variants"]
    assert (none["aer"], none["p"]) == (None, None)
    assert 0 <= dot["aer"]["mean"] <= 100
    assert dot["parameters"] == none["parameters"]  # a score without any, and a context of the same size


def test_scores_are_those_of_the_stored_model(runs: Path, data: Path) -> None:
    run = run_of(runs, "dot", 2)
    kept = json.loads(kept_scores(run, "test").read_bytes())["scores"]
    sources, references = ((data / f"test.{side}").read_text().splitlines() for side in ("src", "tgt"))
    translator = Translator.load(run, precision="fp32", device="cpu")
    assert kept["hypotheses"] == [translation.text for translation in translator.translate(sources)]
    assert kept["bleu"] == pytest.approx(metrics.bleu(kept["hypotheses"], [references], "de"))
    [shown] = [run for run in results(runs / "page")["runs"] if (run["variant"], run["seed"]) == ("attention=dot", 2)]
    assert shown["bleu"] == kept["bleu"]


def test_the_dev_split_is_scored_where_asked(runs: Path, data: Path, tmp_path: Path) -> None:
    before = models(runs)
    with no_figures():
        assert compare(data, runs, *AXES, "split=dev", f"output={tmp_path}") == 0
    kept = json.loads(kept_scores(run_of(runs, "dot", 2), "dev").read_bytes())["scores"]
    references = (data / "dev.tgt").read_text().splitlines()
    assert len(kept["hypotheses"]) == len(references)
    assert kept["bleu"] == pytest.approx(metrics.bleu(kept["hypotheses"], [references], "de"))
    assert kept["alignment"] is None  # the gold links are of the test sentences
    assert results(tmp_path)["test"] | {"sentences": 10, "split": "dev"} == results(tmp_path)["test"]
    assert "Results on the dev split" in (tmp_path / "index.html").read_text()
    assert models(runs) == before  # nothing was trained for it


def test_matrices_are_of_the_reference(runs: Path) -> None:
    for sentence in results(runs / "page")["shown"]["sentences"]:
        assert list(sentence["attention"]) == ["attention=dot"]
        matrix = sentence["attention"]["attention=dot"]
        assert " ".join(matrix["src_words"]) == sentence["source"]
        assert " ".join(matrix["tgt_words"]) == sentence["reference"]
        assert len(matrix["weights"]) == len(matrix["tgt_words"])
        assert all(sum(row) <= 1.01 for row in matrix["weights"])


class Page(HTMLParser):
    """Cells of all tables, and what a reader's browser would have to fetch or run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.ids: list[str] = []
        self.outside: list[str] = []
        self.in_cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        self.in_cell = tag in ("td", "th")
        if self.in_cell:
            self.rows[-1].append("")
        self.outside += [tag] if tag in ("script", "link", "iframe", "img", "object") else []
        for name, value in attributes:
            self.ids += [str(value)] if name == "id" else []
            fetched = name in ("src", "href", "xlink:href") and not str(value).startswith(("#", "data:"))
            self.outside += [f"{name}={value}"] if fetched or name.startswith("on") else []

    def handle_endtag(self, tag: str) -> None:
        self.in_cell = self.in_cell and tag not in ("td", "th")

    def handle_data(self, text: str) -> None:
        if self.in_cell:
            self.rows[-1][-1] += text


def test_page_and_markdown_show_the_results(runs: Path) -> None:
    found = results(runs / "page")
    html = (runs / "page" / "index.html").read_text("utf-8")
    page = Page(html)
    rows = table(found["variants"])
    assert page.rows[: len(rows)] == rows
    assert page.rows[len(rows) : len(rows) + 5] == run_table(found["runs"])
    markdown = (runs / "page" / "table.md").read_text("utf-8").splitlines()
    assert [[cell.strip() for cell in line.strip("|").split("|")] for line in (markdown[0], *markdown[2:])] == rows
    bleu = found["variants"][1]["bleu"]
    assert rows[2][1] == f"{bleu['mean']:.2f} ± {bleu['sd']:.2f}"
    titles = [column.title for column in TABLE_COLUMNS]
    assert all(f"<dt>{title}</dt>" in html for title in rows[0])
    assert set(rows[0]) <= set(titles)
    for text in (found["command"], *found["signatures"], *found["common"], found["shown"]["rule"]):
        assert text in unescape(html)


def test_the_page_says_what_is_equal_for_all(runs: Path) -> None:
    found = results(runs / "page")
    updates = found["runs"][0]["updates"]
    changed = json.loads(json.dumps(found)) | {"seeds": [7], "same_data_order": False}
    changed["test"] |= {"sentences": 12345, "src_lang": "en", "tgt_lang": "de", "diagonal_aer": 41.25}
    changed["runs"][0]["updates"] = updates + 1000
    before, after = (" ".join(unescape(comparison_page(each, [])).split()) for each in (found, changed))
    assert "<p>2 variants, 2 seeds each (1, 2); " in before
    assert "<p>2 variants, 1 seed each (7); 12,345 test sentences, en to de. p compares each variant with" in after
    assert f"in the same batches and order. Every run made {updates:,} updates. No variant" in before
    assert "Variants did not see the same batches: what differs decides" in after
    assert f"Runs made between {updates:,} and {updates + 1000:,} updates: some were trained longer." in after
    assert "the configurations differ in nothing but attention.class, " in before
    assert "the same relative place has an AER of 41.2" in after
    assert "Attention on the same sentences" not in before  # without pictures


def test_page_needs_nothing_else(runs: Path) -> None:
    text = (runs / "page" / "index.html").read_text("utf-8")
    page = Page(text)
    assert page.outside == []
    assert len(page.ids) == len(set(page.ids))
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", text))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}  # names of formats
    drawn = [path.read_text("utf-8") for path in (runs / "page").glob("*.svg")]
    assert text.count("<svg ") == len(drawn)
    assert all(svg.removeprefix("<svg ") in text for svg in drawn)


def test_a_second_time_nothing_is_trained_or_evaluated(
    runs: Path, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before, page = models(runs), {path.name: path.read_bytes() for path in (runs / "page").iterdir()}
    monkeypatch.setattr(scores, "measured", None)
    assert compare(data, runs, *AXES, f"output={runs / 'page'}") == 0
    assert models(runs) == before
    assert {path.name: path.read_bytes() for path in (runs / "page").iterdir()} == page
    out, err = capsys.readouterr()
    assert "4 finished, 0 begun, 0 new" in err
    assert out.strip() == (runs / "page" / "table.md").read_text("utf-8").strip()


def test_an_interrupted_run_goes_on(runs: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with no_figures(), signals_after({4}):
        assert compare(data, tmp_path, "attention=none,dot", "seed=1") == SAVED
    assert "the same command continues" in capsys.readouterr().err
    with no_figures():
        assert compare(data, tmp_path, "attention=none,dot", "seed=1") == 0
    assert "0 finished, 1 begun, 1 new" in capsys.readouterr().err
    for attention in ("none", "dot"):
        whole = run_of(runs, attention, 1)
        assert same(tensors(tmp_path / whole.name / "model.safetensors"), tensors(whole / "model.safetensors"))
    [output] = (tmp_path / "comparisons").iterdir()
    assert output.name.startswith("text_")


def test_kept_scores_of_another_model_are_not_used(runs: Path, data: Path, tmp_path: Path) -> None:
    own, other = run_of(runs, "dot", 1), run_of(runs, "dot", 2)
    copies = [shutil.copytree(run, tmp_path / run.name) for run in (own, other)]
    words = ("attention=none,dot", "seed=2", f"output={tmp_path / 'page'}")
    shutil.copytree(run_of(runs, "none", 2), tmp_path / run_of(runs, "none", 2).name)
    for name in ("model.safetensors", "finished.json"):
        shutil.copy(copies[0] / name, copies[1] / name)
    with no_figures():
        assert compare(data, tmp_path, *words) == 0
    wrong, right = (json.loads(kept_scores(folder, "test").read_bytes()) for folder in (other, copies[1]))
    assert wrong["key"] != right["key"]
    assert right["scores"]["hypotheses"] == json.loads(kept_scores(own, "test").read_bytes())["scores"]["hypotheses"]


def test_cells_without_value_are_dashes(runs: Path) -> None:
    row = dict.fromkeys(MEANS) | {"seed": None, "variant": "x"}
    assert run_table([row | {"seed": 12345}])[1] == ["x", "12345", *["—"] * len(RUN_COLUMNS)]
    assert number(1234.5678, 2) == "1,234.57"
    assert table([row | {"low": 0.0, "high": 1.0, "p": None}]) == [["variant", "95 % interval"], ["x", "0.00 to 1.00"]]


def test_what_makes_scores_mislead_is_said_once_and_stands_on_the_page(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the test set, of the training data, and of the translations of one run alone."""
    own = Path(shutil.copytree(data, tmp_path / "data", ignore=shutil.ignore_patterns("cache")))
    trained = [(own / f"train.{side}").read_text().splitlines()[:30] for side in ("src", "tgt")]
    for side, lines in zip(("src", "tgt"), trained, strict=True):
        lines[3] = "собака@@ " * (side == "src") + lines[3]
        (own / f"test.{side}").write_text("".join(f"{line}\n" for line in lines))

    def in_pieces(translator: Translator, *given: Any) -> list[str]:
        texts = translate_all(translator, *given)
        if translator.has_attention:
            return texts
        return [f"{text} {number}@@" for number, text in enumerate(texts)]  # not all the same, as untrained ones are

    monkeypatch.setattr(scores, "translate_all", in_pieces)
    seen = "29 of 30 test pairs (96.7%) stand in the training data of the model, 29 of them letter for letter"
    marked = "@@ is in 1 of 30 lines of the source, the first is line 4: are they cut into pieces?"
    words = ("attention=none,dot", "data.gold=null", f"output={tmp_path / 'page'}", "train.max_updates=2")
    for _ in range(2):  # the second time from what is kept
        with no_figures():
            assert compare(own, tmp_path / "runs", *words) == 0
        err = capsys.readouterr().err
        found = results(tmp_path / "page")
        alone = found["runs"][0]["run"]
        pieces = "30 translations hold @@: the model was trained on text in pieces, which BLEU is not for"
        hopeless = [line for line in found["cautions"] if line.startswith("the model has learned next to nothing")]
        assert hopeless  # after two updates
        assert [line for line in found["cautions"] if line not in hopeless] == [seen, marked, f"{pieces} ({alone})"]
        page = unescape((tmp_path / "page" / "index.html").read_text("utf-8"))
        for line in found["cautions"]:
            assert line in hopeless or err.count(f"caution: {line}\n") == 1  # training says that, too
            assert page.count(f"<p>Caution: {line}</p>") == 1
