"""`nmt evaluate`: BLEU, chrF and TER of a model on a test set; alignment error rate if it has gold alignments."""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from nmt.config.sections import DataConfig
from nmt.config.unread import refuse_unread
from nmt.config.verbs import EvaluateCommand
from nmt.errors import ConfigError, counted
from nmt.figures.table import grid, text_table
from nmt.machine.home import expanded
from nmt.machine.safe_files import make_folder, refuse_unwritable, write_atomically
from nmt.runs.folder import seen_file
from nmt.runs.learned import caution_of
from nmt.scoring.aer import diagonal_scores
from nmt.scoring.alignment import source_length
from nmt.scoring.benchmark import (
    Benchmark,
    GoldAlignments,
    read_alignments,
    read_benchmark,
    with_references,
)
from nmt.scoring.cautions import (
    of_direction,
    of_gaps,
    of_test_set,
    of_training,
    of_translations,
    of_words,
    refuse_other_languages,
    refuse_unfit,
)
from nmt.scoring.countable import of_short_references
from nmt.scoring.metrics import bleu_by_length, paired_bootstrap, score_corpus
from nmt.scoring.word_rules import say_lacking
from nmt.translation.align import gold_scores
from nmt.translation.notes import caution
from nmt.translation.open import as_typed, means, model_folders, open_model
from nmt.translation.translator import Translator, translate_all

PAIRS_TRIED = 50  # pairs scored in both directions, to notice swapped files
LONGEST_TRIED = 500  # characters of such a pair, both sides together
WRITTEN = re.compile(r"(sources|hypotheses(\.second)?|reference(\.[0-9]+)?)\.txt|scores\.json")  # in the output folder


def main(command: EvaluateCommand) -> int:
    """Translates the test set, writes hypotheses and scores, and prints a table."""
    translators = [open_model(command)]
    if command.compare_with is not None:
        translators.append(open_model(command, command.compare_with, "compare_with"))
    whole, benchmark, gold = read_test_set(command, translators)
    said = [*of_gaps(whole.references), *of_short_references(benchmark.references, benchmark.word_rule)]
    said += before_translating(command, translators, benchmark)
    folder = results_folder(command, benchmark.name)
    refuse_read_files(command, folder)
    refuse_unwritable(folder, "output")
    say_means(translators)
    start = perf_counter()
    texts = [translate_all(translators[0], benchmark.sources, said.append)]
    seconds = perf_counter() - start
    texts += [translate_all(other, benchmark.sources, said.append) for other in translators[1:]]
    write_texts(folder, benchmark, *texts)
    for own in texts:
        said += of_translations(own, benchmark.sources, benchmark.references)
    said = list(dict.fromkeys(said))  # two models may give the same caution
    for line in said:
        caution(line)
    about = {
        "model": command.model,
        "test_set": benchmark.name,
        "sentences": len(benchmark.sources),
        "seconds": seconds,
        "precision": translators[0].precision,
        "search": asdict(translators[0].settings),
        "shortlist": translators[0].shortlist is not None and not translators[0].settings.sample,
        "cautions": [*of_models(command), *said],
    }
    results, tables = scored(command, translators, benchmark, gold, texts)
    plain = json.dumps(about | results, indent=1, ensure_ascii=False)
    write_atomically(folder / "scores.json", plain.encode(errors="backslashreplace"))  # file names may not be UTF-8
    count = counted(len(benchmark.sources), "sentence")
    title = f"{benchmark.name}: {count}, {len(benchmark.sources) / seconds:,.0f} a second"
    print(title, *tables, sep="\n\n", flush=True)  # last: a reader that closes the pipe loses no file
    print(f"\nhypotheses, references and scores.json are in {folder}", file=sys.stderr)
    return 0


def read_test_set(
    command: EvaluateCommand, translators: list[Translator]
) -> tuple[Benchmark, Benchmark, GoldAlignments | None]:
    """The test set, the part of it that has references, and its gold alignments; refuses what cannot be scored."""
    data = corpus_of(command, translators[0].config.data)
    refuse_unread(data, command.changes)
    whole = read_benchmark(command, data)
    for note in whole.notes:
        print(note, file=sys.stderr)
    benchmark, gold = with_references(whole, read_alignments(command, data, whole))
    say_lacking(data)
    for each in translators:
        refuse_other_languages(each.config.data, data)
    refuse_unfit(whole.name, whole.sources, whole.references)
    return whole, benchmark, gold


def say_means(translators: list[Translator]) -> None:
    """Says in which precision and with which search the models translate."""
    used, *others = (means(each, each.settings) for each in translators)
    print(used, file=sys.stderr)
    for different in others:
        if different != used:
            print(f"compare_with: {different}", file=sys.stderr)


def of_models(command: EvaluateCommand) -> Iterator[str]:
    """The cautions about the models, which were printed when they were opened."""
    named = [("model", command.model), ("compare_with", command.compare_with)]
    for folder in (each for key, model in named if model is not None for each in model_folders(model, key)):
        if (learned := caution_of(folder)) is not None:
            yield f"{folder}: {learned}"


def scored(
    command: EvaluateCommand,
    translators: list[Translator],
    benchmark: Benchmark,
    gold: GoldAlignments | None,
    texts: list[list[str]],
) -> tuple[dict[str, Any], list[str]]:
    """All scores, and the tables that show them; `texts`: the translations by each model."""
    results, tables = all_scores(benchmark, texts[0], command.intervals)
    if command.compare_with is not None:
        compared, more = comparison(
            benchmark, texts[0], texts[1], (as_typed(command.model), as_typed(command.compare_with))
        )
        results["comparison"] = {"with": command.compare_with, **compared}
        tables += more
    if gold is not None:
        results["alignment"], aligned = alignments(benchmark, gold, *translators)
        tables.append(aligned)
    return results, tables


