"""A typed key that the corpus's format has no use for is refused, and nothing else."""

import pytest

from nmt.config.changes import NO_CHANGES, Changes
from nmt.config.compose import command_of
from nmt.config.sections import DataConfig
from nmt.config.unread import READ_BY, refuse_unread
from nmt.errors import ConfigError

FILES = {
    "text": ["data.train.src=a", "data.train.tgt=b"],
    **{format_: ["data.train.files=a"] for format_ in ("csv", "tmx", "auto", "glossary")},
}


@pytest.mark.parametrize(
    ("format_", "word", "formats"),
    [
        ("text", "data.src_column=0", "csv, tsv, xlsx, jsonl, parquet, hub"),
        ("tmx", "data.tgt_column=de", "csv, tsv, xlsx, jsonl, parquet, hub"),
        ("tmx", "data.delimiter=tab", "csv, tsv"),
        ("text", "data.encoding=cp1252", "csv, tsv, strings, subtitles"),
        ("csv", "data.inline=keep", "tmx, xliff, strings"),
        ("auto", "data.hub=a/b", "hub"),
        ("glossary", "data.hub_config=en-de", "hub"),
    ],
)
@pytest.mark.parametrize("verb", ["train", "prepare", "clean"])
def test_what_a_format_does_not_read_is_refused(verb: str, format_: str, word: str, formats: str) -> None:
    key, value = word.split("=")
    words = [
        f"data={format_}",
        *FILES[format_],
        word,
        "data.src_lang=en",
        "data.tgt_lang=de",
        *(["output=x"] if verb == "clean" else []),
    ]
    message = rf"^{key}={value} is for {formats}, and data\.format is {format_}; leave it out, or name another data=$"
    with pytest.raises(ConfigError, match=message):
        command_of(verb, words)


@pytest.mark.parametrize(
    ("format_", "words"),
    [
        ("csv", ["data.src_column=0", "data.tgt_column=1", "data.delimiter=tab", "data.header=false"]),
        ("tmx", ["data.inline=keep"]),
        ("text", ["data.src_column=null"]),
        ("text", ["data.inline=strip"]),
    ],
)
def test_what_it_reads_is_taken(format_: str, words: list[str]) -> None:
    data: DataConfig = command_of("train", [f"data={format_}", *FILES[format_], *words]).run.data
    assert data.format == format_


@pytest.mark.slow
def test_auto_may_hold_any_format() -> None:
    command_of("train", ["data.train.files=a", "data.src_column=0", "data.inline=keep", "data.encoding=cp1252"])


def test_what_nobody_typed_is_never_refused() -> None:
    data = command_of("train", ["data=text", *FILES["text"]]).run.data
    refuse_unread(data, NO_CHANGES)
    for key in READ_BY:
        refuse_unread(data, Changes({f"data.{key}": None}))
