"""Translates HTML and XML: the engine gets the texts, the markup stays, and inline tags follow their words.

Attributes (title, alt, placeholder, …) are left as they are.
"""

from collections.abc import Awaitable, Callable, Sequence

from starlette.concurrency import run_in_threadpool

from nmt.serve.texts import Answer
from nmt.translation.inline_tags import KeptIsLostError, with_tags
from nmt.translation.markup_segments import Passage, Rules, cut
from nmt.translation.tag_words import LinkedText, PlacedSentence, linked_text

Translate = Callable[[list[str]], Awaitable[list[Answer]]]


async def translate_markup(documents: Sequence[str], rules: Rules, translate: Translate) -> list[str]:
    """The translated documents. `translate` must return texts with their word alignments."""
    parts = await run_in_threadpool(lambda: [cut(document, rules) for document in documents])
    passages = [part for document in parts for part in document if isinstance(part, Passage)]
    done, again = await _translated(passages, rules, translate)
    if again:
        bare = [passages[number].without_kept() for number in again]
        retried, _ = await _translated(bare, rules, translate)
        done.update({again[number]: text for number, text in retried.items()})
    texts = iter(done[number] for number in range(len(passages)))
    return ["".join(next(texts) if isinstance(part, Passage) else part for part in document) for document in parts]


async def _translated(
    passages: Sequence[Passage], rules: Rules, translate: Translate
) -> tuple[dict[int, str], list[int]]:
    """The translated passages by number, and the numbers of passages whose translation lost text that must be kept."""
    if not passages:
        return {}, []
    answers = await translate([passage.source.text for passage in passages])
    return await run_in_threadpool(_written, passages, answers, rules)


def _written(passages: Sequence[Passage], answers: Sequence[Answer], rules: Rules) -> tuple[dict[int, str], list[int]]:
    done: dict[int, str] = {}
    lost: list[int] = []
    for number, (passage, answer) in enumerate(zip(passages, answers, strict=True)):
        try:
            written = with_tags(passage.source, links_of(answer, passage), rules.escape)
        except KeptIsLostError:
            lost.append(number)
        else:
            done[number] = passage.lead + written + passage.tail
    return done, lost


def links_of(answer: Answer, passage: Passage) -> LinkedText:
    """The answer with its linked words; the white space between sentences is the document's."""
    text = ""
    sentences: list[PlacedSentence] = []
    reached = 0
    for sentence in answer.sentences:
        gap = answer.text[reached : sentence.target.start]
        source_gap = passage.gaps.get(sentence.source.start - 1)
        text += source_gap if gap == " " and source_gap is not None else gap
        target = answer.text[sentence.target.start : sentence.target.end]
        source = passage.source.text[sentence.source.start : sentence.source.end]
        sentences.append(PlacedSentence(source, sentence.source.start, target, len(text), sentence.translation))
        text += target
        reached = sentence.target.end
    return linked_text(text + answer.text[reached:], sentences)
