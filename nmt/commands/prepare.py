"""`nmt prepare`: tokenizer and encoded corpus, cached."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmt.config.check import read_section
from nmt.config.sections import DataConfig, TokenizerConfig
from nmt.data.prepare import _fill


def main(config: Mapping[str, Any], typed: Mapping[str, Any]) -> int:
    """`nmt prepare`: fills the cache and prints what was read, dropped and made."""
    data = read_section(DataConfig, config["data"], "data")
    tokenizer = read_section(TokenizerConfig, config["tokenizer"], "tokenizer")
    cache_dir = Path(config["cache_dir"])
    _, _, report, _ = _fill(data, tokenizer, cache_dir, None)
    print(*report, f"cached in {cache_dir.expanduser()}", sep="\n")
    return 0
