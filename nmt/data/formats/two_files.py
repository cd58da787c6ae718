"""Segments of two files, one for each language."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from nmt.config.languages import language_of
from nmt.config.sections import DataConfig
from nmt.data.formats.languages import WantedLanguage, standard_tag
from nmt.data.formats.segment_file import SegmentFile
from nmt.errors import DataError, printable


class TwoFiles(SegmentFile):
    """A file of the source language and its translation."""

    has_sides: ClassVar[bool] = True

    def __init__(self, paths: Sequence[Path], src: WantedLanguage, tgt: WantedLanguage, data: DataConfig) -> None:
        super().__init__(paths[0], src, tgt)
        self._tgt_path = paths[1]
        self._encoding = data.encoding
        self._languages = data.src_lang, data.tgt_lang

    @classmethod
    def of(cls, data: DataConfig, paths: Sequence[Path], src: WantedLanguage, tgt: WantedLanguage) -> "TwoFiles":
        """Their encoding may be configured, and their languages need not be."""
        return cls(paths, src, tgt, data)

    def _refuse_other_language(self, side: int, found: str | None) -> None:
        """Refuses a file that names another language than the configuration."""
        wanted = self._languages[side]
        if wanted is None or found is None or language_of(found) is None:
            return
        if standard_tag(found).split("-")[0] == standard_tag(wanted).split("-")[0]:
            return
        path, key = ((self.path, "data.src_lang"), (self._tgt_path, "data.tgt_lang"))[side]
        raise DataError(f"{path} is in {printable(found)[:40]}, but {key}={wanted}; name another file, or set {key}")
