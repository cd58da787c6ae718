"""Test sets that sacreBLEU knows by name."""

import hashlib
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
        archives = _archives(name)
        url, archive, _ = next((item for item in archives if not item[1].exists()), archives[0])
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


def _archives(name: str) -> list[tuple[str, Path, str]]:
    """The archives that sacreBLEU downloads for a test set: address, place on this machine, and MD5 sum of each."""
    folder = Path(sacrebleu.utils.SACREBLEU_DIR, name, "raw")
    prefix = name.replace("/", "_")
    urls, sums = DATASETS[name].data or [], DATASETS[name].md5 or []
    return [(url, folder / f"{prefix}.{os.path.basename(url)}", md5) for url, md5 in zip(urls, sums, strict=True)]


def _files(name: str, pair: str) -> list[str]:
    try:
        return [sacrebleu.utils.get_source_file(name, pair), *sacrebleu.utils.get_reference_files(name, pair)]
    except (FileNotFoundError, SystemExit):  # sacreBLEU unpacks only what it has just downloaded whole
        for url, archive, md5 in _archives(name):
            _unpack(name, url, archive, md5)
        return [sacrebleu.utils.get_source_file(name, pair), *sacrebleu.utils.get_reference_files(name, pair)]


def _unpack(name: str, url: str, archive: Path, md5: str) -> None:
    """Unpacks an archive that was put in place by hand; refuses one that is not whole."""
    if (found := hashlib.md5(archive.read_bytes()).hexdigest()) != md5:
        raise DataError(
            f"{archive} is damaged or another file (its MD5 sum is {found}, not {md5}), test_set={name}; "
            f"delete it and try again, or put {url} in its place"
        )
    if archive.suffix == ".zip":
        shutil.unpack_archive(archive, archive.parent)
    elif archive.name.endswith((".tgz", ".tar.gz")):  # sacreBLEU reads any other file as it is
        shutil.unpack_archive(archive, archive.parent, filter="data")


def _lines(file: str) -> list[str]:
    with open(file, encoding="utf-8", newline="\n") as stream:
        return [line.rstrip() for line in stream]
