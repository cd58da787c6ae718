"""Finds what would make an evaluation misleading: a certain error is refused, a likely one gets a caution."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from nmt.config.sections import DataConfig
from nmt.data import train_hashes
from nmt.data.letter_case import LetterCase
from nmt.data.suspicions import copied
from nmt.data.tokenizer import Tokenizer, TokenizerPair
from nmt.errors import ConfigError, DataError, counted

PIECE_MARKS = {  # a mark of text that is cut into pieces -> the pattern that finds it
    "\u2581": re.compile("\u2581"),  # SentencePiece: a space
    "@@": re.compile(r"@@(?= |$)"),  # subword-nmt: the word goes on
    "##": re.compile(r"\S ##[^\s#]"),  # WordPiece: the word goes on
    "</w>": re.compile(r"(?<!\S)[^\s<>]+</w>(?!\S)"),  # end of a word
    "\uffed": re.compile("\uffed\\S|\\S\uffed"),  # OpenNMT: no space
    "\u0120": re.compile(r"(?<!\S)\u0120\S*(?: \S+){0,3} \u0120"),  # byte-level: a space; two: Maltese has the letter
}
MOSTLY = 0.5  # larger share of the lines (or pieces): a property of the whole text
HARDLY = 0.05  # smaller share: an exception
LOOKED_AT = 1000  # sentences that are examined
MUCH_LIKELIER = 1.0  # nats per piece
HARDLY_LIKELY = 7.0  # nats per piece: by chance, one of 1,000 pieces
TOKENISED = re.compile(r"\w [.,。，、](?= |$)|\w n't\b|\w 's\b|&(?:apos|quot|#91|#93|#124);|@-@")
PUNCTUATED = re.compile(r"\w[.,。，、]")  # punctuation as people type it, or a number


def refuse_unfit(name: str, sources: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Refuses references without any text, and text in pieces; `name` is the name of the test set in errors."""
    for which, reference in _named_references(references):
        if not any(map(str.strip, reference)):
            raise DataError(f"{which} of {name} has no text in any of {len(reference):,} lines; give its translations")
        _refuse_pieces(f"{which} of {name}", reference)
    _refuse_pieces(f"the source of {name}", sources)


def _named_references(references: Sequence[Sequence[str]]) -> Iterator[tuple[str, Sequence[str]]]:
    """Each reference with its name for messages."""
    for number, reference in enumerate(references, 1):
        yield f"reference {number}" if len(references) > 1 else "the reference", reference


def _refuse_pieces(what: str, lines: Sequence[str]) -> None:
    for mark, marked in _marked(lines):
        if len(marked) > HARDLY * len(lines):
            raise DataError(
                f"{what} is cut into pieces: {mark} is in {len(marked):,} of {len(lines):,} lines, the first is "
                f"line {marked[0]:,}; give the text as it was before"
            )


def _marked(lines: Sequence[str]) -> Iterator[tuple[str, list[int]]]:
    """Each mark of pieces in the lines, with the numbers of its lines, from 1."""
    for mark, pattern in PIECE_MARKS.items():
        marked = [number for number, line in enumerate(lines, 1) if pattern.search(line)]
        if marked:
            yield mark, marked


def refuse_other_languages(stored: DataConfig, data: DataConfig) -> None:
    """Refuses a test set in other languages than the model was trained on, if both are known."""
    for key in ("src_lang", "tgt_lang"):
        trained, given = getattr(stored, key), getattr(data, key)
        if None not in (trained, given) and given != trained:
            raise ConfigError(
                f"data.{key}={given}, but the model was trained with {trained}; leave it out, or take a model "
                "of that language"
            )


def of_training(file: Path, whose: str, sources: Sequence[str], references: Sequence[Sequence[str]]) -> Iterator[str]:
    """Says how much of a test set is in a model's training data; `file` holds the hashes of that data."""
    known = train_hashes.seen(file, sources, references)
    if known.normalised:
        share = f"{known.normalised:,} of {known.pairs:,} test pairs ({known.normalised / known.pairs:.1%})"
        stand = "stands" if known.normalised == 1 else "stand"
        yield f"{share} {stand} in the training data of {whose}, {known.exact:,} of them letter for letter"


