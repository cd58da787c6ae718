"""Which language tags of a file are meant by data.src_lang=en: en, en-US, EN_us, eng, English."""

from functools import lru_cache

import langcodes

from nmt.config.languages import language_names

NONE, WITHIN, EXACT = range(3)  # how well a tag fits


class WantedLanguage:
    """A language that a user asks for, and how well the tags of a file fit it."""

    def __init__(self, code: str) -> None:
        self.code = code
        self._tag = standard_tag(code)
        self.fit = lru_cache(maxsize=1000)(self._fit)

    def _fit(self, tag: str) -> int:
        found = standard_tag(tag)
        if found == self._tag:
            return EXACT
        return WITHIN if found.startswith(f"{self._tag}-") else NONE

    def __str__(self) -> str:
        """Its English name."""
        primary, _, rest = self._tag.partition("-")
        name = next((name.title() for name, code in language_names().items() if code == primary), primary)
        return f"{name} ({self.code})" if rest else name


def standard_tag(tag: str) -> str:
    """In small letters with the shortest code; an English name counts as its code."""
    tag = tag.strip().replace("_", "-")
    name = language_names().get(tag.lower())
    if name is not None and len(tag) > 3:
        return name
    try:
        return langcodes.standardize_tag(tag).lower()
    except ValueError:
        return tag.lower()
