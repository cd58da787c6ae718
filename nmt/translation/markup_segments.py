"""Cuts HTML or XML into passages, which are text with inline tags, and markup that stays as it is."""

import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nmt.translation.inline_tags import Tag, TaggedText
from nmt.translation.markup import Token, attributes, tokens

# A sentence ends where one of these elements begins or ends. Any other element is part of a sentence.
BLOCKS = frozenset(
    "address article aside blockquote body br caption center col colgroup dd details dialog dir div dl dt fieldset"
    " figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li link main"
    " menu meta nav noscript ol optgroup option p section select summary table tbody td template tfoot th thead title"
    " tr ul".split()
)
KEPT = frozenset(  # elements whose content stays as it is
    "audio canvas code iframe kbd math noembed noframes object plaintext pre samp script style svg textarea tt var"
    " video xmp".split()
)
KEPT_BLOCKS = frozenset(["pre", "plaintext", "xmp"])
NO_END_TAG = frozenset("p li dt dd td th tr option optgroup".split())  # such an element ends where the next one begins
LONGEST_SHOWN = 40  # characters of a kept text that the translator may see as a part of the sentence

SPACE = re.compile(r"[ \t\n\f\r]+")
NEWLINE = re.compile(r"([ \t\f\r]*\n[ \t\n\f\r]*)")
_OWN_ENTITY = re.compile(r"(&(?!(?:amp|lt|gt|quot|apos);)[^\W\d][\w.:-]*;)")  # entities that a DTD declares


@dataclass(frozen=True)
class Rules:
    """How to cut a document."""

    xml: bool = False
    blocks: frozenset[str] = frozenset()  # more elements where a passage ends, besides HTML's own and the outline
    inline: frozenset[str] = frozenset()  # elements where no passage ends
    kept: frozenset[str] = frozenset()  # more elements whose content stays as it is, besides HTML's own
    outline: bool = True  # in XML, a passage ends at every element that does not lie in a text
    split_at_newlines: bool = False

    def escape(self, text: str) -> str:
        """The text, escaped for the document."""
        escaped = html.escape(text, quote=False)
        return escaped.replace("\xa0", "&#160;" if self.xml else "&nbsp;")


@dataclass(frozen=True)
class Passage:
    """A text that is translated as a whole, and how the document writes it."""

    source: TaggedText
    lead: str  # white space before the text
    tail: str  # white space behind the text
    gaps: dict[int, str]  # offset of a space -> the white space that it stands for
    raw: str

    def without_kept(self) -> "Passage":
        """The passage without kept texts in its text; a point marks the place of each."""
        source = self.source.text
        text, tags, reached = "", [], 0
        for tag in self.source.tags:
            if tag.at > reached:
                text, reached = text + source[reached : tag.at], tag.at
            if tag.kind != "kept":
                tags.append(replace(tag, at=len(text)))
                continue
            reached = tag.at + tag.length
            following, raw = source[reached : reached + 1], tag.raw
            if text[-1:] in ("", " ") and following == " ":
                reached, raw = reached + 1, raw + " "
            elif text.endswith(" ") and not following.isalnum():
                text, raw = text[:-1], " " + raw
            tags.append(replace(tag, kind="point", raw=raw, at=len(text), length=0))
        text += source[reached:]
        least = len(text)
        for number in reversed(range(len(tags))):  # some lie behind a space that was removed
            least = min(least, tags[number].at)
            tags[number] = replace(tags[number], at=least)
        return Passage(TaggedText(text, tags), self.lead, self.tail, {}, self.raw)

    @property
    def is_language(self) -> bool:
        """Does the passage have letters outside of kept texts?"""
        return any(char.isalpha() for char in self.without_kept().source.text)


def cut(document: str, rules: Rules) -> list[str | Passage]:
    """The parts of the document, in order: strings that stay as they are, and passages."""
    result: list[str | Passage] = []
    group: list[list[Token]] = []  # the passage so far: single tokens, and all tokens of each kept element

    def end_passage() -> None:
        if group:
            passage = _passage(group, rules)
            result.append(passage if passage.is_language else passage.raw)
            group.clear()

    for item, breaks in _items(list(tokens(document, rules.xml)), rules):
        if breaks:
            end_passage()
            result.append("".join(token.raw for token in item))
        else:
            group.append(item)
    end_passage()
    return result


def _items(found: Sequence[Token], rules: Rules) -> Iterator[tuple[list[Token], bool]]:
    """Single tokens, or all tokens of a kept element; and whether a passage ends there."""
    blocks = _xml_blocks(found, rules) if rules.xml else set()
    around: Counter[str] = Counter()  # how many elements of each name are open
    place = 0
    while place < len(found):
        token = found[place]
        if token.kind == "text" and rules.split_at_newlines:
            for number, text in enumerate(NEWLINE.split(token.raw)):
                if text:
                    yield [Token("text", text)], number % 2 == 1
        elif token.kind == "start" and _is_kept(token, rules):
            end = _kept_end(found, place, around)
            yield list(found[place:end]), token.name in KEPT_BLOCKS or _is_block(token, place, blocks, rules)
            place = end
            continue
        else:
            around[token.name] += {"start": 1, "end": -1}.get(token.kind, 0)
            yield [token], token.kind != "text" and _is_block(token, place, blocks, rules)
        place += 1


def _is_block(token: Token, place: int, blocks: set[int], rules: Rules) -> bool:
    if rules.xml:
        return place in blocks
    declaration = token.raw.startswith(("<!", "<?")) and not token.raw.startswith("<!--")
    return declaration or (token.name in BLOCKS | rules.blocks and token.name not in rules.inline)


