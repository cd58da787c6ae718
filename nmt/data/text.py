"""Cleans sentences and normalises Unicode, in time that grows only with the length of the text, whatever it is."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from nmt.config.sections import DataConfig
from nmt.data.plain import plain

_RUN = re.compile("[^\x00-\u02ff]{1000,}")  # long runs of characters that may be marks


def normalize(form: Literal["NFC", "NFKC"], text: str) -> str:
    """The normal form as `unicodedata.normalize` gives it, but never in quadratic time.

    unicodedata sorts the marks of a letter in time quadratic in their number. Long runs are therefore sorted first.
    """
    return unicodedata.normalize(form, _RUN.sub(lambda run: _in_order(run[0], form), text))


def _in_order(text: str, form: Literal["NFC", "NFKC"]) -> str:
    """The decomposed text, with the marks of each letter in canonical order."""
    whole: Literal["NFD", "NFKD"] = "NFD" if form == "NFC" else "NFKD"
    decomposed = "".join(unicodedata.normalize(whole, char) for char in text)
    groups = groupby(decomposed, lambda char: unicodedata.combining(char) > 0)
    return "".join("".join(sorted(run, key=unicodedata.combining) if marks else run) for marks, run in groups)


INVISIBLE = r"\s\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff"  # for use inside brackets
_VISIBLE = re.compile(f"[^{INVISIBLE}]")
_BREAKS = re.compile("[\t-\r\x1c-\x1e\x85\u2028\u2029]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def clean(text: str, nfc: bool) -> str:
    """A sentence as every part of nmt sees it: tabs and line breaks become spaces, both ends are stripped.

    Half of a surrogate pair, which no UTF-8 file can hold, becomes U+FFFD.
    """
    if not text.isprintable():  # as almost all text is: it has no line breaks, and no halves of pairs
        text = _SURROGATES.sub("\ufffd", _BREAKS.sub(" ", text))
    text = text.strip()
    return normalize("NFC", text) if nfc and not text.isascii() else text


@dataclass(frozen=True)
class Cleaning:
    """Cleans sentences for the model, the same way in training and in translation."""

    nfc: bool
    plain_source: bool

    @classmethod
    def of(cls, data: DataConfig) -> Cleaning:
        return cls(data.nfc, data.plain_source)

    def source(self, text: str) -> str:
        """A source as the model reads it."""
        return clean(plain(text) if self.plain_source else text, self.nfc)

    def target(self, text: str) -> str:
        """A target as the model learns to write it."""
        return clean(text, self.nfc)


def one_line(text: str) -> str:
    """The text on one line, with spaces for line ends of every kind."""
    return " ".join(text.splitlines())


def is_visible(text: str) -> bool:
    """Does the text have a visible character?"""
    return text[:1].isalnum() or _VISIBLE.search(text) is not None
