"""HTML pages, each one file that needs nothing else: no script, no font, no network."""

import re
from collections.abc import Iterator, Mapping

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

# control characters, which HTML cannot hold, and halves of surrogate pairs, which UTF-8 cannot
UNWRITABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def page(template: str, values: Mapping[str, object]) -> Iterator[str]:
    """The file, piece by piece, of a template in `templates/`.

    A value is escaped; only a picture, marked `safe` in the template, goes in as it is. A template that names a value
    that is not there raises `jinja2.UndefinedError`.
    """
    return _TEMPLATES.get_template(template).generate(values)


def _writable(value: object) -> object:
    """Text with a sign in place of what no page can hold."""
    return UNWRITABLE.sub("\ufffd", value) if isinstance(value, str) and not isinstance(value, Markup) else value


_TEMPLATES = Environment(
    loader=PackageLoader("nmt.figures"),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_writable,
    trim_blocks=True,
    lstrip_blocks=True,
)
