"""Pages: any text comes out as text, and a value that is missing is never an empty place."""

from html.parser import HTMLParser

import pytest
from jinja2 import UndefinedError

from nmt.figures.page import page

VALUES = {"model": "runs/first", "picked": [], "given": False, "lines": [], "svg_text": str}


class Page(HTMLParser):
    """Text under each kind of tag."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tag = ""
        self.found: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tag = tag

    def handle_data(self, data: str) -> None:
        self.found[self.tag] = self.found.get(self.tag, "") + data


@pytest.mark.parametrize(
    ("odd", "shown"),
    [
        ("<b>&amp;</b> \"狗\" 'x' {{ 7 * 7 }} {% raw %}", None),
        ("</title><script>", None),
        ("\0a\x1b[1m\x7f\x85", "\ufffda\ufffd[1m\ufffd\ufffd"),
        ("caf\udce9", "caf\ufffd"),  # a file name that is no UTF-8
    ],
)
def test_odd_text_is_shown_as_text(odd: str, shown: str | None) -> None:
    written = "".join(page("attention.html", VALUES | {"model": odd}))
    found = Page(written.encode().decode()).found
    assert found["title"].strip() == found["h1"].strip() == f"Attention of {odd if shown is None else shown}"


@pytest.mark.parametrize("name", VALUES)
def test_a_missing_value_is_an_error(name: str) -> None:
    line = {"number": 1, "translation": {"source": "a", "text": "b"}, "missing": None, "pictures": [("heads", None)]}
    values = VALUES | {"lines": [line]}
    del values[name]
    with pytest.raises(UndefinedError, match=name):
        "".join(page("attention.html", values))