def _is_kept(token: Token, rules: Rules) -> bool:
    if token.name in rules.kept:
        return True
    if rules.xml:
        return False
    if token.name in KEPT:
        return True
    found = attributes(token) if "translate" in token.raw.lower() else {}
    return found.get("translate", "").lower() == "no" or "notranslate" in found.get("class", "").split()


def _kept_end(found: Sequence[Token], place: int, around: Counter[str]) -> int:
    """The index behind the last token of the element that begins at `place`."""
    name = found[place].name
    inside, counts = [name], Counter([name])
    for number in range(place + 1, len(found)):
        token = found[number]
        if token.kind == "start":
            if token.name == name and inside == [name] and name in NO_END_TAG:
                return number
            inside.append(token.name)
            counts[token.name] += 1
        elif token.kind == "end" and counts[token.name]:
            closed = ""
            while closed != token.name:
                closed = inside.pop()
                counts[closed] -= 1
            if not inside:
                return number + 1
        elif token.kind == "end" and around[token.name] > 0:
            return number
    return len(found)


def _xml_blocks(found: Sequence[Token], rules: Rules) -> set[int]:
    """The indices of XML tokens where a passage ends, above all tags of elements that do not lie in a text."""
    opened: list[int] = []
    parents: dict[int, int] = {}  # token -> the start tag around it, or -1
    with_text: set[int] = set()
    for number, token in enumerate(found):
        parents[number] = opened[-1] if opened else -1
        if token.kind == "start":
            opened.append(number)
        elif token.kind == "end" and opened and found[opened[-1]].name == token.name:
            parents[number] = parents[opened.pop()]
        elif token.kind == "text" and token.raw.strip():
            with_text.add(parents[number])
    blocks: set[int] = set()
    in_text = {-1: -1 in with_text}
    for number, token in enumerate(found):
        inline = in_text[parents[number]]
        if token.kind == "start":
            in_text[number] = inline or number in with_text
        if token.kind in ("start", "end", "empty"):
            outlined = rules.outline and not inline and token.name not in rules.inline
            if outlined or token.name in rules.blocks:
                blocks.add(number)
        elif token.kind == "other" and not token.raw.startswith("<!--"):
            blocks.add(number)
    return blocks


class _Builder:
    """Collects text and tags of a passage, token by token; several spaces become one in the text."""

    def __init__(self) -> None:
        self.text = ""
        self.lead = ""
        self.tags: list[Tag] = []
        self.gaps: dict[int, str] = {}

    def write(self, text: str) -> None:
        reached = 0
        for space in SPACE.finditer(text):
            self.text += text[reached : space.start()]
            reached = space.end()
            if self.text and not self.text.endswith(" "):
                self.gaps[len(self.text)] = space[0]
                self.text += " "
            elif self.tags:
                self.tags[-1] = replace(self.tags[-1], raw=self.tags[-1].raw + space[0])
            else:
                self.lead += space[0]
        self.text += text[reached:]

    def tag(self, token: Token) -> None:
        kind = {"start": "open", "end": "close"}.get(token.kind, "point")
        self.tags.append(Tag(kind, token.name, token.raw, len(self.text)))  # type: ignore[arg-type]  # of the two

    def keep(self, element: Sequence[Token]) -> None:
        raw = "".join(token.raw for token in element)
        content = [token for token in element if token.kind == "text"]
        text = " ".join(html.unescape("".join(token.raw for token in content)).split())
        shown = text if len(text) <= LONGEST_SHOWN and len(content) == len(element) - 2 else ""
        self.tags.append(Tag("kept", element[0].name, raw, len(self.text), len(shown)))
        self.text += shown


def _passage(group: Sequence[Sequence[Token]], rules: Rules) -> Passage:
    builder = _Builder()
    for item in group:
        if len(item) > 1 or (item[0].kind == "start" and _is_kept(item[0], rules)):
            builder.keep(item)
        elif item[0].kind != "text":
            builder.tag(item[0])
        elif rules.xml:
            for number, part in enumerate(_OWN_ENTITY.split(item[0].raw)):
                if number % 2:
                    builder.tag(Token("other", part))
                else:
                    builder.write(html.unescape(part))
        else:
            builder.write(html.unescape(item[0].raw))
    raw = "".join(token.raw for item in group for token in item)
    stripped = builder.text.strip()
    first = len(builder.text) - len(builder.text.lstrip()) if stripped else 0
    lead = builder.lead + rules.escape(builder.text[:first])
    tail = builder.text[first + len(stripped) :]
    tail = builder.gaps.get(first + len(stripped), tail) if tail == " " else rules.escape(tail)
    behind = next((number for number, tag in enumerate(builder.tags) if tag.at > first + len(stripped)), None)
    if behind is not None:
        builder.tags[behind] = replace(builder.tags[behind], raw=tail + builder.tags[behind].raw)
        tail = ""
    gaps = {at - first: space for at, space in builder.gaps.items() if first <= at < first + len(stripped)}
    tags = [_moved(tag, first, len(stripped)) for tag in builder.tags]
    return Passage(TaggedText(stripped, tags), lead, tail, gaps, raw)


def _moved(tag: Tag, first: int, length: int) -> Tag:
    """The tag in the text that begins at character `first` and has `length` characters."""
    return replace(tag, at=min(max(tag.at - first, 0), length), length=min(tag.length, length))
