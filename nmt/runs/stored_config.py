"""The configurations that run folders hold: plain YAML, read so that nothing in it is executed or takes memory."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from nmt.config.run import RunConfig, read_run_config
from nmt.errors import CheckpointError, ConfigError

CONFIG_BYTES = 2**20  # of a configuration, at most
VALUES = 10_000  # keys, values and brackets of a configuration, at most
DEPTH = 50  # of sections and lists within each other
NUMBER = 400  # characters of a number
UNQUOTED = {f"tag:yaml.org,2002:{kind}" for kind in ("int", "float", "timestamp")}
MERGE = "tag:yaml.org,2002:merge"


class _Dumper(yaml.SafeDumper):
    """Writes a list that stands in two places twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def config_bytes(config: RunConfig) -> bytes:
    """Content of the file."""
    text: str = yaml.dump(config.plain(), Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return text.encode()


def read_config(path: Path, content: bytes, trust: Sequence[str] | None) -> RunConfig:
    """What `config_bytes` wrote; `trust` as for `read_part`."""
    try:
        _refuse_odd_yaml(path, content)
        config = yaml.safe_load(content)
    except (yaml.YAMLError, ValueError, RecursionError):  # ValueError: bad bytes, dates that are none, endless numbers
        raise CheckpointError(f"{path} is no plain YAML, so nmt did not write it; restore it from a copy") from None
    _refuse_foreign(path, config)
    if not isinstance(config, dict):
        raise CheckpointError(f"{path} has no keys, so nmt did not write it; restore it from a copy")
    try:
        return read_run_config(config, trust)
    except ConfigError as error:
        what = str(error).partition("; ")[0]
        raise CheckpointError(
            f"{path}: {what}, so this nmt did not write it; restore it from a copy, or use the nmt that wrote it"
        ) from None


def _refuse_odd_yaml(path: Path, content: bytes) -> None:
    """Refuses, before any of it is built, what nmt never writes and what is small as text alone."""
    loader = yaml.SafeLoader(content)
    left, depth = VALUES, 0
    while (event := loader.get_event()) is not None:  # type: ignore[no-untyped-call]
        left -= 1
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        odd = None
        if left < 0:
            odd = f"more than {VALUES:,} values"
        elif depth > DEPTH:
            odd = f"lists or sections {DEPTH} deep"
        elif getattr(event, "anchor", None) is not None:
            odd = f"the name &{event.anchor:.60}"
        elif getattr(event, "tag", None) is not None:
            odd = f"the tag {event.tag:.60}"
        elif isinstance(event, yaml.ScalarEvent) and event.implicit[0]:
            kind = loader.resolve(yaml.ScalarNode, event.value, (True, False))  # type: ignore[no-untyped-call]
            if kind == MERGE:
                odd = "the key <<"
            elif kind in UNQUOTED and len(event.value) > NUMBER:
                odd = f"a number of {len(event.value):,} characters"
        if odd is not None:
            line = event.start_mark.line + 1
            raise CheckpointError(f"{path} has {odd} in line {line}, which nmt never writes; do not use it")


def _refuse_foreign(path: Path, config: Any) -> None:
    """Refuses what nmt never writes: other keys than words, references to be resolved, values that are no data."""
    waiting = [config]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            waiting += node.values()
            for key in node:
                if not isinstance(key, str) or key.startswith("_"):
                    raise CheckpointError(f"{path} has the key {key!r:.60}, which nmt never writes; do not use it")
        elif isinstance(node, list):
            waiting += node
        elif isinstance(node, str) and "${" in node:
            raise CheckpointError(f"{path} holds {node!r:.60}, a reference that nmt never writes; do not use it")
        elif not isinstance(node, str | int | float | None):
            raise CheckpointError(f"{path} holds {node!r:.60}, which nmt never writes; do not use it")
