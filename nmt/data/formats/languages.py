"""Which language tags of a file match data.src_lang=en: en, en-US, EN_us, eng, English."""

import re
from functools import cached_property, lru_cache

import langcodes

from nmt.config.languages import language_names, without_remark

# Codes under which files have what users call by the code of the macrolanguage (ISO 639-3), such as Tatoeba's cmn.
MEMBERS = {
    **{"cmn": "zh", "arb": "ar", "pes": "fa", "zsm": "ms", "lvs": "lv", "ekk": "et", "swh": "sw", "uzn": "uz"},
    **{"azj": "az", "khk": "mn", "plt": "mg", "als": "sq", "npi": "ne", "ory": "or", "nb": "no"},
}
EXACT = 1000  # fit of the wanted tag itself; the fit of a more specific tag is the wanted tag's length


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
        return len(self._tag) if found.startswith(f"{self._tag}-") else 0

    @cached_property
    def name(self) -> str:
        """The language's English name, with the code if that says more."""
        primary, _, rest = self._tag.partition("-")
        name = next((name.title() for name, code in language_names().items() if code == primary), primary)
        return f"{name} ({self.code})" if rest else name


def standard_tag(tag: str) -> str:
    """The tag in lower case with the shortest code, without encoding and variant: de-at for deu_AT.UTF-8@euro.

    An English name becomes its code: de for German (Germany), en-us for English US. So does the main member of a
    macrolanguage: zh for cmn.
    """
    tag = re.split("[.@]", without_remark(tag).lower())[0].replace("_", "-")
    if named := re.fullmatch(r"(\w{4,}) ([a-z]{2})", tag):  # MultiTerm: English US
        tag = "-".join(named.groups())
    primary, hyphen, rest = tag.partition("-")
    if len(primary) > 3:
        primary = language_names().get(primary, primary)
    elif re.fullmatch("[a-z]{2,3}", primary):
        primary = langcodes.standardize_tag(primary)
    primary = MEMBERS.get(primary, primary)
    return primary + hyphen + rest


def sides_of(
    languages: tuple[str, str], wanted: tuple[WantedLanguage, WantedLanguage]
) -> tuple[int | None, int | None]:
    """For each `wanted` language, the side of the file that is in it: source (0) or target (1); None: no side.

    If the file does not name a side's language, that side may be in either language.
    """

    def fits(language: WantedLanguage, side: int) -> bool:
        return language.fit(languages[side]) > 0

    def may_be(language: WantedLanguage, side: int) -> bool:
        return not languages[side] or fits(language, side)

    for src, tgt in ((0, 1), (1, 0)):
        if may_be(wanted[0], src) and may_be(wanted[1], tgt):
            return src, tgt
    src_side, tgt_side = (
        own if may_be(language, own) else 1 - own if fits(language, 1 - own) else None
        for own, language in enumerate(wanted)
    )
    return src_side, tgt_side