def of_scorer(file: Path, whose: str, sources: Sequence[str], targets: Sequence[str]) -> Iterator[str]:
    """Says that a model is to score pairs that it was trained on; `file` holds the hashes of its training pairs."""
    known = train_hashes.seen(file, sources, [targets])
    if known.normalised > HARDLY * known.pairs:
        yield (
            f"{whose} was trained on {known.normalised:,} of {known.pairs:,} pairs that were looked at: it has "
            "learned the wrong ones among them and hardly finds any; score each half of the corpus with a model that "
            "was trained on the other half"
        )


def of_gaps(references: Sequence[Sequence[str]]) -> Iterator[str]:
    """Says which lines have no reference, or lack one of several; an empty line is not a reference."""
    there = [[bool(line.strip()) for line in reference] for reference in references]
    without = {line: None for line, found in enumerate(zip(*there, strict=True), 1) if not any(found)}
    if without:
        share = f"{len(without):,} of {len(references[0]):,} lines"
        yield f"left out, because they have no reference: {share}, the first is line {next(iter(without)):,}"
    for (which, _), found in zip(_named_references(references), there, strict=True):
        lacking = [line for line, has in enumerate(found, 1) if not has and line not in without]
        if lacking:
            share = f"{len(lacking):,} of {len(found):,} lines"
            yield f"{which} is empty in {share}, the first is line {lacking[0]:,}: the other references count there"


def of_test_set(
    tokenizers: TokenizerPair, sources: Sequence[str], references: Sequence[Sequence[str]]
) -> Iterator[str]:
    """Says if a test set may be cut into pieces, or if the model can hardly read or write it."""
    sides = [("the source", tokenizers.src, sources)]
    sides += [(which, tokenizers.tgt, reference) for which, reference in _named_references(references)]
    for what, tokenizer, lines in sides:
        for mark, marked in _marked(lines):
            share = f"{mark} is in {len(marked):,} of {len(lines):,} lines of {what}"
            yield f"{share}, the first is line {marked[0]:,}: are they cut into pieces?"
        yield from of_language(tokenizer, what, lines)
    for which, reference in _named_references(references):
        yield from of_copies(sources, which, reference)


def of_copies(sources: Sequence[str], which: str, reference: Sequence[str]) -> Iterator[str]:
    """Says if a reference repeats the source."""
    told, copies = copied(sources, reference)
    if len(copies) > HARDLY * told:
        share = f"{len(copies):,} of {len(reference):,} lines"
        yield f"{which} repeats the source in {share}, the first is line {copies[0] + 1:,}: are they translated?"


def of_direction(forward: float, backward: float) -> Iterator[str]:
    """Says if source and reference seem to be swapped.

    `forward` is in nats per piece of the reference given the source, `backward` of the source given the reference.
    """
    if forward - backward > MUCH_LIKELIER and backward < HARDLY_LIKELY:
        likelier = "to the model the source is far likelier as translation of the reference than the reverse"
        yield f"source and reference seem swapped: {likelier} ({backward:.1f} against {forward:.1f} nats a piece)"


def of_language(tokenizer: Tokenizer, what: str, lines: Sequence[str]) -> Iterator[str]:
    """Says if the vocabulary hardly fits the text."""
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


def of_words(known: LetterCase, what: str, lines: Sequence[str]) -> Iterator[str]:
    """Says if the model was trained on less than half of the words of a source."""
    found = [known.unknown_words(line) for line in lines[:LOOKED_AT]]
    unknown, count = sum(each for each, _ in found), sum(each for _, each in found)
    if unknown > MOSTLY * count:
        share = f"{unknown / count:.0%} of the words of {what}"
        yield f"{share} are not in the sources that the model was trained on: is it in the model's language?"


