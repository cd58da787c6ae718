"""What files with a key for each text have: the strings of an app in one language."""

from typing import NamedTuple

from nmt.data.formats.segment import Text

QUANTITIES = ("zero", "one", "two", "few", "many", "other")  # CLDR's names of the forms of a plural
# CLDR's form for 100, where it is not "other": https://www.unicode.org/cldr/charts/latest/supplemental/language_plural_rules.html
SEVERAL = dict.fromkeys(("be", "pl", "ru", "uk"), "many")


class Place(NamedTuple):
    """Where a text is in its file; the same for texts that translate each other."""

    key: str
    form: tuple[str, ...] = ()  # of a plural or another choice, such as ("one",); none for most texts


class Keyed(NamedTuple):
    """A text with a place."""

    text: Text
    is_exempt: bool = False  # should nobody translate it?


class Strings(NamedTuple):
    """The texts of a file."""

    language: str | None  # that the file itself names
    texts: dict[Place, Keyed]


def joined_halves(text: str) -> str:
    """The text with each surrogate pair, as two escapes make it, as one character."""
    if not any("\ud800" <= char <= "\udfff" for char in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def counterpart(place: Place, texts: dict[Place, Keyed], language: str | None) -> Place | None:
    """The place of the translation among the texts of a `language`; None: it is not there.

    A language may have more forms of a plural than another, or fewer. The form for one is paired with that for one,
    and the general form with that for a hundred. Where the translation has no form for one, it is the general form.
    """
    key, form = place
    if len(form) != 1 or form[0] not in ("=1", "one", "other"):
        return place if place in texts else None
    general = (SEVERAL.get(language or "", "other"), "other")
    wanted = general if form[0] == "other" else (form[0], "one", "=1", *general)
    return next((found for name in wanted if (found := Place(key, (name,))) in texts), None)
