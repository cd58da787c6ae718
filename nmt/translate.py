"""`nmt translate`: one line out for every line in."""

import io
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import torch

from nmt.alignment import pharaoh
from nmt.atomic import draft
from nmt.checkpoint import read_run
from nmt.config import SearchConfig
from nmt.errors import ConfigError, DataError
from nmt.files import decode_lines, read_lines
from nmt.long_lines import LongLines, caution, noted
from nmt.memory import keep_freed_memory
from nmt.schema import overlay, read_section
from nmt.search import check_search
from nmt.shortlist import Use
from nmt.translations import Translation
from nmt.translator import Attention, Translator, with_n_best

LINE_ENDS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}  # JSON may hold them as they are


def main(config: Mapping[str, Any], typed: Mapping[str, Any]) -> int:
    """Translates standard input or files."""
    if config["buffer"] < 1:
        raise ConfigError(f"buffer is {config['buffer']}; it must be at least 1 line")
    if config["alignments"] and config["format"] == "text":
        raise ConfigError("alignments=true needs format=jsonl: text has no place for them")
    translator = open_model(config, typed)
    if config["alignments"] and not translator.has_attention:
        raise ConfigError(
            f"alignments=true, but the model has no attention, model={as_typed(config['model'])}; leave alignments out"
        )
    settings = with_n_best(translator.settings, config["n_best"])
    check_search(settings)
    if settings.n_best > 1 and config["format"] == "text":
        raise ConfigError(
            f"n_best={settings.n_best} needs format=jsonl: as text every line has one translation; "
            "add format=jsonl, or n_best=1"
        )
    lines = input_lines(config["input"])
    with output_file(config["output"]) as file:
        wanted: Attention = "words" if config["alignments"] else False
        translations = translator.stream(lines, config["buffer"], wanted, settings)
        for number, translation in enumerate(noted(translations, caution)):
            text = translation.text
            if config["format"] == "jsonl":
                text = as_json(translation, settings.n_best > 1, config["alignments"])
            print(text, file=file, flush=True)
            if number == 0:  # now that input and output are known to work: a mistake is said alone
                print(means(translator, settings), file=sys.stderr)
    return 0


def open_model(config: Mapping[str, Any], typed: Mapping[str, Any], key: str = "model") -> Translator:
    """The model named under `key`, with the search settings that were typed in place of the stored ones."""
    return _open(config, typed, key, config["shortlist"], config["long_lines"])


def open_scorer(config: Mapping[str, Any], typed: Mapping[str, Any], key: str = "model") -> Translator:
    """The same for forced decoding, which is over the whole vocabulary."""
    return _open(config, typed, key, False, "split")


def _open(
    config: Mapping[str, Any], typed: Mapping[str, Any], key: str, shortlist: Use, long_lines: LongLines
) -> Translator:
    if config["threads"] is not None:
        if config["threads"] < 1:
            raise ConfigError(f"threads={config['threads']} is not possible; give 1 or more, or null")
        torch.set_num_threads(config["threads"])
    folders = model_folders(config[key], key)
    stored, _ = read_run(folders[0])
    settings = read_section(SearchConfig, overlay(stored, typed, ["search"])["search"], "search")
    check_search(settings)
    if settings.sample and shortlist is True:
        raise ConfigError(
            "shortlist=true and search.sample=true are both given; samples are drawn without, leave one out"
        )
    keep_freed_memory()
    return Translator.load(
        folders, settings, config["trust"], config["device"], config["precision"], shortlist, long_lines
    )


def model_folders(given: str | list[str], key: str) -> list[Path]:
    """The run folders named under `key`: one, or several whose models choose each token together."""
    names = [given] if isinstance(given, str) else given
    if not names:
        raise ConfigError(f"{key} is an empty list; name one or more run folders, {key}=[runs/a,runs/b]")
    return [Path(name).expanduser() for name in names]


def as_typed(given: str | list[str]) -> str:
    """One run folder, or several, as they were named."""
    return given if isinstance(given, str) else f"[{','.join(given)}]"


def means(translator: Translator, settings: SearchConfig) -> str:
    """What a translation is made with, for people."""
    where = "GPU" if translator.device.type == "cuda" else counted(torch.get_num_threads(), "thread")
    how = counted(settings.n_best, "sample") if settings.sample else f"beam {settings.beam}"
    parts = [translator.precision, where, how]
    if translator.members > 1:
        parts.insert(0, f"{translator.members} models together")
    if translator.shortlist is not None and not settings.sample:
        pieces = translator.tokenizers.tgt.vocab_size
        parts.append(f"shortlist (about {translator.shortlist.candidates:,.0f} of {pieces:,} pieces)")
    return ", ".join(parts)


def counted(count: int, word: str) -> str:
    """ "1 thread", "2 threads"."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def input_lines(given: str | list[str] | None) -> Iterator[str]:
    """Lines of the files given, one after another, or of standard input; missing files are refused at once."""
    if given is None:
        return standard_input()
    names = [given] if isinstance(given, str) else given
    if not names:
        raise ConfigError("input is an empty list; name a file, or leave input out to read standard input")
    for name in names:
        if not Path(name).expanduser().exists():
            raise DataError(f"no file {name}, input={name}; check the path")
    return (line for name in names for line in file_lines(Path(name).expanduser()))


def standard_input() -> Iterator[str]:
    """Lines of standard input."""
    if sys.stdin is None:
        raise DataError("standard input is closed; give it a file, or input=FILE")
    if sys.stdin.isatty():
        print("type sentences; Ctrl-D ends and translates them (nmt interactive answers at once)", file=sys.stderr)
    try:
        yield from decode_lines(sys.stdin.buffer, "standard input")
    except OSError as error:
        raise DataError(f"cannot read standard input ({error.strerror}); give it a file, or input=FILE") from None


def file_lines(path: Path) -> Iterator[str]:
    """Lines of a file, gzip or not, or of a pipe."""
    if path.is_file() or path.is_dir():
        yield from read_lines(path)
        return
    with open(path, "rb") as pipe:
        yield from decode_lines(pipe, str(path))


@contextmanager
def output_file(name: str | None) -> Iterator[IO[str]]:
    """The file of that name, written whole or not at all; None is standard output."""
    path = None if name is None else Path(name).expanduser().resolve()
    beside = path
    if path is not None and (path.is_file() or not path.exists()):  # not a pipe or a device
        beside = draft(path)
    mode = "w" if beside == path else "x"
    try:
        with standard_output() if beside is None else open(beside, mode, encoding="utf-8", newline="\n") as file:
            yield file
        if path is not None and beside is not None and beside != path:
            beside.replace(path)
    except BrokenPipeError:
        raise
    except OSError as error:
        shown = "standard output" if name is None else name
        raise DataError(f"cannot write {shown} ({error.strerror}); choose another output=") from None
    finally:
        if beside is not None and beside != path:
            with suppress(OSError):
                beside.unlink()


@contextmanager
def standard_output() -> Iterator[IO[str]]:
    """Standard output as UTF-8 with LF; one that refuses is let go, so that Python's exit is quiet."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    try:
        yield sys.stdout
    except BrokenPipeError:
        raise
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def as_json(translation: Translation, n_best: bool, alignments: bool) -> str:
    """One JSON object on one line, for every reader's idea of a line."""
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
