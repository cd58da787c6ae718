"""What files with a key for each text have: the strings of an app in one language."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nmt.data.formats.icu import forms_of
from nmt.data.formats.segment import State, Text

QUANTITIES = ("zero", "one", "two", "few", "many", "other")  # CLDR's names of the forms of a plural
# CLDR's form for 100, where it is not "other": https://www.unicode.org/cldr/charts/latest/supplemental/language_plural_rules.html
SEVERAL = dict.fromkeys(("be", "pl", "ru", "uk"), "many") | {"lv": "zero"}

Form = tuple[str, ...]  # of a plural or another choice, such as ("one",); none for most texts


class Place(NamedTuple):
    """Where a text is in its file; the same for texts that translate each other."""

    key: str
    form: Form = ()


class Keyed(NamedTuple):
    """A text with a place."""

    text: Text
    state: State | None = None


class Strings(NamedTuple):
    """The texts of a file."""

    language: str | None  # that the file itself names
    texts: dict[Place, Keyed]


def joined_halves(text: str) -> str:
    """The text with each surrogate pair, as two escapes make it, as one character."""
    if not any("\ud800" <= char <= "\udfff" for char in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def keyed_forms(key: str, message: str) -> Iterator[tuple[Place, Keyed]]:
    """The text of a message, or each of its forms; one unreadable text if its choices are not well-formed."""
    message = joined_halves(message)
    forms = forms_of(message)
    if forms is None:
        yield Place(key), Keyed((message,), "unreadable")
        return
    for form, text in forms.items():
        yield Place(key, form), Keyed((text,))


def counterparts(
    sources: Mapping[Place, Keyed], targets: Mapping[Place, Keyed], languages: tuple[str, str]
) -> Iterator[tuple[Place, Place | None]]:
    """Each place of the sources, with the place of its translation; None: nothing translates it.

    A language may have more forms of a plural than another, or fewer. The form for one is paired with that for one, and
    the general form with that for a hundred. Where the translation has no form for one, it is the general form.
    """
    forms = [_forms_by_key(sources), _forms_by_key(targets)]
    for place in sources:
        own, others = (side.get(place.key, []) for side in forms)
        form = _form_of(place.form, own, others, languages)
        yield place, Place(place.key, form) if form in others else None


def _forms_by_key(places: Mapping[Place, Keyed]) -> dict[str, list[Form]]:
    found: dict[str, list[Form]] = {}
    for key, form in places:
        found.setdefault(key, []).append(form)
    return found


def _form_of(form: Form, own: list[Form], others: list[Form], languages: tuple[str, str]) -> Form | None:
    """The form of the translation, choice by choice; `own` and `others`: all forms of this text in both languages."""
    found = []
    for at, name in enumerate(form):
        names = [dict.fromkeys(each[at] for each in side if at < len(each)) for side in (own, others)]
        general, one = (
            [_first(order, there) for order, there in zip(orders, names, strict=True)]
            for orders in (
                [(SEVERAL.get(language, "other"), "other", "many") for language in languages],
                [("one", "=1")] * 2,
            )
        )
        if name == general[0]:
            found.append(general[1])
        elif name == one[0]:
            found.append(one[1] or general[1])
        else:
            found.append(name if name not in (general[1], one[1]) else None)
    return None if None in found else tuple(name for name in found if name is not None)


def _first(order: tuple[str, ...], there: Mapping[str, None]) -> str | None:
    return next((name for name in order if name in there), None)
