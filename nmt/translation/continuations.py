"""How a translation may go on after a prefix: the likeliest next words, each with a whole translation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import exp, inf, isfinite, log
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from nmt.config.sections import SearchConfig
from nmt.data.batch import make_batch
from nmt.data.text import one_line
from nmt.data.tokenizer import BOS, EOS, MARK, PAD
from nmt.errors import DataError
from nmt.scoring.alignment import spaceless, units
from nmt.search.prefix import Prefix, Prefixes
from nmt.search.steering import Steering
from nmt.translation.long_lines import read_lines_in_parts
from nmt.translation.sentences import cut_line
from nmt.translation.translator import Translator

SPELLINGS = 8  # of an unfinished word, that are followed at the same time
NEGLIGIBLE = log(1e-6)  # a spelling is left out if another one is a million times as likely


@dataclass(frozen=True)
class Continuation:
    """A next word, or the end of the translation."""

    text: str  # from the end of the prefix to the end of the word; empty at the end of the translation
    probability: float  # that the translation goes on with these letters, or ends; see `continuations`
    translation: str  # the whole translation
    end: bool  # does the translation end here?


@dataclass(frozen=True)
class _Head:
    """The decoder after the whole words of a prefix."""

    pieces: list[int]
    spelled: int  # bytes of the prefix that the pieces spell
    source: Any
    state: Any  # one row
    log_probs: Float[Tensor, "1 V"]  # of the next piece


@dataclass(frozen=True)
class _Way:
    """Pieces after the whole words of a prefix. Only the last one spells more than the prefix; it may be EOS."""

    pieces: list[int]
    spelled: int  # bytes, with those of the whole words
    log_prob: float  # of all these pieces, given the source and the prefix


@dataclass(frozen=True)
class _Word:
    """What one way leads to. The text is empty if it leads to the end."""

    text: str
    translation: str
    pieces: list[int]  # of the translation up to the end of the word


def continuations(
    translator: Translator, sentence: str, prefix: str, count: int, settings: SearchConfig,
    gone: Callable[[], bool] = lambda: False, split: bool = True,
) -> list[Continuation]:  # fmt: skip
    """The likeliest words after a prefix of the translation, and its end, likeliest first; at most `count`.

    After a space, or at the beginning, a new word begins. Otherwise the prefix's last word may go on, or end. Once
    `gone` returns True, the search ends, and NmtError is raised unless it had found everything. Unless `split`, the
    text counts as one sentence.

    The probability of a word is the model's, given the source and the prefix: the product over the pieces that spell
    the word, added up over the spellings that were found. It is a lower bound, because other spellings may exist. More
    letters may follow the word.
    """
    if len(texts := cut_line(sentence, translator.at_once if split else None).texts) > 1:
        raise DataError(
            f"continuations are for one sentence, and '{one_line(sentence).strip()[:60]}' is cut into {len(texts):,}; "
            "give one sentence at a time"
        )
    [line] = read_lines_in_parts([translator.as_read(sentence)], translator.tokenizers.src, translator.long_lines)
    if len(line.parts) != 1:
        raise DataError("continuations are for one sentence; give one that is not empty, and shorter")
    [source] = line.parts
    given, pieces = translator.prefix(prefix), translator.known_pieces(prefix)
    typed = translator.spelling.of(pieces)
    new_word = given is None or prefix[-1].isspace()
    head = _head(translator, source, pieces, len(typed) if new_word else typed.rfind(MARK.encode()))
    ways = _ways(translator, head, given, typed, 2 * count)  # several may begin the same word
    open_ways = [way for way in ways if way.pieces[-1] != EOS]
    found = _searched(translator, source, [head.pieces + way.pieces for way in open_ways], settings, gone)
    before = translator.written(prefix)
    words = []
    for way, tokens in zip(open_ways, found, strict=True):
        piece = translator.spelling.surfaces[way.pieces[-1]][len(typed) - way.spelled :].decode(errors="ignore")
        words.append(_first_word(translator, tokens, before, len(head.pieces) + len(way.pieces), piece))
    log_probs = _log_probs(translator, head, open_ways, words)
    ends = [way for way in ways if way.pieces[-1] == EOS]
    words += [_Word("", before, way.pieces) for way in ends]
    log_probs += [way.log_prob for way in ends]
    merged: dict[str, Continuation] = {}
    for log_prob, word in sorted(zip(log_probs, words, strict=True), key=lambda each: -each[0]):
        text = word.text.lstrip() if new_word else word.text
        share = exp(log_prob) + (merged[text].probability if text in merged else 0.0)
        translation = merged[text].translation if text in merged else word.translation
        merged[text] = Continuation(text, share, translation, end=not text)
    return sorted(merged.values(), key=lambda each: -each.probability)[:count]


@torch.inference_mode()
def _head(translator: Translator, source: list[int], pieces: list[int], size: int) -> _Head:
    """The decoder after the pieces of the prefix that spell its whole words, the first `size` bytes at most."""
    ends = [0, *accumulate(len(translator.spelling.surfaces[piece]) for piece in pieces)]
    count = sum(end <= size for end in ends[1:])
    batch = make_batch([source], [[]]).to(translator.device)
    memory, state = translator.step_model.start(batch.src, batch.src_mask, False)
    tokens = torch.tensor([[BOS, *pieces[:count]]], device=translator.device)
    log_probs, _, state = translator.step_model.step(tokens, memory, state)
    return _Head(pieces[:count], ends[count], memory, state, log_probs)


@torch.inference_mode()
def _ways(translator: Translator, head: _Head, given: Prefix | None, typed: bytes, count: int) -> list[_Way]:
    """The likeliest ways to go on, likeliest first. `given` is the prefix, and `typed` its bytes.

    The pieces may spell an unfinished word in several ways, which are followed side by side.
    """
    log_probs, state = head.log_probs, head.state
    spellings = [_Way([], head.spelled, 0.0)]  # of a part of the prefix
    ways: list[_Way] = []
    shares: list[float] = []  # log-probabilities; their probabilities add up to that of the rest of the prefix
    while spellings:
        longer: list[tuple[_Way, int]] = []  # each with the row of the spelling that it goes on from
        for row, known in enumerate(spellings):
            if known.spelled == len(typed):
                likeliest, share = _after_prefix(translator, given, known, log_probs[row], count)
                ways += likeliest
                shares.append(share)
                continue
            assert given is not None  # an empty prefix is spelled at once
            own = _led_to(translator, known, log_probs[row], list(given.moves[known.spelled]))
            beyond = [way for way in own if way.spelled > len(typed)]
            ways += beyond
            shares += [way.log_prob for way in beyond]
            longer += [(way, row) for way in own if way.spelled <= len(typed)]
        least = max([*shares, *(way.log_prob for way, _ in longer)]) + NEGLIGIBLE
        most = (translator.model.max_length or inf) - len(head.pieces)
        longer = [(way, row) for way, row in longer if way.log_prob > least and len(way.pieces) < most]
        longer = sorted(longer, key=lambda each: -each[0].log_prob)[:SPELLINGS]
        spellings = [way for way, _ in longer]
        if spellings:
            state = state.select(torch.tensor([row for _, row in longer], device=translator.device))
            tokens = torch.tensor([way.pieces[-1:] for way in spellings], device=translator.device)
            log_probs, _, state = translator.step_model.step(tokens, head.source, state)
    whole = torch.tensor(shares, dtype=torch.float64).logsumexp(0).item()
    if not isfinite(whole):
        raise translator.no_numbers()
    ways = [replace(way, log_prob=min(0.0, way.log_prob - whole)) for way in ways]
    return sorted(ways, key=lambda way: -way.log_prob)[:count]


def _after_prefix(
    translator: Translator, given: Prefix | None, known: _Way, log_probs: Float[Tensor, " V"], count: int
) -> tuple[list[_Way], float]:
    """The likeliest pieces after a whole spelling of the prefix, and the log-probability of all that may follow."""
    if given is None or known.spelled == len(given):  # any piece may follow
        allowed, share = translator.spelling.all, known.log_prob
    else:
        allowed = list(given.moves[known.spelled])
        share = known.log_prob + log_probs[allowed].double().logsumexp(0).item()
    places = log_probs[allowed].topk(min(count, len(allowed))).indices.tolist()
    return _led_to(translator, known, log_probs, [allowed[place] for place in places]), share


def _led_to(translator: Translator, known: _Way, log_probs: Float[Tensor, " V"], pieces: list[int]) -> list[_Way]:
    """The way that goes on with each of these pieces."""
    values = (log_probs[pieces].double() + known.log_prob).tolist()
    surfaces = translator.spelling.surfaces
    return [
        _Way([*known.pieces, piece], known.spelled + len(surfaces[piece]), log_prob)
        for piece, log_prob in zip(pieces, values, strict=True)
    ]


def _searched(
    translator: Translator, source: list[int], begun: list[list[int]], settings: SearchConfig, gone: Callable[[], bool]
) -> list[list[int]]:
    """The pieces of the best translation that begins with each of these lists of pieces."""
    if not begun:
        return []
    prefixes = Prefixes([_exactly(pieces) for pieces in begun])
    steering = Steering(prefixes, lambda: range(len(begun)) if gone() else ())
    batch = make_batch([source] * len(begun), [[]] * len(begun)).to(translator.device)
    found = [hypotheses[0].tokens for hypotheses in translator.search(batch, settings, steering) if hypotheses]
    if len(found) < len(begun):  # nobody waits any more, or the model computes NaN
        raise translator.no_numbers()
    return found


def _exactly(pieces: list[int]) -> Prefix:
    """A prefix in these pieces and no others; its places are counted in pieces."""
    return Prefix([{piece: place} for place, piece in enumerate(pieces, 1)], [torch.tensor([each]) for each in pieces])


def _first_word(translator: Translator, tokens: list[int], before: str, size: int, piece: str) -> _Word:
    """The first word after the text `before`; `piece` is what the last of the first `size` tokens spells of it."""
    decode = translator.tokenizers.tgt.decode
    translation = one_line(decode(tokens))
    word = _next_word(translation[len(before) :], piece)
    if not word:
        return _Word("", before, [*tokens, EOS])
    through = translation[: len(before) + len(word)]
    ends = (end for end in range(size, len(tokens)) if one_line(decode(tokens[:end])).startswith(through))
    return _Word(word, translation, tokens[: next(ends, len(tokens))])


def _next_word(text: str, piece: str) -> str:
    """The text to the end of its first word; in scripts without spaces, to the end of its first piece."""
    visible = text.lstrip()
    if not visible:
        return ""
    if spaceless(visible[0]):
        own = piece.replace(MARK, "")
        word = own if own and visible.startswith(own) else visible[0]
    else:
        word = units(text, "tokens")[0]
    return text[: text.index(word) + len(word)]


@torch.inference_mode()
def _log_probs(translator: Translator, head: _Head, ways: Sequence[_Way], words: Sequence[_Word]) -> list[float]:
    """The log-probability of the pieces of each word, given the source and the prefix. Each goes on from its way."""
    behind = [word.pieces[len(head.pieces) :] for word in words]
    found = [way.log_prob for way in ways]
    rows = [row for row, way in enumerate(ways) if len(way.pieces) < len(behind[row])]  # the way alone is no word
    longest = max((len(behind[row]) for row in rows), default=0)
    padded = [behind[row] + [PAD] * (longest - len(behind[row])) for row in rows]
    tokens = torch.tensor(padded, dtype=torch.long, device=translator.device)
    state = head.state.select(tokens.new_zeros(len(rows)))
    for place in range(1, longest):
        log_probs, _, state = translator.step_model.step(tokens[:, place - 1 : place], head.source, state)
        values = log_probs.gather(1, tokens[:, place : place + 1])[:, 0].tolist()
        for row, value in zip(rows, values, strict=True):
            if len(ways[row].pieces) <= place < len(behind[row]):
                found[row] += value
    return found
