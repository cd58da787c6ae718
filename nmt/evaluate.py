"""`nmt evaluate`: BLEU, chrF and TER of a model on a test set, and alignment error rate where gold ones exist."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryFile
from time import perf_counter
from typing import Any

from tqdm import tqdm

from nmt import cautions, checkpoint
from nmt.aer import Gold, scores_table
from nmt.align import diagonal_scores, gold_scores, load_gold
from nmt.alignment import Unit, source_length, spaceless
from nmt.atomic import write_atomically
from nmt.config import DataConfig
from nmt.corpus import clean, read_corpus
from nmt.errors import CheckpointError, ConfigError, DataError
from nmt.files import read_lines, resolve
from nmt.long_lines import caution, noted
from nmt.metrics import bleu_by_length, bleu_tokenizer, counted_words, paired_bootstrap, score_corpus, table
from nmt.schema import overlay, read_section
from nmt.testsets import named_test_set
from nmt.translate import as_typed, means, model_folders, open_model
from nmt.translator import Translator

CHUNK = 1024  # sentences translated between two looks of the progress bar


@dataclass(frozen=True)
class Benchmark:
    """Sentences and their reference translations, one list per reference."""

    name: str
    sources: list[str]
    references: list[list[str]]
    words: str | None  # what BLEU counts: see nmt.metrics


@dataclass(frozen=True)
class GoldAlignments:
    """The gold links between sources and reference, and what they count."""

    links: list[Gold]
    unit: Unit
    file: str


def main(config: Mapping[str, Any], typed: Mapping[str, Any]) -> int:
    """Translates the test set, prints a table, and writes hypotheses and scores."""
    translator = open_model(config, typed)
    other = None if config["compare_with"] is None else open_model(config, typed, "compare_with")
    data = overlay(translator.config, typed, ["data"])["data"]
    benchmark = read_benchmark(config, data)
    gold = read_alignments(config, data, benchmark)
    bleu_tokenizer(benchmark.words)  # a missing package is said before the work
    for each in (translator, *([] if other is None else [other])):
        cautions.refuse_other_languages(each.config["data"], data)
    cautions.refuse_unfit(benchmark.name, benchmark.sources, benchmark.references)
    said = list(before_translating(config, [translator, *([] if other is None else [other])], benchmark))
    folder = results_folder(config, benchmark.name)
    check_writable(folder)
    used = means(translator, translator.settings)
    print(used, file=sys.stderr)
    if other is not None and (different := means(other, other.settings)) != used:
        print(f"compare_with: {different}", file=sys.stderr)
    start = perf_counter()
    hypotheses = translate_all(translator, benchmark.sources, said.append)
    seconds = perf_counter() - start
    second = None if other is None else translate_all(other, benchmark.sources, said.append)
    for texts in (hypotheses, *([] if second is None else [second])):
        said += cautions.of_translations(texts, benchmark.references)
    said = list(dict.fromkeys(said))  # two models may say the same
    for line in said:
        caution(line)
    result: dict[str, Any] = {
        "model": config["model"],
        "test_set": benchmark.name,
        "sentences": len(hypotheses),
        "seconds": seconds,
        "search": asdict(translator.settings),
        "shortlist": translator.shortlist is not None and not translator.settings.sample,
        "cautions": said,
    }
    print(f"{benchmark.name}: {len(hypotheses):,} sentences, {len(hypotheses) / seconds:,.0f} a second\n")
    result |= scores(benchmark, hypotheses, config["intervals"])
    if second is not None:
        result["comparison"] = comparison(benchmark, hypotheses, second, config)
    if gold is not None:
        result["alignment"] = alignment(benchmark, gold, translator, other)
    write(folder, benchmark, hypotheses, second, result)
    print(f"\nhypotheses, references and scores.json are in {folder}", file=sys.stderr)
    return 0


def before_translating(config: Mapping[str, Any], translators: list[Translator], benchmark: Benchmark) -> Iterator[str]:
    """Says what would make scores on this test set mislead."""
    runs = [*model_folders(config["model"], "model")]
    if config["compare_with"] is not None:
        runs += model_folders(config["compare_with"], "compare_with")
    for run in runs:
        file = checkpoint.seen_file(run)
        yield from cautions.of_training(file, str(run), benchmark.sources, benchmark.references)
    for translator in translators:
        yield from cautions.of_test_set(translator.tokenizers, benchmark.sources, benchmark.references)


def results_folder(config: Mapping[str, Any], name: str) -> Path:
    """Where everything is written: evaluations/ in the run, the first of several, whose names then stand there too."""
    if config["output"] is not None:
        return Path(config["output"]).expanduser()
    first, *others = model_folders(config["model"], "model")
    return first / "evaluations" / "+".join([name, *(other.name for other in others)])


def scores(benchmark: Benchmark, hypotheses: list[str], intervals: bool) -> dict[str, Any]:
    """Prints the scores, over all and by source length; the same as data."""
    metrics = score_corpus(hypotheses, benchmark.references, benchmark.words, intervals)
    lengths = [source_length(sentence) for sentence in benchmark.sources]
    buckets = bleu_by_length(lengths, hypotheses, benchmark.references, benchmark.words)
    print(table(metrics), table(buckets), sep="\n\n")
    return {
        "scores": [asdict(metric) for metric in metrics],
        "bleu_by_source_length": [asdict(bucket) for bucket in buckets],
    }


def comparison(
    benchmark: Benchmark, hypotheses: list[str], second: list[str], config: Mapping[str, Any]
) -> dict[str, Any]:
    """Prints how the second model compares with the first; the same as data."""
    compared = paired_bootstrap(hypotheses, second, benchmark.references, benchmark.words)
    names = [as_typed(config[key]) for key in ("model", "compare_with")]
    print(f"\nfirst: {names[0]}    second: {names[1]}    (paired bootstrap)\n")
    print(table(compared))
    return {"with": config["compare_with"], "scores": [asdict(row) for row in compared]}


def alignment(
    benchmark: Benchmark, gold: GoldAlignments, translator: Translator, other: Translator | None
) -> dict[str, Any]:
    """Prints how well attention aligns, beside the diagonal; the same as data (None: a model without attention)."""
    pairs = benchmark.sources, benchmark.references[0]
    models = {"model": translator} if other is None else {"first": translator, "second": other}
    found = {name: gold_scores(model, *pairs, gold.links, gold.unit) for name, model in models.items()}
    found["diagonal"] = diagonal_scores(*pairs, gold.links, gold.unit)
    print(f"\n{scores_table(found)}")
    scores = {name: row and asdict(row) for name, row in found.items()}
    return {"gold": gold.file, "units": gold.unit, "scores": scores}


def translate_all(translator: Translator, sources: Sequence[str], say: Callable[[str], None]) -> list[str]:
    """Best translations; a terminal sees how far they are, and `say` is told of lines that are too long."""
    bar = tqdm(total=len(sources), unit=" sentences", leave=False, disable=None, dynamic_ncols=True)
    texts = []
    with bar:
        for translation in noted(translator.stream(sources, CHUNK), say):
            texts.append(translation.text)
            bar.update()
    return texts


def read_benchmark(config: Mapping[str, Any], data: Mapping[str, Any]) -> Benchmark:
    """What is evaluated on: files, a set that sacreBLEU knows by name, or a split of the model's own corpus."""
    if config["src"] is not None and config["test_set"] is not None:
        raise ConfigError("src and test_set are both given; evaluate on one of them")
    if (config["src"] is None) != (config["ref"] is None):
        missing = "ref" if config["ref"] is None else "src"
        raise ConfigError(f"{missing} is not given; evaluating on files needs both, src=FILE ref=FILE")
    if config["src"] is not None:
        benchmark = from_files(config["src"], config["ref"], counted_words(data))
    elif config["test_set"] is not None:
        if data["src_lang"] is None or data["tgt_lang"] is None:
            raise ConfigError(
                f"the model's corpus does not say its languages, test_set={config['test_set']}; "
                "type them, for example data.src_lang=en data.tgt_lang=de"
            )
        sources, references = named_test_set(config["test_set"], data["src_lang"], data["tgt_lang"])
        benchmark = Benchmark(config["test_set"], sources, references, counted_words(data))
    else:
        benchmark = from_corpus(config["split"], data, Path(config["cache_dir"]).expanduser())
    text = "".join("".join(reference) for reference in benchmark.references)
    if benchmark.words is None and 2 * sum(map(spaceless, text)) > len(text):
        raise ConfigError(
            "the references are in a script without spaces, and data.tgt_lang=null does not say how BLEU "
            "counts its words; type data.tgt_lang=zh, for example"
        )
    return benchmark


