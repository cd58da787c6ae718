"""Texts, cut into sentences for the search, and put together again from their translations."""

from collections.abc import Sequence
from dataclasses import dataclass

from nmt.data.sentences import Span, sentence_groups
from nmt.serve.catalogue import Served
from nmt.serve.engine import Part
from nmt.serve.refusal import Refusal
from nmt.translation.long_lines import read_lines_in_parts
from nmt.translation.translations import Translation, gap_between


@dataclass(frozen=True)
class Sentence:
    """A sentence of a text and its translation, with the places of both."""

    source: Span
    target: Span
    translation: Translation


@dataclass(frozen=True)
class Answer:
    """A text's translation."""

    text: str
    sentences: list[Sentence]


@dataclass(frozen=True)
class Prepared:
    """A text as it is searched: the parts of each sentence, several where one is long."""

    text: str
    spans: list[Span]
    parts: list[list[Part]]


def prepare(texts: Sequence[str], served: Served, split: bool, prefix: str | None) -> list[Prepared]:
    """Cuts and encodes; a prefix is for the one sentence of one text."""
    translator = served.translator
    spans = [sentence_groups(text, translator.at_once or 1) if split else _whole(text) for text in texts]
    sentences = [text[span.start : span.end] for text, own in zip(texts, spans, strict=True) for span in own]
    if prefix is not None and len(sentences) != 1:
        raise Refusal(400, f"prefix is for one sentence, and there are {len(sentences):,}; send one, or split=false")
    lines = read_lines_in_parts([translator.as_read(each) for each in sentences], translator.tokenizers.src, "split")
    begun = translator.prefixes_of_parts(None if prefix is None else [prefix] * len(lines), lines)
    rest = iter(begun)
    parts = iter([[Part(ids, next(rest)) for ids in line.parts] for line in lines])
    return [Prepared(text, own, [next(parts) for _ in own]) for text, own in zip(texts, spans, strict=True)]


def _whole(text: str) -> list[Span]:
    """All of the text but for white space at its ends."""
    start = len(text) - len(text.lstrip())
    return [Span(start, len(text.rstrip()))] if text.strip() else []


class Assembly:
    """A translation that grows sentence by sentence. White space around sentences is the source's own."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.read = 0  # characters of the source
        self.text = ""
        self.sentences: list[Sentence] = []

    def add(self, span: Span, translation: Translation) -> Sentence:
        """The next sentence."""
        self.text += self._between(self.source[self.read : span.start], translation.text)
        start = len(self.text)
        self.text += translation.text
        self.read = span.end
        sentence = Sentence(span, Span(start, len(self.text)), translation)
        self.sentences.append(sentence)
        return sentence

    def _between(self, gap: str, following: str) -> str:
        """What stands before the next sentence: a space where the target needs one, none where it has no spaces."""
        if not self.sentences or not self.text.strip() or not following or "\n" in gap:
            return gap
        return gap_between(self.text[-1], following[0], gap)

    def end(self) -> Answer:
        """All of it."""
        return Answer(self.text + self.source[self.read :], self.sentences)
