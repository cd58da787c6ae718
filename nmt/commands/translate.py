"""`nmt translate`: one line out for every line in."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from itertools import tee, zip_longest
from pathlib import Path
from typing import Any

from nmt.config.sections import SearchConfig
from nmt.config.verbs import TranslateCommand
from nmt.data.paths import read_lines
from nmt.data.streams import LINE_ENDS, input_files, output_file, placed_lines
from nmt.data.text import one_line
from nmt.errors import ConfigError, DataError
from nmt.machine.digests import file_digest
from nmt.machine.home import expanded
from nmt.runs.shortlist_file import SHORTLIST_FILE
from nmt.scoring.alignment import pharaoh
from nmt.translation import bulk
from nmt.translation.notes import caution
from nmt.translation.open import as_typed, means, model_folders, open_model
from nmt.translation.translations import Translation
from nmt.translation.translator import Translator, with_n_best

CHECKSUM_DIGITS = 16  # of the checksum of a model or shortlist, in the record of an output folder


def main(command: TranslateCommand) -> int:
    """Translates standard input or files, into one output or into a folder with a file for each."""
    plan = plan_of(command)
    translator = open_model(command)
    if command.alignments and not translator.has_attention:
        raise ConfigError(
            f"alignments=true, but the model has no attention, model={as_typed(command.model)}; leave alignments out"
        )
    settings = with_n_best(translator.settings, command.n_best)
    if settings.n_best > 1 and command.format == "text":
        raise ConfigError(
            f"n_best={settings.n_best} needs format=jsonl: as text every line has one translation; "
            "add format=jsonl, or n_best=1"
        )
    if plan is not None:
        into_folder(command, translator, settings, plan)
        return 0
    places, lines = apart(placed_lines(command.input))
    prefixes = None
    if command.prefixes is not None:
        lines, prefixes = in_step(lines, read_lines(expanded(command.prefixes)), command.prefixes)
    with output_file(command.output) as file:
        found = translated(command, translator, settings, lines, caution, places, prefixes)
        for number, line in enumerate(found):
            print(line, file=file, flush=True)
            if number == 0:  # not earlier: a failure of input or output is reported alone
                print(means(translator, settings), file=sys.stderr)
    return 0


def translated(
    command: TranslateCommand,
    translator: Translator,
    settings: SearchConfig,
    lines: Iterable[str],
    say: Callable[[str], None],
    places: Iterable[str] | None = None,
    prefixes: Iterable[str] | None = None,
) -> Iterator[str]:
    """The output line for each input line; `say` gets the cautions about lines, such as one that is too long.

    `places`: the names of the lines in cautions.
    """
    stream = translator.stream(lines, command.buffer, "words" if command.alignments else False, settings, prefixes)
    for translation in translator.notes().noted(stream, say, places):
        if command.format == "jsonl":
            yield translation_json(translation, settings.n_best > 1, command.alignments)
        else:
            yield one_line(translation.text)


def in_step(lines: Iterable[str], prefixes: Iterable[str], name: str) -> tuple[Iterator[str], Iterator[str]]:
    """The lines and the prefixes of their translations; refuses files with different numbers of lines."""

    def pairs() -> Iterator[tuple[str, str]]:
        for number, (line, prefix) in enumerate(zip_longest(lines, prefixes), start=1):
            if line is None or prefix is None:
                more, fewer = (f"prefixes={name}", "the input") if line is None else ("the input", f"prefixes={name}")
                raise DataError(f"{more} has more lines than the {number - 1:,} of {fewer}; give one line for each")
            yield line, prefix

    return apart(pairs())


def apart(pairs: Iterable[tuple[str, str]]) -> tuple[Iterator[str], Iterator[str]]:
    """The first and the second of each pair; what one of them has read ahead is held for the other."""
    firsts, seconds = tee(pairs)
    return (first for first, _ in firsts), (second for _, second in seconds)


def plan_of(command: TranslateCommand) -> bulk.Plan | None:
    """The output file for each input file; None if `output` is a single file or standard output."""
    if not command.output:
        return None
    path = expanded(command.output)
    if command.shard is None and not command.output.endswith("/") and not path.is_dir():
        return None
    if command.prefixes is not None:
        raise ConfigError(
            f"prefixes={command.prefixes} is for one file, and output={command.output} is a folder; name a file"
        )
    if command.input is None:
        raise ConfigError(f"output={command.output} is a folder, and input names no files; add input=FILES")
    return bulk.plan(input_files(command.input), path)


def into_folder(command: TranslateCommand, translator: Translator, settings: SearchConfig, plan: bulk.Plan) -> None:
    """Translates this process's share of the files, each into its own file of the folder."""
    if settings.sample and command.seed is None:
        raise ConfigError(
            "search.sample=true draws translations, and every process must draw the same ones; add seed=1, for example"
        )
    bulk.prepare(plan, made_with(command, translator, settings), command.shard is not None)
    print(means(translator, settings), file=sys.stderr)

    def lines_of(source: Path) -> Iterator[str]:
        translator.begin_text(source.name)
        return translated(command, translator, settings, read_lines(source), lambda line: caution(f"{source}, {line}"))

    bulk.translate_files(plan, command.share, lines_of)


def made_with(command: TranslateCommand, translator: Translator, settings: SearchConfig) -> dict[str, Any]:
    """All settings that decide a translation and its format.

    Settings of speed and memory are left out: batches of another size round differently, and change no more.
    """
    listed = translator.shortlist is not None and not settings.sample
    shortlist = model_folders(command.model, "model")[0] / SHORTLIST_FILE
    searched = {f"search.{key}": value for key, value in asdict(settings).items() if key != "batch_sentences"}
    return {
        "model": [checksum[:CHECKSUM_DIGITS] for checksum in translator.checksums],
        "precision": translator.precision,
        "shortlist": file_digest(shortlist)[:CHECKSUM_DIGITS] if listed else None,
        "long_lines": command.long_lines,
        "sentences": translator.at_once,
        "format": command.format,
        "alignments": command.alignments,
        "seed": translator.seed if settings.sample else None,
        **searched,
    }


def translation_json(translation: Translation, n_best: bool, alignments: bool) -> str:
    """One JSON object on one line; characters that some readers take for a line end are escaped."""
    record: dict[str, Any] = {
        "source": translation.source,
        "translation": translation.text,
        "score": translation.score,
        "log_prob": translation.log_prob,
    }
    if n_best:
        record["n_best"] = [vars(candidate) for candidate in translation.n_best]
    if alignments:
        found = translation.word_links
        record |= {"alignment": pharaoh(found.links), "src_words": found.src, "tgt_words": found.tgt}
    return json.dumps(record, ensure_ascii=False).translate(LINE_ENDS)
