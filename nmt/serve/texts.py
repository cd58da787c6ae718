"""Cuts texts into sentences for the search, and joins the translations again."""

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
    """A sentence of a text and its translation, with the span of each."""

    source: Span
    target: Span
    translation: Translation


@dataclass(frozen=True)
class Answer:
    """The translation of a text."""

    text: str
    sentences: list[Sentence]


@dataclass(frozen=True)
class Prepared:
    """A text ready for the search: its sentences, and the parts of each. Only a long sentence has several parts."""

    text: str
    spans: list[Span]
    parts: list[list[Part]]


def prepare(texts: Sequence[str], served: Served, split: bool, prefix: str | None) -> list[Prepared]:
    """Cuts the texts into sentences and encodes them. Raises Refusal for a prefix unless there is one sentence."""
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
    """The whole text as one span, without white space at its ends; no span for a blank text."""
    start = len(text) - len(text.lstrip())
    return [Span(start, len(text.rstrip()))] if text.strip() else []


class Assembly:
    """A translation that grows sentence by sentence. The white space between sentences follows the source."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.read = 0  # characters of the source that are translated
        self.text = ""
        self.sentences: list[Sentence] = []

    def add(self, span: Span, translation: Translation) -> Sentence:
        """Appends the next sentence; `span` is its place in the source."""
        self.text += self._between(self.source[self.read : span.start], translation.text)
        start = len(self.text)
        self.text += translation.text
        self.read = span.end
        sentence = Sentence(span, Span(start, len(self.text)), translation)
        self.sentences.append(sentence)
        return sentence

    def _between(self, gap: str, following: str) -> str:
        """White space before the next sentence: the source's, adapted to whether the target language has spaces."""
        if not self.sentences or not self.text.strip() or not following or "\n" in gap:
            return gap
        return gap_between(self.text[-1], following[0], gap)

    def end(self) -> Answer:
        """The whole translation, after the last sentence."""
        return Answer(self.text + self.source[self.read :], self.sentences)
