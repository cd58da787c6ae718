"""`nmt translate`: one line out for every line in."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import torch

from nmt.alignment import pharaoh, word_attention
from nmt.checkpoint import read_run
from nmt.config import SearchConfig
from nmt.errors import ConfigError, DataError
from nmt.files import decode_lines, read_lines
from nmt.schema import overlay, read_section
from nmt.search import check_search
from nmt.translator import Translation, Translator, with_n_best


def main(config: Mapping[str, Any], typed: Mapping[str, Any]) -> int:
    """Translates standard input or files."""
    if config["format"] not in ("text", "jsonl"):
        raise ConfigError(f"format={config['format']} is not possible; choose text or jsonl")
    if config["buffer"] < 1:
        raise ConfigError(f"buffer is {config['buffer']}; it must be at least 1 line")
    if config["alignments"] and config["format"] == "text":
        raise ConfigError("alignments=true needs format=jsonl: text has no place for them")
    translator = open_model(config, typed)
    settings = with_n_best(translator.settings, config["n_best"])
    check_search(settings)
    lines = input_lines(config["input"])
    translations = translator.stream(lines, config["buffer"], config["alignments"], settings)
    with output_file(config["output"]) as file:
        for translation in translations:
            print(as_json(translation) if config["format"] == "jsonl" else as_text(translation), file=file)
    return 0


def open_model(config: Mapping[str, Any], typed: Mapping[str, Any], key: str = "model") -> Translator:
    """The model named under `key`, with the search settings that were typed in place of the stored ones."""
    if config["threads"] is not None:
        torch.set_num_threads(config["threads"])
    folder = Path(str(config[key])).expanduser()
    stored, _ = read_run(folder)
    settings = read_section(SearchConfig, overlay(stored, typed, ["search"])["search"], "search")
    check_search(settings)
    return Translator.load(folder, settings, config["trust"], config["device"], config["precision"])


def input_lines(given: str | list[str] | None) -> Iterator[str]:
    """Lines of the files given, or of standard input."""
    if given is None:
        yield from decode_lines(sys.stdin.buffer, "standard input")
        return
    for name in [given] if isinstance(given, str) else given:
        path = Path(name).expanduser()
        if not path.is_file():
            raise DataError(f"no file {name}, input={name}; check the path")
        yield from read_lines(path)


class output_file:  # noqa: N801 (used like open)
    """The file of that name, written whole or not at all; standard output for None."""

    def __init__(self, name: str | None) -> None:
        self.path = None if name is None else Path(name).expanduser()

    def __enter__(self) -> IO[str]:
        if self.path is None:
            if isinstance(sys.stdout, Iterable) and hasattr(sys.stdout, "reconfigure"):
                sys.stdout.reconfigure(encoding="utf-8", newline="\n")
            return sys.stdout
        self.beside = self.path.with_name(f".{self.path.name}.writing")
        try:
            self.file = open(self.beside, "w", encoding="utf-8", newline="\n")  # noqa: SIM115
        except OSError as error:
            raise DataError(f"cannot write {self.path} ({error.strerror}); choose another output=") from None
        return self.file

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if self.path is None:
            return
        self.file.close()
        if kind is None:
            self.beside.replace(self.path)
        else:
            self.beside.unlink()


def as_text(translation: Translation) -> str:
    """The translation; with several, each behind its score and a tab."""
    if len(translation.n_best) == 1:
        return translation.text
    return "\n".join(f"{candidate.score:.4f}\t{candidate.text}" for candidate in translation.n_best)


def as_json(translation: Translation) -> str:
    """One JSON object on one line."""
    record: dict[str, Any] = {
        "source": translation.source,
        "translation": translation.text,
        "score": translation.score,
        "log_prob": translation.n_best[0].log_prob,
    }
    if len(translation.n_best) > 1:
        record["n_best"] = [vars(candidate) for candidate in translation.n_best]
    if translation.attention is not None:
        _, src, tgt = word_attention(translation.attention, translation.src_pieces, translation.tgt_pieces)
        record |= {"alignment": pharaoh(translation.alignment), "src_words": src, "tgt_words": tgt}
    return json.dumps(record, ensure_ascii=False)