def letters_of_vocabulary(tokenizer: Tokenizer) -> Counter[str]:
    """The letters of each script in the vocabulary, in millionths of a letter.

    The letters of a piece count once each. In a vocabulary of characters, they count as often as the training text
    had them: Japanese text has far more different Chinese letters than Hiragana.
    """
    pieces, frequencies = tokenizer.pieces(range(tokenizer.vocab_size)), tokenizer.frequencies()
    letters: Counter[str] = Counter()
    for number, (piece, frequency) in enumerate(zip(pieces, frequencies, strict=True)):
        if not tokenizer.spelled([number]):
            count = round(1e6 * frequency)
            for letter in piece:
                letters[letter] += count
    return scripts_of(letters)


def of_translations(
    hypotheses: Sequence[str], sources: Sequence[str], references: Sequence[Sequence[str]]
) -> Iterator[str]:
    """Says if translations differ from the references in form: in case, tokenisation or pieces.

    Translations that are nearly all the same come from a model that has learned nothing; their form means nothing.
    """
    if len(set(hypotheses)) < HARDLY * len(hypotheses):
        return
    for which, reference in _named_references(references):
        yield from of_case(hypotheses, which, reference)
        yield from of_tokens(hypotheses, which, reference)
    if more_tokenised(sources, hypotheses):
        yield "the source looks tokenised, the translations do not: give the text as it was before"
    yield from of_pieces(hypotheses)


def of_tokens(hypotheses: Sequence[str], which: str, reference: Sequence[str]) -> Iterator[str]:
    """Says if a reference is tokenised and the translations are not, or the reverse."""
    if more_tokenised(reference, hypotheses):
        yield f"{which} looks tokenised, the translations do not: BLEU and TER count that; give it as it was before"
    if more_tokenised(hypotheses, reference):
        yield f"the translations look tokenised, {which} does not: BLEU and TER count that; tokenise it likewise"


def more_tokenised(lines: Sequence[str], others: Sequence[str]) -> bool:
    """Is the text in `lines` tokenised, and the text in `others` not?"""
    ours, theirs = tokenised(lines), tokenised(others)
    return ours is not None and theirs is not None and ours - theirs > MOSTLY


def tokenised(lines: Iterable[str]) -> float | None:
    """Share of tokenised lines among the lines that have punctuation; None if no line has any."""
    apart = [TOKENISED.search(line) is not None for line in lines if TOKENISED.search(line) or PUNCTUATED.search(line)]
    return sum(apart) / len(apart) if apart else None


def of_case(hypotheses: Sequence[str], which: str, reference: Sequence[str]) -> Iterator[str]:
    """Says if translations and a reference differ in case throughout, which BLEU counts."""
    ours, theirs = cased(hypotheses), cased(reference)
    if theirs is not None and ours is not None:
        if theirs > MOSTLY and ours < HARDLY:
            yield f"{which} has capitals, the translations none: BLEU counts that; use a lower-cased reference"
        if ours > MOSTLY and theirs < HARDLY:
            yield f"the translations have capitals, {which} none: BLEU counts that; use a cased reference"


def of_pieces(hypotheses: Sequence[str]) -> Iterator[str]:
    """Says if translations are in pieces, as they are if the training text was."""
    for mark, marked in _marked(hypotheses):
        if len(marked) > HARDLY * len(hypotheses):
            hold = f"{counted(len(marked), 'translation')} hold{'s' if len(marked) == 1 else ''} {mark}"
            yield f"{hold}: the model was trained on text in pieces, which BLEU is not for"


def cased(lines: Iterable[str]) -> float | None:
    """Share of lines with a capital among the lines in a script that has case; None if there are no such lines."""
    with_case = [line for line in lines if line.lower() != line.upper()]
    return sum(line != line.lower() for line in with_case) / len(with_case) if with_case else None


def script_name(script: str) -> str:
    """The name of a script, as a sentence uses it."""
    return "Chinese" if script == "CJK" else script.capitalize()


def scripts(texts: Iterable[str]) -> Counter[str]:
    """The number of letters of each script; the script is the first word of a letter's Unicode name."""
    return scripts_of(Counter(character for text in texts for character in text))


def scripts_of(characters: Mapping[str, int]) -> Counter[str]:
    """Like `scripts`, for characters that are already counted."""
    found: Counter[str] = Counter()
    for character, count in characters.items():
        if character.isalpha():
            found[unicodedata.name(character, "UNKNOWN").split()[0]] += count
    return found
