"""Cuts HTML and XML into tags and texts. The tokens, joined, are the document again, character for character."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal


@dataclass(frozen=True)
class Token:
    """A piece of a document. The names of HTML tags are in lower case.

    other: a comment, a declaration, an instruction, a tag that does not end before the document does, or the content of
    an element that holds no markup (a script).
    """

    kind: Literal["text", "start", "end", "empty", "other"]
    raw: str
    name: str = ""


VOID = frozenset("area base basefont bgsound br col embed frame hr img input link meta param source track wbr".split())
RAW_TEXT = frozenset("script style textarea xmp iframe noembed noframes plaintext".split())  # no tags inside
ONLY_TEXT = frozenset(["title"])  # no tags inside, but text for people

# The rules of HTML's tokenizer. Possessive quantifiers (++, *+) never go back. Once a tag has a name, only ">" or the
# end of the document ends it. In the latter case the rest of the document is one token, so that nothing is read twice.
_VALUE = r"""(?:"[^"]*+"|'[^']*+'|(?!["'])[^\s>]*+)"""
_ATTRIBUTE = rf"=?[^\s/>=]++(?:\s*+=\s*+{_VALUE})?+"
_TAG = re.compile(rf"<(/?)([a-zA-Z][^\s/>]*+)(?:[\s/]++|{_ATTRIBUTE}|=)*+(>?)")
_XML_TAG = re.compile(rf"<(/?)([^\W\d][^\s/>]*+)(?:[\s/]++|{_ATTRIBUTE}|=)*+(>?)")
_COMMENT_END = re.compile("--!?>")
_ATTRIBUTES = re.compile(rf"(=?[^\s/>=]++)(?:\s*+=\s*+({_VALUE}))?+")


def tokens(document: str, xml: bool) -> Iterator[Token]:
    """The document's pieces in order. No document is malformed: everything that is not markup is text."""
    begin = place = 0
    last = document.rfind(">")
    while (place := document.find("<", place)) >= 0:
        token = _markup_at(document, place, last, xml)
        if token is None:
            place += 1
            continue
        if begin < place:
            yield Token("text", document[begin:place])
        yield token
        begin = place = place + len(token.raw)
        if not xml and token.kind == "start" and token.name in RAW_TEXT | ONLY_TEXT:
            ends = None if token.name == "plaintext" else _end_tag(token.name).search(document, begin)
            place = len(document) if ends is None else ends.start()
            if begin < place:
                yield Token("text" if token.name in ONLY_TEXT else "other", document[begin:place])
            begin = place
    if begin < len(document):
        yield Token("text", document[begin:])


def attributes(token: Token) -> dict[str, str]:
    """The attributes of a start tag: names in lower case, values as written, without their quotes."""
    found: dict[str, str] = {}
    for name, value in _ATTRIBUTES.findall(token.raw[1 + len(token.name) : -1]):
        found.setdefault(name.lower(), value[1:-1] if value[:1] in ('"', "'") else value)
    return found


def _markup_at(document: str, place: int, last: int, xml: bool) -> Token | None:
    """The tag, comment, … that begins at `place`; None: the character is text. `last`: where the last tag ends."""
    if document.startswith("<!--", place):
        return Token("other", document[place : _comment_end(document, place)])
    if xml and document.startswith("<![CDATA[", place):
        return Token("other", _through(document, place, "]]>"))
    if xml and document.startswith("<?", place):
        return Token("other", _through(document, place, "?>"))
    if document.startswith(("<!", "<?"), place):
        return Token("other", _through(document, place, ">"))
    if place > last:
        return None
    tag = (_XML_TAG if xml else _TAG).match(document, place)
    if tag is None:
        return Token("other", _through(document, place, ">")) if document.startswith("</", place) else None
    if not tag[3]:
        return Token("other", tag[0])
    name = tag[2] if xml else tag[2].lower()
    if tag[1]:
        return Token("end", tag[0], name)
    empty = tag[0].endswith("/>") or (not xml and name in VOID)
    return Token("empty" if empty else "start", tag[0], name)


def _through(document: str, place: int, end: str) -> str:
    """The text from `place` through the end mark, or to the end of the document."""
    found = document.find(end, place + 2)
    return document[place:] if found < 0 else document[place : found + len(end)]


def _comment_end(document: str, place: int) -> int:
    for start in (place + 2, place + 3):  # <!--> and <!---> are whole
        if document.startswith("-->", start):
            return start + 3
    found = _COMMENT_END.search(document, place + 4)
    return len(document) if found is None else found.end()


@cache
def _end_tag(name: str) -> re.Pattern[str]:
    return re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)
