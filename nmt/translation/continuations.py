"""How a translation may go on after a prefix: the likeliest next words, each with a whole translation."""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp

import torch

from nmt.config.sections import SearchConfig
from nmt.data.batch import make_batch
from nmt.data.tokenizer import BOS, EOS
from nmt.errors import DataError
from nmt.scoring.alignment import spaceless, units
from nmt.search.prefix import Prefixes
from nmt.search.steering import Steering
from nmt.translation.long_lines import read_lines_in_parts
from nmt.translation.translator import Translator


@dataclass(frozen=True)
class Continuation:
    """A next word."""

    text: str  # from the end of the prefix to the end of the word
    probability: float  # the model's, for this word among everything that may follow the prefix
    translation: str  # the whole translation
    end: bool  # does the translation end here?


def continuations(
    translator: Translator, sentence: str, prefix: str, count: int, settings: SearchConfig,
    gone: Callable[[], bool] = lambda: False,
) -> list[Continuation]:  # fmt: skip
    """The likeliest words after a prefix of the translation, likeliest first; at most `count`.

    After a space, or at the beginning, a new word begins. Otherwise the prefix's last word may go on. Once `gone`
    returns True, the search ends, and NmtError is raised unless it had found everything.
    """
    [line] = read_lines_in_parts([translator.as_read(sentence)], translator.tokenizers.src, translator.long_lines)
    if len(line.parts) != 1:
        raise DataError("continuations are for one sentence; give one that is not empty, and shorter")
    head = prefix[: len(prefix) - len(prefix.split(" ")[-1])]  # the whole words of the prefix
    tail = prefix[len(head) :]
    firsts = _first_pieces(translator, line.parts[0], head, tail)[: 2 * count]  # several pieces may begin the same word
    surfaces = translator.spelling.surfaces
    begun = b"".join(surfaces[piece] for piece in translator.pieces_of_target(prefix))
    joint = b"".join(surfaces[piece] for piece in translator.pieces_of_target(head))
    rows = [(piece, probability) for piece, probability in firsts if piece != EOS]
    starts = [max(begun, joint + surfaces[piece], key=len) for piece, _ in rows]
    prefixes = Prefixes([translator.prefix_of_bytes(start, whole=False) for start in starts])
    steering = Steering(prefixes, lambda: range(len(rows)) if gone() else ())
    found = translator.batch([line.parts[0]] * len(rows), False, settings, steering) if rows else []
    before = len(translator.written(prefix))
    ways: dict[str, Continuation] = {}
    for (piece, probability), translation in zip(rows, found, strict=True):
        text = _next_word(translation.text[before:], surfaces[piece].decode(errors="ignore"))
        known = ways.get(text)
        if text and known is None:
            ways[text] = Continuation(text, probability, translation.text, end=False)
        elif known is not None:
            ways[text] = Continuation(text, known.probability + probability, known.translation, end=False)
    ends = [Continuation("", each, translator.written(prefix), end=True) for piece, each in firsts if piece == EOS]
    return sorted([*ways.values(), *ends], key=lambda each: -each.probability)[:count]


@torch.inference_mode()
def _first_pieces(translator: Translator, source: list[int], head: str, tail: str) -> list[tuple[int, float]]:
    """The likeliest pieces after the whole words `head`, with their probabilities.

    If the prefix ends in an unfinished word, `tail`, only pieces that fit its spelling count.
    """
    batch = make_batch([source], [[]]).to(translator.device)
    memory, state = translator.step_model.start(batch.src, batch.src_mask, False)
    tokens = torch.tensor([[BOS, *translator.pieces_of_target(head)]], device=translator.device)
    log_probs = translator.step_model.step(tokens, memory, state)[0][0]
    if tail:
        given = translator.prefix_of_bytes(translator.spelled(tail), whole=False)
        allowed = list(given.moves[0])
    else:
        allowed = translator.spelling.apart if head.strip() else translator.spelling.all
    own = log_probs[torch.tensor(allowed, device=log_probs.device)].log_softmax(0)
    values, places = own.topk(min(50, len(allowed)))
    return [(allowed[place], exp(value)) for value, place in zip(values.tolist(), places.tolist(), strict=True)]


def _next_word(text: str, piece: str) -> str:
    """The first word of `text`; in scripts without spaces, the characters of its first piece."""
    if not text.strip():
        return ""
    if spaceless(text.strip()[0]):
        own = piece.replace("▁", "")
        return own if own and text.strip().startswith(own) else text.strip()[0]
    token = units(text, "tokens")[0]
    return text[: text.index(token) + len(token)].lstrip()
