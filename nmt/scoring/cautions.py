"""What would make an evaluation mislead: refused where it surely does, said where it may."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from nmt.config.sections import DataConfig
from nmt.data import train_hashes
from nmt.data.tokenizer import Tokenizer, TokenizerPair
from nmt.errors import ConfigError, DataError, counted

PIECE_MARKS = {  # of text in pieces, and where they are in it
    "\u2581": re.compile("\u2581"),  # SentencePiece's for a space
    "@@": re.compile(r"@@(?= |$)"),  # subword-nmt's for a word that goes on
    "##": re.compile(r"\S ##[^\s#]"),  # WordPiece's for the same
    "</w>": re.compile(r"(?<!\S)[^\s<>]+</w>(?!\S)"),  # for the end of a word
    "\uffed": re.compile("\uffed\\S|\\S\uffed"),  # OpenNMT's for no space
    "\u0120": re.compile(r"(?<!\S)\u0120\S*(?: \S+){0,3} \u0120"),  # of bytes, for a space; two: Maltese has the letter
}
MOSTLY = 0.5  # share of the lines (or pieces) from which on something is taken for a property of the text
HARDLY = 0.05
LOOKED_AT = 1000  # sentences
NO_NAME = 10  # letters, from which on a line that is the same on both sides is no name
MUCH_LIKELIER = 1.0  # nats a piece
TOKENISED = re.compile(r"\w [.,。，、](?= |$)|\w n't\b|\w 's\b|&(?:apos|quot|#91|#93|#124);|@-@")
PUNCTUATED = re.compile(r"\w[.,。，、]")  # as people type it, or a number


def refuse_unfit(name: str, sources: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Refuses references without any text, and text in pieces; `name` is what errors call the test set."""
    for which, reference in _named_references(references):
        if not any(map(str.strip, reference)):
            raise DataError(f"{which} of {name} has no text in any of {len(reference):,} lines; give its translations")
        _refuse_pieces(f"{which} of {name}", reference)
    _refuse_pieces(f"the source of {name}", sources)


def _named_references(references: Sequence[Sequence[str]]) -> Iterator[tuple[str, Sequence[str]]]:
    """What lines call each reference."""
    for number, reference in enumerate(references, 1):
        yield f"reference {number}" if len(references) > 1 else "the reference", reference


def _refuse_pieces(what: str, lines: Sequence[str]) -> None:
    for mark, marked in _marked(lines):
        if len(marked) > HARDLY * len(lines):
            raise DataError(
                f"{what} is cut into pieces: {mark} stands in {len(marked):,} of {len(lines):,} lines, the first is "
                f"line {marked[0]:,}; give the text as it was before"
            )


def _marked(lines: Sequence[str]) -> Iterator[tuple[str, list[int]]]:
    """Each mark of pieces that there is, with the numbers of its lines, from 1."""
    for mark, pattern in PIECE_MARKS.items():
        marked = [number for number, line in enumerate(lines, 1) if pattern.search(line)]
        if marked:
            yield mark, marked


def refuse_other_languages(stored: DataConfig, data: DataConfig) -> None:
    """Refuses a test set's languages that are not those that the model was trained on, where both are known."""
    for key in ("src_lang", "tgt_lang"):
        trained, given = getattr(stored, key), getattr(data, key)
        if None not in (trained, given) and given != trained:
            raise ConfigError(
                f"data.{key}={given}, but the model was trained with {trained}; leave it out, or take a model "
                "of that language"
            )


def of_training(file: Path, whose: str, sources: Sequence[str], references: Sequence[Sequence[str]]) -> Iterator[str]:
    """Says how much of a test set a model was trained on: `file` holds the hashes of what it saw."""
    known = train_hashes.seen(file, sources, references)
    if known.normalised:
        share = f"{known.normalised:,} of {known.pairs:,} test pairs ({known.normalised / known.pairs:.1%})"
        stand = "stands" if known.normalised == 1 else "stand"
        yield f"{share} {stand} in the training data of {whose}, {known.exact:,} of them letter for letter"


def of_gaps(references: Sequence[Sequence[str]]) -> Iterator[str]:
    """Says which lines no reference translates, or not each: an empty line is no reference."""
    there = [[bool(line.strip()) for line in reference] for reference in references]
    without = [line for line, found in enumerate(zip(*there, strict=True), 1) if not any(found)]
    if without:
        share = f"{len(without):,} of {len(references[0]):,} lines"
        yield f"left out, because they have no reference: {share}, the first is line {without[0]:,}"
    for (which, _), found in zip(_named_references(references), there, strict=True):
        lacking = [line for line, has in enumerate(found, 1) if not has and line not in set(without)]
        if lacking:
            share = f"{len(lacking):,} of {len(found):,} lines"
            yield f"{which} is empty in {share}, the first is line {lacking[0]:,}: the other references count there"


def of_test_set(
    tokenizers: TokenizerPair, sources: Sequence[str], references: Sequence[Sequence[str]]
) -> Iterator[str]:
    """Says where a test set may be in pieces, or the model can hardly read or write it."""
    sides = [("the source", tokenizers.src, sources)]
    sides += [(which, tokenizers.tgt, reference) for which, reference in _named_references(references)]
    for what, tokenizer, lines in sides:
        for mark, marked in _marked(lines):
            share = f"{mark} stands in {len(marked):,} of {len(lines):,} lines of {what}"
            yield f"{share}, the first is line {marked[0]:,}: are they cut into pieces?"
        yield from of_language(tokenizer, what, lines)
    for which, reference in _named_references(references):
        yield from of_copies(sources, which, reference)


