"""What would make an evaluation mislead: refused where it surely does, said where it may."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from nmt.errors import ConfigError, DataError
from nmt.tokenizer import Tokenizer

MARKS = ("\u2581", "@@")  # SentencePiece's for a space, subword-nmt's for a word that goes on
MOSTLY = 0.5  # share of the lines (or pieces) from which on something is taken for a property of the text
HARDLY = 0.05
LOOKED_AT = 1000  # sentences


def refuse_unfit(name: str, sources: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Refuses references that are empty, and text in pieces; `name` is what errors call the test set."""
    for number, reference in enumerate(references, 1):
        which = f"reference {number} of {name}" if len(references) > 1 else f"the reference of {name}"
        for line, text in enumerate(reference, 1):
            if not text.strip():
                raise DataError(
                    f"{which} is empty in line {line:,}; take the line out of all files, or give its translation"
                )
        _refuse_pieces(which, reference)
    _refuse_pieces(f"the source of {name}", sources)


def _refuse_pieces(what: str, lines: Sequence[str]) -> None:
    for mark in MARKS:
        marked = [number for number, line in enumerate(lines, 1) if _is_marked(line, mark)]
        if len(marked) > HARDLY * len(lines):
            raise DataError(
                f"{what} is cut into pieces: {mark} stands in {len(marked):,} of {len(lines):,} lines, the first is "
                f"line {marked[0]:,}; give the text as it was before"
            )


def _is_marked(line: str, mark: str) -> bool:
    return mark in line if mark == MARKS[0] else f"{mark} " in line or line.endswith(mark)


def refuse_other_languages(stored: Mapping[str, Any], data: Mapping[str, Any]) -> None:
    """Refuses languages typed for a test set that are not those that the model was trained on."""
    for key in ("src_lang", "tgt_lang"):
        if stored[key] is not None and data[key] != stored[key]:
            raise ConfigError(
                f"data.{key}={data[key]}, but the model was trained with {stored[key]}; leave it out, or take a model "
                "of that language"
            )


def of_sources(tokenizer: Tokenizer, sources: Sequence[str]) -> Iterator[str]:
    """Says where the model can hardly read a test set."""
    looked_at = list(sources[:LOOKED_AT])
    rows = tokenizer.encode_batch(looked_at)
    count, spelled = sum(map(len, rows)), sum(map(tokenizer.spelled, rows))
    if spelled > MOSTLY * count:
        share = f"{spelled / count:.0%} of the source's pieces"
        yield f"{share} are unknown to the model, or single bytes: is it in the model's language?"
    theirs = scripts(looked_at)
    known = [
        piece for i, piece in enumerate(tokenizer.pieces(range(tokenizer.vocab_size))) if not tokenizer.spelled([i])
    ]
    own = scripts(known)
    for script, letters in theirs.most_common(1):
        if letters > MOSTLY * theirs.total() and own[script] < HARDLY * own.total():
            yield f"the source is in {script.lower()} letters, which the model's vocabulary hardly knows"


def of_case(hypotheses: Sequence[str], references: Sequence[str]) -> Iterator[str]:
    """Says where translations and references differ in case throughout: BLEU counts that."""
    ours, theirs = cased(hypotheses), cased(references)
    if theirs is not None and ours is not None:
        if theirs > MOSTLY and ours < HARDLY:
            yield "the references have capitals, the translations none: BLEU counts that; use a lower-cased reference"
        if ours > MOSTLY and theirs < HARDLY:
            yield "the translations have capitals, the references none: BLEU counts that; use a cased reference"


def of_pieces(hypotheses: Sequence[str]) -> Iterator[str]:
    """Says where translations are in pieces, as they are if the training text was."""
    for mark in MARKS:
        count = sum(_is_marked(line, mark) for line in hypotheses)
        if count > HARDLY * len(hypotheses):
            yield f"{count:,} translations hold {mark}: the model was trained on text in pieces, which BLEU is not for"


def cased(lines: Iterable[str]) -> float | None:
    """Share of the lines with letters of a script that has case which hold a capital; None: there are no such."""
    with_case = [line for line in lines if line.lower() != line.upper()]
    return sum(line != line.lower() for line in with_case) / len(with_case) if with_case else None


def scripts(texts: Iterable[str]) -> Counter[str]:
    """How many letters there are of each script: the first word of their Unicode names."""
    letters = Counter(character for text in texts for character in text if character.isalpha())
    found: Counter[str] = Counter()
    for letter, count in letters.items():
        found[unicodedata.name(letter, "UNKNOWN").split()[0]] += count
    return found
