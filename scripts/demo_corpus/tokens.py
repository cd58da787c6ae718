"""Tokens with the tree nodes they stand for; joining them to a line, splitting a line, and alignments."""

from __future__ import annotations

from dataclasses import dataclass

PUNCTUATION = ",.?!"


@dataclass(frozen=True)
class Token:
    text: str
    ids: frozenset[int] = frozenset()


Tokens = list[Token]


def say(text: str, *ids: int) -> Tokens:
    """One token per word of `text`, all standing for the nodes `ids`."""
    return [Token(word, frozenset(ids)) for word in text.split()]


def tidy(tokens: Tokens, end: str) -> Tokens:
    """The sentence's tokens: no doubled commas, none before the end, a capital letter first, `end` last."""
    kept: Tokens = []
    for token in tokens:
        if token.text == "," and (not kept or kept[-1].text == ","):
            continue
        kept.append(token)
    while kept[-1].text == ",":
        kept.pop()
    first = kept[0]
    kept[0] = Token(first.text[0].upper() + first.text[1:], first.ids)
    return [*kept, Token(end)]


def join(tokens: Tokens) -> str:
    """The line that `tokenise` splits into these tokens again."""
    text = ""
    for token in tokens:
        text += token.text if token.text in PUNCTUATION or not text else f" {token.text}"
    return text


def tokenise(line: str, language: str) -> list[str]:
    """The tokens that the alignments count, from 0.

    English and German: split on spaces, and `, . ? !` at the end of a word is a token of its own.
    Chinese ("zh"): every character is a token.
    """
    if language == "zh":
        return list(line)
    tokens: list[str] = []
    for word in line.split():
        stem = word.rstrip(PUNCTUATION)
        tokens += [stem] if stem else []
        tokens += word[len(stem) :]
    return tokens


def characters(tokens: Tokens) -> Tokens:
    """One token per character."""
    return [Token(character, token.ids) for token in tokens for character in token.text]


def align(source: Tokens, target: Tokens) -> str:
    """`i-j` for every source token i and target token j that stand for a common node."""
    return " ".join(
        f"{i}-{j}" for i, left in enumerate(source) for j, right in enumerate(target) if left.ids & right.ids
    )