def of_copies(sources: Sequence[str], which: str, reference: Sequence[str]) -> Iterator[str]:
    """Says where a reference repeats the source."""
    letters = [["".join(filter(str.isalpha, line.casefold())) for line in side] for side in (sources, reference)]
    same = {line: src == ref for line, (src, ref) in enumerate(zip(*letters, strict=True), 1) if len(ref) >= NO_NAME}
    copies = [line for line, is_same in same.items() if is_same]
    if len(copies) > HARDLY * len(same):
        share = f"{len(copies):,} of {len(reference):,} lines"
        yield f"{which} repeats the source in {share}, the first is line {copies[0]:,}: are they translated?"


def of_direction(forward: float, backward: float) -> Iterator[str]:
    """Says where source and reference seem to be the other way round.

    `forward`: nats a piece of the reference as translation of the source; `backward`: of the source as translation of
    the reference.
    """
    if forward - backward > MUCH_LIKELIER:
        likelier = "to the model the source is far likelier as translation of the reference than the reverse"
        yield f"source and reference seem swapped: {likelier} ({backward:.1f} against {forward:.1f} nats a piece)"


def of_language(tokenizer: Tokenizer, what: str, lines: Sequence[str]) -> Iterator[str]:
    """Says where the vocabulary hardly fits the text."""
    looked_at = list(lines[:LOOKED_AT])
    rows = tokenizer.encode_batch(looked_at)
    count, spelled = sum(map(len, rows)), sum(map(tokenizer.spelled, rows))
    if spelled > MOSTLY * count:
        share = f"{spelled / count:.0%} of the pieces of {what}"
        yield f"{share} are unknown to the model, or single bytes: is it in the model's language?"
    theirs = scripts(looked_at)
    own = letters_of_vocabulary(tokenizer)
    for script, letters in theirs.most_common(1):
        if letters > MOSTLY * theirs.total() and own[script] < HARDLY * own.total():
            yield f"{what} is in {script_name(script)} letters, which the model's vocabulary hardly knows"


def letters_of_vocabulary(tokenizer: Tokenizer) -> Counter[str]:
    """How many letters of each script are in its pieces."""
    pieces = tokenizer.pieces(range(tokenizer.vocab_size))
    return scripts(piece for number, piece in enumerate(pieces) if not tokenizer.spelled([number]))


def of_translations(
    hypotheses: Sequence[str], sources: Sequence[str], references: Sequence[Sequence[str]]
) -> Iterator[str]:
    """Says where translations are not of the form that BLEU compares."""
    for which, reference in _named_references(references):
        yield from of_case(hypotheses, which, reference)
        yield from of_tokens(hypotheses, which, reference)
    if more_tokenised(sources, hypotheses):
        yield "the source looks tokenised, the translations do not: give the text as it was before"
    yield from of_pieces(hypotheses)


def of_tokens(hypotheses: Sequence[str], which: str, reference: Sequence[str]) -> Iterator[str]:
    """Says where a reference is tokenised and the translations are not, or the reverse."""
    if more_tokenised(reference, hypotheses):
        yield f"{which} looks tokenised, the translations do not: BLEU and TER count that; give it as it was before"
    if more_tokenised(hypotheses, reference):
        yield f"the translations look tokenised, {which} does not: BLEU and TER count that; tokenise it likewise"


def more_tokenised(lines: Sequence[str], others: Sequence[str]) -> bool:
    """Does the one text set its punctuation apart, and the other does not?"""
    ours, theirs = tokenised(lines), tokenised(others)
    return ours is not None and theirs is not None and ours - theirs > MOSTLY


def tokenised(lines: Iterable[str]) -> float | None:
    """Share of the lines with full stops or commas that have a space before one; None: there are no such lines."""
    apart = [TOKENISED.search(line) is not None for line in lines if TOKENISED.search(line) or PUNCTUATED.search(line)]
    return sum(apart) / len(apart) if apart else None


def of_case(hypotheses: Sequence[str], which: str, reference: Sequence[str]) -> Iterator[str]:
    """Says where translations and a reference differ in case throughout: BLEU counts that."""
    ours, theirs = cased(hypotheses), cased(reference)
    if theirs is not None and ours is not None:
        if theirs > MOSTLY and ours < HARDLY:
            yield f"{which} has capitals, the translations none: BLEU counts that; use a lower-cased reference"
        if ours > MOSTLY and theirs < HARDLY:
            yield f"the translations have capitals, {which} none: BLEU counts that; use a cased reference"


def of_pieces(hypotheses: Sequence[str]) -> Iterator[str]:
    """Says where translations are in pieces, as they are if the training text was."""
    for mark, marked in _marked(hypotheses):
        if len(marked) > HARDLY * len(hypotheses):
            hold = f"{counted(len(marked), 'translation')} hold{'s' if len(marked) == 1 else ''} {mark}"
            yield f"{hold}: the model was trained on text in pieces, which BLEU is not for"


def cased(lines: Iterable[str]) -> float | None:
    """Share of the lines with letters of a script that has case which hold a capital; None: there are no such."""
    with_case = [line for line in lines if line.lower() != line.upper()]
    return sum(line != line.lower() for line in with_case) / len(with_case) if with_case else None


def script_name(script: str) -> str:
    """A script's name in a sentence."""
    return "Chinese" if script == "CJK" else script.capitalize()


def scripts(texts: Iterable[str]) -> Counter[str]:
    """How many letters there are of each script: the first word of their Unicode names."""
    return scripts_of(Counter(character for text in texts for character in text))


def scripts_of(characters: Mapping[str, int]) -> Counter[str]:
    """The same for characters that are counted already."""
    found: Counter[str] = Counter()
    for character, count in characters.items():
        if character.isalpha():
            found[unicodedata.name(character, "UNKNOWN").split()[0]] += count
    return found