def read_alignments(config: Mapping[str, Any], data: Mapping[str, Any], benchmark: Benchmark) -> GoldAlignments | None:
    """Gold alignments of the file named, else those of the corpus for its test split; None where there are none."""
    own = config["src"] is None and config["test_set"] is None and config["split"] == "test"
    if config["gold"] is not None:
        path = Path(config["gold"]).expanduser()
        unit: Unit = config["gold_units"] or (data["gold_units"] if own else "words")
    elif config["gold_reverse"] or config["gold_units"] is not None:
        key = "gold_reverse" if config["gold_reverse"] else "gold_units"
        raise ConfigError(f"{key} describes a file with gold alignments; name it, gold=FILE, or leave {key} out")
    elif own and data["gold"] is not None:
        path, unit = resolve(data["gold"], data["root"]), data["gold_units"]
    else:
        return None
    if len(benchmark.references) > 1:
        raise ConfigError(
            f"gold alignments are of one translation, and there are {len(benchmark.references)} references, "
            f"gold={path}; give one ref"
        )
    links = load_gold(path, config["gold_reverse"], benchmark.sources, benchmark.references[0], unit)
    return GoldAlignments(links, unit, str(path))


def from_corpus(split: str, data: Mapping[str, Any], cache_dir: Path) -> Benchmark:
    """A split of a corpus."""
    table = getattr(read_corpus(read_section(DataConfig, data, "data"), cache_dir), split)
    if not len(table):
        raise DataError(f"the corpus has no pairs in its {split} split, split={split}; give src=FILE ref=FILE")
    return Benchmark(split, list(table["src"]), [list(table["tgt"])], counted_words(data))


