"""Translations that begin with a given text: against brute force, and with the pieces of a real tokenizer."""

import itertools
import math
from dataclasses import replace

import pytest
import torch
from helpers.toy_search import CFG, Forced, Toy, one, sentences
from hypothesis import given
from hypothesis import strategies as st

from nmt.data.tokenizer import EOS
from nmt.search.beam import search
from nmt.search.hypotheses import Hypothesis
from nmt.search.prefix import Prefix, Prefixes, Spelling
from nmt.search.steering import Steering

SILENT = [b"", b"", b"", b""]  # pad, unk, bos, eos
SURFACES = [*SILENT, b"a", b"b", b"ab", b"ba", "▁".encode(), "▁a".encode()]


def begun(
    model: Toy, src: torch.Tensor, mask: torch.Tensor, cfg: object, prefixes: list[Prefix | None]
) -> list[list[Hypothesis]]:
    return search(model, src, mask, cfg, [0] * len(src), Steering(Prefixes(prefixes)))  # type: ignore[arg-type]


def text_of(tokens: tuple[int, ...]) -> bytes:
    return b"".join(SURFACES[token] for token in tokens)


def spells(tokens: tuple[int, ...], text: bytes) -> bool:
    """Do they begin with the text, in pieces that spell something?"""
    spelled = b""
    for token in tokens:
        if spelled.startswith(text):
            return True
        if not SURFACES[token]:
            return False
        spelled += SURFACES[token]
    return spelled.startswith(text)


def prefix_of(text: str, whole: bool = False) -> Prefix:
    prefix = Prefix.of(Spelling(SURFACES), text.encode(), whole)
    assert prefix is not None
    return prefix


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("text", ["a", "ab", "▁a", "b▁"])
def test_a_wide_beam_finds_the_best_of_all_that_begin_so(seed: int, text: str) -> None:
    cfg = replace(CFG, beam=400, n_best=3, max_length_a=4.0, max_length_b=0.0)
    model = Toy(seed, vocab=len(SURFACES))
    src, mask = sentences(seed, len(SURFACES), [3, 1])
    found = begun(model, src, mask, cfg, [prefix_of(text), None])
    forced = Forced(model, *one(src, mask, 0), cfg)
    matching = [tokens for tokens in forced.every() if spells(tokens, text.encode())]
    best = sorted(matching, key=forced.score, reverse=True)[:3]
    assert [tuple(h.tokens) for h in found[0]] == best
    assert [h.score for h in found[0]] == pytest.approx([forced.score(tokens) for tokens in best], abs=1e-4)
    free = Forced(model, *one(src, mask, 1), cfg)
    assert [tuple(h.tokens) for h in found[1]] == sorted(free.every(), key=free.score, reverse=True)[:3]


@pytest.mark.parametrize("seed", range(3))
def test_a_whole_word_does_not_go_on(seed: int) -> None:
    cfg = replace(CFG, beam=400, n_best=400, max_length_a=3.0, max_length_b=0.0)
    model = Toy(seed, vocab=len(SURFACES))
    src, mask = sentences(seed, len(SURFACES), [3])
    found = begun(model, src, mask, cfg, [prefix_of("ab", whole=True)])[0]
    texts = {text_of(tuple(h.tokens)).decode() for h in found}
    every = {text_of(tokens).decode() for tokens in Forced(model, src, mask, cfg).every()}
    assert texts == {text for text in every if text == "ab" or text.startswith("ab▁")}


def test_a_prefix_longer_than_the_limit_is_written_all_the_same() -> None:
    cfg = replace(CFG, max_length_a=1.0, max_length_b=0.0)
    model = Toy(1, vocab=len(SURFACES))
    [found] = begun(model, *sentences(1, len(SURFACES), [3]), cfg, [prefix_of("abababab")])
    assert text_of(tuple(found[0].tokens)).startswith(b"abababab")


def test_no_prefix_makes_a_translation_longer_than_the_model_can_write() -> None:
    model = Toy(1, vocab=len(SURFACES))
    model.max_length = 3
    [found] = begun(model, *sentences(1, len(SURFACES), [3]), CFG, [prefix_of("abab")])
    assert all(len(h.tokens) <= 3 for h in found)
    assert all(text_of(tuple(h.tokens)).startswith(b"abab") for h in found)


def test_a_prefix_may_repeat_what_is_forbidden_elsewhere() -> None:
    cfg = replace(CFG, no_repeat_ngram=1, max_length_a=20.0)
    model = Toy(2, vocab=len(SURFACES))
    [found] = begun(model, *sentences(2, len(SURFACES), [3]), cfg, [prefix_of("aaaa")])
    assert text_of(tuple(found[0].tokens)).startswith(b"aaaa")


@pytest.mark.parametrize("seed", range(4))
def test_what_is_drawn_begins_so_too(seed: int) -> None:
    cfg = replace(CFG, sample=True, n_best=8, beam=8, max_length_a=9.0)
    model = Toy(seed, vocab=len(SURFACES))
    [found] = begun(model, *sentences(seed, len(SURFACES), [2]), cfg, [prefix_of("ba")])
    assert found
    assert all(text_of(tuple(h.tokens)).startswith(b"ba") for h in found if h.log_prob > -math.inf)


