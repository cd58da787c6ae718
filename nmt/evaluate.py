"""`nmt evaluate`: BLEU, chrF and TER of a model on a test set."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from nmt.alignment import source_length
from nmt.checkpoint import write_atomically
from nmt.config import DataConfig
from nmt.corpus import read_corpus
from nmt.errors import CheckpointError, ConfigError, DataError
from nmt.files import read_lines
from nmt.metrics import bleu_by_length, bleu_tokenizer, paired_bootstrap, score_corpus, table
from nmt.schema import overlay, read_section
from nmt.testsets import named_test_set
from nmt.translate import open_model
from nmt.translator import Translator


@dataclass(frozen=True)
class TestSet:
    """Sentences and their reference translations, one list per reference."""

    name: str
    sources: list[str]
    references: list[list[str]]
    src_lang: str | None
    tgt_lang: str | None


def main(config: Mapping[str, Any], typed: Mapping[str, Any]) -> int:
    """Translates the test set, prints a table, and writes hypotheses and scores."""
    translator = open_model(config, typed)
    data = overlay(translator.config, typed, ["data"])["data"]
    test = read_test_set(config, data)
    bleu_tokenizer(test.tgt_lang)  # a missing package is said before the work
    folder = Path(config["output"] or Path(config["model"]) / "evaluations" / test.name).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckpointError(f"cannot write {folder} ({error.strerror}); choose another output=") from None
    hypotheses, seconds = translate_all(translator, test.sources)
    scores = score_corpus(hypotheses, test.references, test.tgt_lang, config["intervals"])
    lengths = [source_length(sentence) for sentence in test.sources]
    buckets = bleu_by_length(lengths, hypotheses, test.references, test.tgt_lang)
    print(f"{test.name}: {len(hypotheses):,} sentences, {len(hypotheses) / seconds:,.0f} a second\n")
    print(table(scores), table(buckets), sep="\n\n")
    result: dict[str, Any] = {
        "model": str(config["model"]),
        "test_set": test.name,
        "sentences": len(hypotheses),
        "seconds": seconds,
        "search": asdict(translator.settings),
        "scores": [asdict(score) for score in scores],
        "bleu_by_source_length": [asdict(bucket) for bucket in buckets],
    }
    write_lines(folder / "hypotheses.txt", hypotheses)
    if config["compare_with"] is not None:
        other, _ = translate_all(open_model(config, typed, "compare_with"), test.sources)
        compared = paired_bootstrap(hypotheses, other, test.references, test.tgt_lang)
        print(f"\nfirst: {config['model']}    second: {config['compare_with']}    (paired bootstrap)\n")
        print(table(compared))
        result["comparison"] = {"with": str(config["compare_with"]), "scores": [asdict(row) for row in compared]}
        write_lines(folder / "hypotheses.second.txt", other)
    write_lines(folder / "sources.txt", test.sources)
    for number, reference in enumerate(test.references):
        write_lines(folder / f"reference{number or ''}.txt", reference)
    write_atomically(folder / "scores.json", json.dumps(result, indent=1, ensure_ascii=False).encode())
    print(f"\nhypotheses, references and scores.json are in {folder}", file=sys.stderr)
    return 0


def translate_all(translator: Translator, sources: Sequence[str]) -> tuple[list[str], float]:
    """Best translations and the seconds they took."""
    start = perf_counter()
    texts = [translation.text for translation in translator.translate(sources)]
    return texts, perf_counter() - start


def read_test_set(config: Mapping[str, Any], data: Mapping[str, Any]) -> TestSet:
    """What is evaluated on: files, a set that sacreBLEU knows by name, or a split of the model's own corpus."""
    given = [key for key in ("src", "test_set") if config[key] is not None]
    if len(given) > 1:
        raise ConfigError("src and test_set are both given; evaluate on one of them")
    if (config["src"] is None) != (config["ref"] is None):
        missing = "ref" if config["ref"] is None else "src"
        raise ConfigError(f"{missing} is not given; evaluating on files needs both, src=FILE ref=FILE")
    if config["src"] is not None:
        return from_files(str(config["src"]), config["ref"], data)
    if config["test_set"] is not None:
        sources, references = named_test_set(config["test_set"], data["src_lang"], data["tgt_lang"])
        return TestSet(config["test_set"], sources, references, data["src_lang"], data["tgt_lang"])
    if config["split"] not in ("test", "dev", "train"):
        raise ConfigError(f"split={config['split']} is not possible; choose test, dev or train")
    corpus = read_corpus(read_section(DataConfig, data, "data"), Path(config["cache_dir"]).expanduser())
    split = getattr(corpus, config["split"])
    if not len(split):
        raise DataError(f"the corpus has no {config['split']} split; give src=FILE ref=FILE")
    return TestSet(config["split"], list(split["src"]), [list(split["tgt"])], data["src_lang"], data["tgt_lang"])


def from_files(src: str, ref: str | list[str], data: Mapping[str, Any]) -> TestSet:
    """A test set in text files; every reference has as many lines as the source."""
    sources = read_file(src, "src")
    references = []
    for name in [ref] if isinstance(ref, str) else ref:
        lines = read_file(name, "ref")
        if len(lines) != len(sources):
            raise DataError(
                f"{src} has {len(sources):,} lines, {name} has {len(lines):,}; line N of one must translate line N "
                "of the other"
            )
        references.append(lines)
    if not sources:
        raise DataError(f"{src} is empty, src={src}; give a file with sentences")
    return TestSet(Path(src).stem, sources, references, data["src_lang"], data["tgt_lang"])


def read_file(name: str, key: str) -> list[str]:
    """All lines of a text file."""
    path = Path(name).expanduser()
    if not path.is_file():
        raise DataError(f"no file {name}, {key}={name}; check the path")
    return list(read_lines(path))


def write_lines(path: Path, lines: Sequence[str]) -> None:
    """One line each, LF."""
    write_atomically(path, "".join(f"{line}\n" for line in lines).encode())
