"""Refuses data keys that the format of the corpus does not read: they would change nothing, and nobody would notice."""

from nmt.config.changes import Changes
from nmt.config.sections import DataConfig
from nmt.errors import ConfigError

TABLES = ("csv", "tsv", "xlsx", "jsonl", "parquet", "hub")
CHARACTERS = ("csv", "tsv")
HUB = ("hub",)
DEFAULTS = (None, "strip")  # without effect even if typed: files without inline codes have none to strip
READ_BY = {  # key of the section data -> the formats that read it
    "src_column": TABLES,
    "tgt_column": TABLES,
    "inline": ("tmx", "xliff", "strings"),
    "delimiter": CHARACTERS,
    "quotes": CHARACTERS,
    "encoding": (*CHARACTERS, "strings", "subtitles"),
    "header": (*CHARACTERS, "xlsx"),
    "hub": HUB,
    "hub_config": HUB,
    "hub_revision": HUB,
}


def refuse_unread(data: DataConfig, typed: Changes) -> None:
    """Refuses a typed value that files of this format have no use for; auto and glossary read files of any format."""
    for key, formats in READ_BY.items():
        value = typed.values.get(f"data.{key}")
        readers = formats if formats == HUB else (*formats, "auto", "glossary")
        if value not in DEFAULTS and data.format not in readers:
            raise ConfigError(
                f"data.{key}={value} is for {', '.join(formats)}, and data.format is {data.format}; leave it out, or "
                "name another data="
            )
