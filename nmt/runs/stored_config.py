"""The configuration in a run folder: plain JSON; nothing in it is executed or resolved."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nmt.config.run import RunConfig, read_run_config
from nmt.errors import CheckpointError, ConfigError

CONFIG_BYTES = 2**20  # size limit of a configuration
DEPTH = 50  # deepest nesting of sections and lists
LARGEST_FLOAT = 1e300  # largest absolute value of a number


def config_bytes(config: RunConfig) -> bytes:
    """The content of the file; refuses a configuration that `read_config` would not accept."""
    plain = config.plain()
    if (odd := _foreign(plain)) is not None:
        raise ConfigError(f"the configuration {odd}, which a run folder cannot store; change or remove it")
    text = json.dumps(plain, indent=1, ensure_ascii=False)
    return text.encode(errors="backslashreplace")  # a lone surrogate, as in odd file names, becomes JSON's escape


def read_config(path: Path, content: bytes, trust: Sequence[str] | None) -> RunConfig:
    """The configuration that `config_bytes` wrote; `trust` as for `read_part`."""
    try:
        config = json.loads(content.decode(), object_pairs_hook=_section)
    except (ValueError, RecursionError):  # ValueError: bad UTF-8 or JSON, integers with too many digits
        raise CheckpointError(f"{path} is not JSON as nmt writes it; restore it from a copy") from None
    if (odd := _foreign(config)) is not None:
        raise CheckpointError(f"{path} {odd}, which nmt never writes; do not use this file")
    if not isinstance(config, dict):
        raise CheckpointError(f"{path} has no keys, so nmt did not write it; restore it from a copy")
    try:
        return read_run_config(config, trust)
    except ConfigError as error:
        what = str(error).partition("; ")[0]
        raise CheckpointError(
            f"{path}: {what}, so this nmt did not write it; restore it from a copy, or use the nmt that wrote it"
        ) from None


def _section(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A section as a dict; ValueError if a key occurs twice."""
    section = dict(pairs)
    if len(section) < len(pairs):
        raise ValueError("a key occurs twice")
    return section


def _foreign(config: Any) -> str | None:
    """What nmt never stores: an odd key, a reference `${…}`, a huge or non-finite number, too deep nesting; or None."""
    waiting = [(config, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > DEPTH:
            return f"has lists or sections more than {DEPTH} deep"
        if isinstance(node, Mapping):
            waiting += [(value, depth + 1) for value in node.values()]
            for key in node:
                if not isinstance(key, str) or key.startswith("_"):
                    return f"has the key {key!r:.60}"
        elif isinstance(node, list):
            waiting += [(value, depth + 1) for value in node]
        elif isinstance(node, str) and "${" in node:
            return f"holds {node!r:.60}, a reference"
        elif isinstance(node, int | float) and not abs(node) <= LARGEST_FLOAT:
            return f"holds the number {node!r:.60}"
    return None