def corpus_of(command: EvaluateCommand, stored: DataConfig) -> DataConfig:
    """The corpus that is typed, or the run's own; languages that nobody names are those of the run."""
    data, typed = command.changes.of(stored), command.changes.values
    keys = [key for key in ("src_lang", "tgt_lang") if getattr(data, key) is None and f"data.{key}" not in typed]
    return replace(data, **{key: getattr(stored, key) for key in keys})


def before_translating(command: EvaluateCommand, translators: list[Translator], benchmark: Benchmark) -> Iterator[str]:
    """Cautions about anything that would make scores on this test set misleading."""
    given = {"model": command.model}
    if command.compare_with is not None:
        given["compare_with"] = command.compare_with
    read = [list(map(each.cleaning.source, benchmark.sources)) for each in translators]  # cleaned as in training
    for sources, (key, model) in zip(read, given.items(), strict=True):
        for run in model_folders(model, key):
            yield from of_training(seen_file(run), str(run), sources, benchmark.references)
    for translator, sources in zip(translators, read, strict=True):
        yield from of_test_set(translator.tokenizers, sources, benchmark.references)
        yield from of_words(translator.letter_case, "the source", sources)
        yield from of_direction(*both_ways(translator, benchmark))


def both_ways(translator: Translator, benchmark: Benchmark) -> tuple[float, float]:
    """Nats per piece of the first reference given its source, and of the source given it, over a few short pairs."""
    pairs = [
        (src, ref)
        for src, ref in zip(benchmark.sources, benchmark.references[0], strict=True)
        if src and ref and len(src) + len(ref) <= LONGEST_TRIED
    ][:PAIRS_TRIED]
    if not pairs:
        return 0.0, 0.0
    sources, references = zip(*pairs, strict=True)
    return translator.cross_entropy(sources, references), translator.cross_entropy(references, sources)


def results_folder(command: EvaluateCommand, name: str) -> Path:
    """The output folder: `output`, or evaluations/NAME in the first run, the names of the other runs after NAME."""
    if command.output is not None:
        return expanded(command.output)
    first, *others = model_folders(command.model, "model")
    return first / "evaluations" / "+".join([name, *(other.name for other in others)])


def refuse_read_files(command: EvaluateCommand, folder: Path) -> None:
    """Refuses an output folder in which a file that is read would be replaced."""
    references = [command.ref] if isinstance(command.ref, str) else command.ref or []
    for name in (command.src, *references, command.gold):
        path = None if name is None else expanded(name).resolve()
        if path is not None and path.parent == folder.resolve() and WRITTEN.fullmatch(path.name):
            raise ConfigError(f"{name} would be replaced, output={folder}; choose another output=")


def all_scores(benchmark: Benchmark, hypotheses: list[str], intervals: bool) -> tuple[dict[str, Any], list[str]]:
    """The scores, over all sentences and by source length, and their tables."""
    metrics = score_corpus(hypotheses, benchmark.references, benchmark.word_rule, intervals)
    lengths = [source_length(sentence) for sentence in benchmark.sources]
    buckets = bleu_by_length(lengths, hypotheses, benchmark.references, benchmark.word_rule)
    tables = [metric.cells() for metric in metrics], [bucket.cells() for bucket in buckets]
    scores = {
        "scores": [asdict(metric) for metric in metrics],
        "bleu_by_source_length": [asdict(bucket) for bucket in buckets],
    }
    return scores, [text_table(grid(rows)) for rows in tables]


def comparison(
    benchmark: Benchmark, hypotheses: list[str], second: list[str], names: tuple[str, str]
) -> tuple[dict[str, Any], list[str]]:
    """The scores of both models with their differences; and a title and a table that show them."""
    compared = paired_bootstrap(hypotheses, second, benchmark.references, benchmark.word_rule)
    title = f"first: {names[0]}    second: {names[1]}    (paired bootstrap)"
    return {"scores": [asdict(row) for row in compared]}, [title, text_table(grid([row.cells() for row in compared]))]


def alignments(
    benchmark: Benchmark, gold: GoldAlignments, translator: Translator, other: Translator | None = None
) -> tuple[dict[str, Any], str]:
    """The alignment scores of each model (None without attention) and of the diagonal baseline, and their table."""
    pairs = benchmark.sources, benchmark.references[0]
    models = {"model": translator} if other is None else {"first": translator, "second": other}
    found = {name: gold_scores(model, *pairs, gold.links, gold.unit) for name, model in models.items()}
    found["diagonal"] = diagonal_scores(*pairs, gold.links, gold.unit)
    rows = [{"alignments": name, **(row.cells() if row else {})} for name, row in found.items()]
    scores = {name: row and asdict(row) for name, row in found.items()}
    return {"gold": gold.file, "units": gold.unit, "scores": scores}, text_table(grid(rows))


def write_texts(folder: Path, benchmark: Benchmark, hypotheses: list[str], second: list[str] | None = None) -> None:
    """Writes the texts of an evaluation, and deletes the files of an earlier one."""
    make_folder(folder)
    texts = {"sources.txt": benchmark.sources, "hypotheses.txt": hypotheses}
    if second is not None:
        texts["hypotheses.second.txt"] = second
    for number, reference in enumerate(benchmark.references, 1):
        texts["reference.txt" if number == 1 else f"reference.{number}.txt"] = reference
    for path in folder.iterdir():
        if WRITTEN.fullmatch(path.name) and path.name not in texts:
            path.unlink(missing_ok=True)
    for name, lines in texts.items():
        write_atomically(folder / name, "".join(f"{line}\n" for line in lines).encode())
