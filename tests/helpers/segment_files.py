"""Files of segments (TMX, XLIFF, PO) as the training split of a corpus, English to German."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.small_corpora import data_config
from nmt.config.sections import SplitConfig
from nmt.data.readers import Split, find_split
from nmt.errors import DataError, NmtError


class SegmentFiles:
    """Files of one format, all with one name."""

    def __init__(self, data_format: str, name: str) -> None:
        self.data = replace(data_config(data_format), src_lang="en", tgt_lang="de")
        self.name = name

    def split(self, folder: Path, content: str | bytes, **changes: Any) -> Split:
        """The split whose only file has this content; `changes` to the section data."""
        path = folder / self.name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        data = replace(self.data, **({"train": SplitConfig(None, None, str(path))} | changes))
        found = find_split(data, "train", folder)
        assert found is not None
        return found

    def pairs(self, folder: Path, content: str | bytes, **changes: Any) -> list[tuple[str, str]]:
        """Its pairs."""
        pairs: Iterator[tuple[str, str]] = self.split(folder, content, **changes).pairs()
        return list(pairs)

    def refusal(self, folder: Path, content: str | bytes, kind: type[NmtError] = DataError, **changes: Any) -> str:
        """The one line, with a remedy, that says why it cannot be read."""
        with pytest.raises(kind) as error:
            self.pairs(folder, content, **changes)
        text = str(error.value)
        assert "\n" not in text
        assert "; " in text
        return text
