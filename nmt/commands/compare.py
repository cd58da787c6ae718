"""`nmt compare`: trains the unfinished runs, evaluates every run, and writes a page, a table and figures."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tqdm import tqdm

from nmt.compare.figures import Picture, results_pictures
from nmt.compare.page import comparison_page
from nmt.compare.results import results_of
from nmt.compare.runs import Sweep, check, run_state
from nmt.compare.scores import TestSet, history, rows_by_rule, scores_of
from nmt.compare.table import table
from nmt.data.paths import resolve
from nmt.data.prepare import Prepared
from nmt.errors import counted
from nmt.figures.figure import save_figure, svg_text
from nmt.figures.table import markdown_table
from nmt.machine.safe_files import make_folder, refuse_unwritable, write_atomically
from nmt.machine.signals import SAVED
from nmt.scoring.aer import load_gold
from nmt.scoring.alignment import source_length
from nmt.scoring.benchmark import referenced
from nmt.scoring.cautions import of_gaps, refuse_unfit
from nmt.scoring.countable import of_short_references
from nmt.scoring.word_rules import say_lacking, word_rule_of
from nmt.translation.notes import caution


def main(sweep: Sweep, multirun: Callable[[], int]) -> int:
    """Compares the runs of a sweep and returns the exit code; `multirun` trains the unfinished runs."""
    test = test_set(sweep, check(sweep))
    refuse_unwritable(sweep.output, "output")
    states = [run_state(job.run, job.config) for job in sweep.jobs]
    shares = ", ".join(f"{states.count(kind)} {kind}" for kind in ("finished", "begun", "new"))
    print(f"{counted(len(states), 'run')} in {sweep.jobs[0].config.runs_dir}: {shares}", file=sys.stderr)
    try:
        if set(states) != {"finished"} and (code := multirun()):
            if code == SAVED:
                raise KeyboardInterrupt
            return code
        scores, histories = [], [history(job.run) for job in sweep.jobs]
        for job in tqdm(sweep.jobs, desc="evaluation", unit=" runs", leave=False, disable=None):
            scores.append(scores_of(job, test, sweep.trust))
    except KeyboardInterrupt:
        print("what is trained and evaluated is kept; the same command continues", file=sys.stderr)
        return SAVED
    results = results_of(sweep, test, scores, histories)
    for line in results["cautions"]:
        caution(line)
    write_results(sweep.output, results)
    return 0


def test_set(sweep: Sweep, prepared: Prepared) -> TestSet:
    """The sentences on which every run is scored."""
    data, rows = sweep.jobs[0].config.data, getattr(prepared, sweep.split)
    sources, references = list(rows["src"]), list(rows["tgt"])
    refuse_unfit(sweep.split, sources, [references])
    say_lacking(data)
    gold = None
    if data.gold is not None and sweep.split == "test":  # a corpus has gold alignments for its test split alone
        path = resolve(data.gold, data.root)
        gold = load_gold(path, False, sources, references, data.gold_units)
    said = list(of_gaps([references]))
    rows = referenced([references])
    sources, references = ([side[row] for row in rows] for side in (sources, references))
    gold = None if gold is None else [gold[row] for row in rows]
    lengths = [[source_length(sentence) for sentence in side] for side in (sources, references)]
    shown = rows_by_rule(sources, references, *lengths)
    word_rule = word_rule_of(data, references)
    said += of_short_references([references], word_rule)
    return TestSet(sweep.split, sources, references, word_rule, gold, data.gold_units, shown, said)


def write_results(folder: Path, results: dict[str, Any]) -> None:
    """Writes the figures, results.json, table.md and, last, the page."""
    make_folder(folder)
    drawn: list[tuple[Picture, str]] = []
    for picture in results_pictures(results):
        text = svg_text(picture.figure)
        write_atomically(folder / f"{picture.name}.svg", text.encode())
        save_figure(picture.figure, folder / f"{picture.name}.png")
        drawn.append((picture, text))
    rows = markdown_table(table(results["variants"])) + "\n"
    write_atomically(folder / "results.json", results_json(results).encode(errors="backslashreplace"))
    write_atomically(folder / "table.md", rows.encode(errors="backslashreplace"))
    write_atomically(folder / "index.html", comparison_page(results, drawn).encode(errors="backslashreplace"))
    print(rows)
    print(f"the page is {folder / 'index.html'}; table.md, results.json and the figures are beside it", file=sys.stderr)


def results_json(results: dict[str, Any]) -> str:
    """The results as JSON, with a line for each variant, each run and each other key."""
    lines = []
    for key, value in results.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            items = ",\n  ".join(json.dumps(item, ensure_ascii=False) for item in value)
            lines.append(f"{json.dumps(key)}: [\n  {items}\n ]")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    return "{\n " + ",\n ".join(lines) + "\n}\n"
