"""HTML pages, each one file that needs nothing else: no script, no font, no network."""

import re
from collections.abc import Iterator, Mapping

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

# control characters, which HTML cannot hold, and lone surrogates, which UTF-8 cannot hold
UNWRITABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def page(template: str, values: Mapping[str, object]) -> Iterator[str]:
    """Yields a page piece by piece, from a template in `templates/` and its values.

    Values are escaped, except for pictures, which the template marks as `safe`. A value that the template names but
    `values` lacks raises `jinja2.UndefinedError`.
    """
    return _TEMPLATES.get_template(template).generate(values)


def _writable(value: object) -> object:
    """The value; in text, U+FFFD replaces each character that no page can hold."""
    return UNWRITABLE.sub("\ufffd", value) if isinstance(value, str) and not isinstance(value, Markup) else value


_TEMPLATES = Environment(
    loader=PackageLoader("nmt.figures"),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_writable,
    trim_blocks=True,
    lstrip_blocks=True,
)