def test_batch_mates_change_nothing() -> None:
    cfg = replace(CFG, n_best=4)
    model = Toy(5, vocab=len(SURFACES))
    src, mask = sentences(5, len(SURFACES), [4, 2, 6])
    prefixes = [prefix_of("ab"), None, prefix_of("▁ab▁a", whole=True)]
    together = begun(model, src, mask, cfg, prefixes)
    alone = [begun(model, *one(src, mask, row), cfg, [prefixes[row]])[0] for row in range(3)]
    assert [[h.tokens for h in each] for each in together] == [[h.tokens for h in each] for each in alone]


@given(st.lists(st.binary(min_size=1, max_size=3), min_size=1, max_size=12), st.binary(min_size=1, max_size=6))
def test_moves_are_all_ways_to_spell_it(surfaces: list[bytes], text: bytes) -> None:
    """Against every sequence of pieces, tried one by one."""
    prefix = Prefix.of(Spelling([*SILENT, *surfaces]), text, whole=False)

    def ways(place: int) -> set[tuple[int, ...]]:
        if place >= len(text):
            return {()}
        found = set()
        for piece, surface in enumerate(surfaces, start=4):
            rest = text[place:]
            if rest.startswith(surface) or surface.startswith(rest):
                found |= {(piece, *way) for way in ways(place + len(surface))}
        return found

    def allowed(place: int) -> set[tuple[int, ...]]:
        if prefix is None or place >= len(prefix):
            return {()}
        moves = prefix.moves[place].items()
        return set(itertools.chain.from_iterable(({(piece, *way) for way in allowed(after)}) for piece, after in moves))

    if prefix is None:
        assert not ways(0)
    else:
        assert allowed(0) == ways(0)
        assert len(prefix) == len(text)
        assert all(after >= len(text) or prefix.moves[after] for moves in prefix.moves for after in moves.values())
        assert EOS not in set(itertools.chain.from_iterable(prefix.moves))


def test_pieces_after_which_nothing_fits_are_no_way() -> None:
    """No piece goes on behind "a"; "ab" leads only to "c", behind which none does."""
    prefix = Prefix.of(Spelling([*SILENT, b"a", b"abcd", b"ab", b"c"]), b"abcd", whole=False)
    assert prefix is not None
    assert prefix.moves == [{5: 4}, {}, {}, {}]


def test_a_piece_may_go_on_with_a_word_that_is_not_whole() -> None:
    spelling = Spelling([*SILENT, b"ab", b"a."])
    open_end, whole = (Prefix.of(spelling, b"a", each) for each in (False, True))
    assert open_end is not None
    assert whole is not None
    assert open_end.moves == [{4: 1, 5: 1}]
    assert whole.moves[0] == {5: 2}


def test_a_piece_of_half_a_letter_makes_a_word_longer() -> None:
    assert Spelling([*SILENT, b"a", b"\xc3", b"."]).apart == [EOS, 6]
    assert Spelling(SILENT).moves(b"a", 0, whole=False) == []


@given(st.lists(st.integers(0, len(SURFACES) - 1)))
def test_pieces_spell_their_surfaces_one_after_another(pieces: list[int]) -> None:
    assert Spelling(SURFACES).of(pieces) == text_of(tuple(pieces))


@pytest.mark.parametrize(("surface", "apart"), [("a", False), ("'s", False), (".", True), ("▁a", True), ("你", True)])
def test_what_may_follow_a_whole_word(surface: str, apart: bool) -> None:
    assert (4 in Spelling([*SILENT, surface.encode()]).apart) == apart


def test_a_sentence_that_is_gone_leaves_the_batch_and_the_others_do_not_notice() -> None:
    model = Toy(5, vocab=12)
    src, mask = sentences(5, 12, [4, 5, 6])
    steps: list[int] = []

    def gone() -> list[int]:
        steps.append(1)
        return [1] if len(steps) > 1 else []

    alone = search(model, src, mask, CFG, None)
    found = search(model, src, mask, CFG, None, Steering(gone=gone))
    assert [found[0], found[2]] == [alone[0], alone[2]]
    assert all(len(each.tokens) < 2 for each in found[1])
    assert any(len(each.tokens) >= 2 for each in alone[1])
    none = search(model, src, mask, CFG, None, Steering(gone=lambda: [0, 1, 2]))
    assert all(len(each) <= 1 for each in none)
    assert len(none) == 3


def test_who_watches_sees_every_step() -> None:
    model = Toy(4, vocab=12)
    seen: list[tuple[int, ...]] = []
    found = search(
        model,
        *sentences(4, 12, [4]),
        CFG,
        None,
        Steering(watch=lambda beam, candidates, step: seen.append(tuple(step.token[0].tolist()))),
    )
    best = found[0][0].tokens
    assert len(seen) > len(best)
    assert all(token in tokens for token, tokens in zip(best, seen, strict=False))