def from_files(src: str, ref: str | list[str], words: str | None) -> Benchmark:
    """A test set in text files; every reference has as many lines as the source."""
    sources = read_file(src, "src")
    names = [ref] if isinstance(ref, str) else ref
    if not names:
        raise ConfigError("ref is an empty list; name a file with reference translations")
    references = [read_file(name, "ref") for name in names]
    for name, lines in zip(names, references, strict=True):
        if len(lines) != len(sources):
            raise DataError(
                f"{src} has {len(sources):,} lines, {name} has {len(lines):,}; line N of one must translate line N "
                "of the other"
            )
    if not sources:
        raise DataError(f"{src} is empty, src={src}; give a file with sentences")
    return Benchmark(Path(src).name, sources, references, words)


def read_file(name: str, key: str) -> list[str]:
    """All lines of a text file; what other programs take for a line break inside of one is a space."""
    path = Path(name).expanduser()
    if not path.exists():
        raise DataError(f"no file {name}, {key}={name}; check the path")
    return [clean(line, nfc=False) for line in read_lines(path)]


def check_writable(folder: Path) -> None:
    """Makes the folder, and finds out before the work whether files can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise CheckpointError(f"cannot write {folder} ({error.strerror}); choose another output=") from None


def write(
    folder: Path, benchmark: Benchmark, hypotheses: list[str], second: list[str] | None, result: Mapping[str, Any]
) -> None:
    """The files of an evaluation in place of those of an earlier one; scores.json last."""
    texts = {"sources.txt": benchmark.sources, "hypotheses.txt": hypotheses}
    if second is not None:
        texts["hypotheses.second.txt"] = second
    for number, reference in enumerate(benchmark.references, 1):
        texts["reference.txt" if number == 1 else f"reference.{number}.txt"] = reference
    for stale in ["scores.json", "hypotheses.second.txt", *(path.name for path in folder.glob("reference.*.txt"))]:
        (folder / stale).unlink(missing_ok=True)
    for name, lines in texts.items():
        write_atomically(folder / name, "".join(f"{line}\n" for line in lines).encode())
    write_atomically(folder / "scores.json", json.dumps(result, indent=1, ensure_ascii=False).encode())
