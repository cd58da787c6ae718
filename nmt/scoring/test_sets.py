"""Test sets that sacreBLEU knows by name."""

import os
import shutil
from http.client import HTTPException
from pathlib import Path

import sacrebleu.utils
from sacrebleu.dataset import DATASETS

from nmt.errors import ConfigError, DataError, nearest


def named_test_set(name: str, src_lang: str | None, tgt_lang: str | None) -> tuple[list[str], list[list[str]]]:
    """Source lines, and the lines of every reference; downloaded on first use.

    The files are kept where sacreBLEU keeps them: the folder in $SACREBLEU, else ~/.sacrebleu.
    """
    if name not in DATASETS:
        raise ConfigError(f"unknown test set '{name}', test_set={name}; {nearest(name, DATASETS)}")
    pair = f"{src_lang}-{tgt_lang}"
    pairs = DATASETS[name].langpairs
    if pair not in pairs:
        raise ConfigError(
            f"no language pair '{pair}' (data.src_lang, data.tgt_lang), test_set={name}; {nearest(pair, pairs)}"
        )
    try:
        source, *references = [_lines(file) for file in _files(name, pair)]
    except (OSError, HTTPException, SystemExit) as error:
        url, archive = next((item for item in _archives(name) if not item[1].exists()), _archives(name)[0])
        reason = " ".join(str(getattr(error, "reason", error)).split())
        raise DataError(
            f"test set '{name}' cannot be fetched ({reason}), test_set={name}; "
            f"download {url} and put it in place as {archive}"
        ) from error
    if any(len(reference) != len(source) for reference in references):
        counts = " and ".join(f"{len(lines):,}" for lines in (source, *references))
        raise DataError(
            f"source and references have {counts} lines, test_set={name}; "
            f"delete {Path(sacrebleu.utils.SACREBLEU_DIR, name)} and try again"
        )
    return source, references


def _archives(name: str) -> list[tuple[str, Path]]:
    """The archives that sacreBLEU downloads for a test set: their addresses, and where it puts (or finds) them."""
    folder = Path(sacrebleu.utils.SACREBLEU_DIR, name, "raw")
    prefix = name.replace("/", "_")
    return [(url, folder / f"{prefix}.{os.path.basename(url)}") for url in DATASETS[name].data or []]


def _files(name: str, pair: str) -> list[str]:
    try:
        return [sacrebleu.utils.get_source_file(name, pair), *sacrebleu.utils.get_reference_files(name, pair)]
    except FileNotFoundError:  # an archive put in place by hand: sacreBLEU unpacks only what it downloads itself
        for _, archive in _archives(name):
            shutil.unpack_archive(archive, archive.parent, filter="data")
        return [sacrebleu.utils.get_source_file(name, pair), *sacrebleu.utils.get_reference_files(name, pair)]


def _lines(file: str) -> list[str]:
    with open(file, encoding="utf-8", newline="\n") as stream:
        return [line.rstrip() for line in stream]
