"""Text in, text out: laws of translation over every attention, and what Python users see."""

import gc
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.models import ATTENTIONS
from helpers.small_runs import make_run, sentences

import nmt
from nmt.data.batch import make_batch
from nmt.data.letter_case import LetterCase
from nmt.data.sentences import sentence_spans
from nmt.errors import CheckpointError, DataError
from nmt.search.beam import search
from nmt.search.steering import UNSTEERED
from nmt.translation import long_lines
from nmt.translation import translator as module
from nmt.translation.translations import Candidate, Translation, joined
from nmt.translation.translator import Translator

ODD = ["", "  ", "a\u2028b", "a\x00b", "ein\tHund\r", "▁ </s> <pad>", "Ünï 狗 🐕", "\u3000", "."]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run folder for every attention."""
    folder = tmp_path_factory.mktemp("runs")
    return {name: make_run(folder / name, name) for name in ATTENTIONS}


@pytest.fixture(scope="module")
def general(runs: dict[str, Path]) -> Translator:
    return Translator.load(runs["general"], device="cpu", precision="fp32")


@pytest.mark.parametrize("name", ATTENTIONS)
def test_a_translation_does_not_depend_on_its_batch_mates(runs: dict[str, Path], name: str) -> None:
    translator = Translator.load(runs[name], device="cpu", precision="fp32")
    settings = replace(translator.settings, n_best=2, beam=4)
    texts = sentences(12, seed=5) + ODD
    together = translator.translate(texts, settings=settings)
    assert together == translator.translate(texts, settings=settings)
    one_by_one = translator.translate(texts, settings=replace(settings, batch_sentences=1))
    in_sevens = translator.translate(texts, settings=replace(settings, batch_sentences=7))
    for text, *answers in zip(texts, together, one_by_one, in_sevens, strict=True):
        scores = [answer.score for answer in answers]
        assert scores == pytest.approx([scores[0]] * 3, abs=1e-4), text
        gap = answers[0].score - answers[0].n_best[-1].score
        if gap > 1e-4:
            assert len({answer.text for answer in answers}) == 1, text


def candidates(translator: Translator, texts: list[str]) -> list[list[Candidate]]:
    """What it writes for each."""
    return [each.n_best for each in translator.translate(texts)]


def test_how_a_source_was_typed_changes_nothing(general: Translator) -> None:
    typed = ["der Hund\u00ad sieht\u00a0das “Haus”", "ﬁn ｄｅｒ Hund’s", "der \u200bHund"]
    plain = ['der Hund sieht das "Haus"', "fin der Hund's", "der Hund"]
    assert candidates(general, typed) == candidates(general, plain)
    assert general.encode_pairs(typed, typed, 1)[0] == general.encode_pairs(plain, plain, 1)[0]


CAPITALS = ["DER HUND SIEHT DAS HAUS.", "Der Mann Sieht Das Haus Heute"]


def test_where_no_words_are_known_capitals_are_read_as_lower_case_if_that_has_fewer_pieces(general: Translator) -> None:
    encode = general.tokenizers.src.encode
    for text in [*CAPITALS, "HUND HAUS MANN HEUTE", "Hund Haus Mann Heute"]:
        fewer = len(encode(text.lower())) < len(encode(text))
        assert (candidates(general, [text]) == candidates(general, [text.lower()])) == fewer
        assert general.as_read(text) == (text.lower() if fewer else text)
    assert len({general.as_read(text) == text for text in [*CAPITALS, "Hund Haus Mann Heute"]}) == 2
    assert general.as_read("Der Hund sieht das Haus.") == "Der Hund sieht das Haus."


def test_a_source_is_read_in_the_case_of_the_training_sources(tmp_path: Path, general: Translator) -> None:
    usual = "Der Hund sieht heute ein grünes Haus."
    case = LetterCase.learned([usual, "Heute sieht der Hund."], "de")
    knows = Translator.load(make_run(tmp_path / "run", letter_case=case), device="cpu", precision="fp32")
    for text in (usual, usual.upper(), usual.lower(), usual.title()):
        assert knows.as_read(text) == usual
        assert candidates(knows, [text]) == candidates(knows, [usual])


def test_a_text_is_in_an_n_best_list_once(general: Translator) -> None:
    texts = [text for text in sentences(20, seed=5) if len(sentence_spans(text)) == 1]
    settings = replace(general.settings, n_best=20, beam=20)
    ids = general.tokenizers.src.encode_batch(texts)
    merged = 0
    for answer, pieces in zip(general.translate(texts, settings=settings), ids, strict=True):
        [hypotheses] = general.search(make_batch([pieces], [[]]), settings, UNSTEERED)
        spelled = [" ".join(general.tokenizers.tgt.decode(h.tokens).splitlines()) for h in hypotheses]
        merged += len(spelled) - len(set(spelled))
        assert [each.text for each in answer.n_best] == list(dict.fromkeys(spelled))
        scores = [each.score for each in answer.n_best]
        assert scores == pytest.approx([hypotheses[spelled.index(each.text)].score for each in answer.n_best], abs=1e-4)
    assert merged


def test_samples_of_the_same_text_all_count(general: Translator) -> None:
    settings = replace(general.settings, sample=True, n_best=6, top_k=1)  # the likeliest token, whatever is drawn
    [answer] = general.translate(["der Hund"], settings=settings)
    assert len(answer.n_best) == 6
    assert len({each.text for each in answer.n_best}) == 1


def test_samples_need_no_wide_beam(general: Translator) -> None:
    drawn = module.with_n_best(replace(general.settings, sample=True), 20_000)
    assert (drawn.n_best, drawn.beam) == (20_000, general.settings.beam)
    found = module.with_n_best(general.settings, general.settings.beam + 1)
    assert found.n_best == found.beam == general.settings.beam + 1


def samples(translator: Translator, lines: list[str], buffer: int = 100, batch_sentences: int = 64) -> list[str]:
    """Of the lines as a text of their own."""
    settings = replace(translator.settings, sample=True, batch_sentences=batch_sentences)
    translator.begin_text("")
    return [each.text for each in translator.stream(lines, buffer, settings=settings)]


def test_samples_of_a_line_depend_on_the_seed_and_its_number_alone(
    runs: dict[str, Path], general: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_lines, "LONGEST_PART", 20)
    lines = [*sentences(12, seed=15), "", "Der Hund schläft. Ein Mann sieht das Haus.", "der Hund " * 30]
    whole = samples(general, lines)
    assert samples(general, lines, buffer=1) == samples(general, lines, buffer=4) == whole
    assert samples(general, lines, batch_sentences=1) == samples(general, lines, batch_sentences=2) == whole
    three = Translator.load(runs["general"], device="cpu", precision="fp32", workers=3)
    assert samples(three, lines, batch_sentences=1) == whole
    other = Translator.load(runs["general"], device="cpu", precision="fp32", seed=general.seed + 1)
    same = [line for line, drawn, mine in zip(lines, samples(other, lines), whole, strict=True) if drawn == mine]
    assert same == [""]


def test_every_line_and_every_text_has_samples_of_its_own(general: Translator) -> None:
    settings = replace(general.settings, sample=True)
    line = "Der Hund sieht heute das Haus."
    drawn = [*samples(general, [line] * 3), general.translate([line], settings=settings)[0].text]
    drawn += [each.text for each in general.translate([f"{line} {line}"], settings=settings)]
    ids = general.tokenizers.src.encode(line)
    drawn += [each.text for each in general.batch([ids, ids], False, settings)]
    for name in ("a", "b"):
        general.begin_text(name)
        drawn.append(general.translate([line], settings=settings)[0].text)
    assert len(set(drawn)) == len(drawn) == 9
    general.begin_text("a")
    assert general.translate([line], settings=settings)[0].text == drawn[7]


def test_every_part_of_a_line_has_a_seed_of_its_own(general: Translator) -> None:
    general.begin_text("a")
    together = general.seeds_of_next([1, 2, 0, 3])
    assert len(set(together)) == 6
    general.begin_text("a")
    assert [*general.seeds_of_next([1]), *general.seeds_of_next([2, 0]), *general.seeds_of_next([3])] == together
    general.begin_text("b")
    assert not set(general.seeds_of_next([1, 2, 0, 3])) & set(together)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention_lies_on_words_that_exist(runs: dict[str, Path], name: str) -> None:
    translator = Translator.load(runs[name], device="cpu", precision="fp32")
    assert translator.has_attention == (name != "none")
    for answer in translator.translate(sentences(8, seed=6) + ODD, attention=True):
        if answer.attention is None:
            assert name == "none" or not answer.src_pieces
            assert answer.alignment == []
            continue
        assert answer.attention.shape[2:] == (len(answer.tgt_pieces), len(answer.src_pieces))
        assert (answer.attention >= 0).all()
        assert (answer.attention.sum(-1) <= 1 + 1e-5).all()
        np.testing.assert_allclose(answer.mean_attention, answer.attention.mean((0, 1)))
        _, src_words, tgt_words = answer.word_attention
        assert all(i in range(len(src_words)) and j in range(len(tgt_words)) for i, j in answer.alignment)
        assert len({j for _, j in answer.alignment}) == len(answer.alignment)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_a_found_translation_scores_as_it_is_forced(runs: dict[str, Path], name: str) -> None:
    translator = Translator.load(runs[name], device="cpu", precision="fp32")
    ids = translator.tokenizers.src.encode_batch(sentences(10, seed=7))
    batch = make_batch(ids, ids)
    found = search(translator.model, batch.src, batch.src_mask, translator.settings, None)
    with torch.inference_mode():
        log_probs, _ = translator.model.forced(make_batch(ids, [best[0].tokens for best in found]))
    assert log_probs.sum(1).tolist() == pytest.approx([best[0].log_prob for best in found], abs=1e-3)


def test_forced_scores_take_text(general: Translator) -> None:
    sources = [*sentences(70, seed=8), ""]
    targets = [*sentences(70, seed=9), ""]
    encode = general.tokenizers.src.encode_batch
    with torch.inference_mode():
        log_probs, _ = general.model.forced(make_batch(encode(sources), encode(targets)))
    scores = general.forced_scores(sources, [f" {target}\n" for target in targets])
    assert scores == pytest.approx(log_probs.sum(1).tolist(), abs=1e-3)
    assert general.forced_scores([], []) == []
    pieces = sum(len(ids) + 1 for ids in encode(targets))
    assert general.cross_entropy(sources, targets) == pytest.approx(-sum(scores) / pieces)
    with pytest.raises(DataError, match="1 source but 2 targets to score"):
        general.forced_scores(["a"], ["a", "b"])


@pytest.mark.parametrize("name", ATTENTIONS)
def test_forced_pairs_do_not_depend_on_their_batch_mates(runs: dict[str, Path], name: str) -> None:
    translator = Translator.load(runs[name], device="cpu", precision="fp32")
    sources, targets = ["", "a", *sentences(20, seed=12), "der Hund " * 80], ["a", "", *sentences(21, seed=13)]
    together = translator.force(sources, targets)
    assert [pair.log_prob for pair in together] == pytest.approx(translator.forced_scores(sources, targets), abs=1e-4)
    for source, target, pair in zip(sources, targets, together, strict=True):
        [alone] = translator.force([source], [target])
        assert (pair.source, pair.text, pair.score) == (source, target, pair.log_prob)
        assert pair.log_prob == pytest.approx(alone.log_prob, abs=1e-3)
        assert (pair.attention is None) == (name == "none")
        np.testing.assert_allclose(pair.mean_attention, alone.mean_attention, atol=1e-4)
        assert pair.mean_attention.shape == (len(pair.tgt_pieces), len(pair.src_pieces))
    assert translator.force([], []) == []


def test_row_t_of_forced_attention_chose_piece_t(general: Translator) -> None:
    source, target = "der Hund schläft heute .", "ein Haus sieht"
    [whole] = general.force([source], [target])
    ids = general.tokenizers.tgt.encode(target)
    assert whole.attention is not None
    for t in range(len(ids)):  # the pieces before t, not t itself, decide row t
        batch = make_batch([general.tokenizers.src.encode(source)], [ids[:t]])
        with torch.inference_mode():
            _, weights = general.model.forced(batch)
        np.testing.assert_allclose(whole.attention[:, :, t], weights[0, :, :, -1, :-1], atol=1e-5)


def test_every_translation_of_a_line_is_one_line(general: Translator) -> None:
    settings = replace(general.settings, sample=True, n_best=20)
    answers = general.translate(sentences(20, seed=9) + ODD, settings=settings)
    for answer in answers:
        most = max(1, len(answer.source.splitlines()))  # line ends are those of the source
        assert all(len(candidate.text.splitlines()) <= most for candidate in answer.n_best)
    assert [answer.source for answer in answers][-len(ODD) :] == ODD
    for number in (0, 1, 7):
        assert answers[number - len(ODD)].text == ""


def test_the_best_come_first(general: Translator) -> None:
    for answer in general.translate(sentences(10, seed=10), settings=replace(general.settings, n_best=5)):
        scores = [candidate.score for candidate in answer.n_best]
        assert scores == sorted(scores, reverse=True)
        assert (answer.text, answer.score) == (answer.n_best[0].text, scores[0])


def test_a_stream_reads_no_further_than_its_buffer(general: Translator) -> None:
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        while True:
            read += 1
            yield f"Hund {read}"

    translations = general.stream(endless(), buffer=4, settings=replace(general.settings, beam=1))
    for number in range(1, 10):
        assert next(translations).source == f"Hund {number}"
        assert read <= number + 3


def test_a_stream_of_long_lines_reads_fewer_ahead(general: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0

    def lines() -> Iterator[str]:
        nonlocal read
        for number in range(10):
            read += 1
            yield "Hund " * 4 if number % 3 else ""

    monkeypatch.setattr(module, "READ_AHEAD", 40)
    translations = general.stream(lines(), buffer=1000, settings=replace(general.settings, beam=1))
    seen = []
    for number, translation in enumerate(translations):
        seen.append(translation.source)
        assert read <= number + 4  # two full lines and an empty one
    assert seen == list(lines())


def test_a_stream_is_the_list(general: Translator) -> None:
    texts = sentences(11, seed=11) + ODD
    streamed = list(general.stream(iter(texts), buffer=3))
    assert [t.text for t in streamed] == [t.text for t in general.translate(texts)]


def test_a_line_too_long_for_one_search_is_translated_in_parts(
    general: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = "der Hund schläft heute .", "heute schläft der Hund .", "Hund der heute schläft ."
    lengths = [len(ids) for ids in general.tokenizers.src.encode_batch([first, second, third])]
    monkeypatch.setattr(long_lines, "LONGEST_PART", max(lengths) + 2)
    whole, *parts = general.translate([f"{first} {second} {third}", first, second, third], attention=True)
    assert (whole.parts, whole.dropped, [part.parts for part in parts]) == (3, 0, [1, 1, 1])
    assert whole.text.replace(" ", "") == "".join(part.text for part in parts).replace(" ", "")
    assert whole.log_prob == pytest.approx(sum(part.log_prob for part in parts), abs=1e-3)
    assert whole.src_pieces == [piece for part in parts for piece in part.src_pieces]
    assert whole.attention is None  # it would grow with the square of the line; the links do not
    found = [part.word_links for part in parts]
    assert whole.word_links.src == [word for part in found for word in part.src]
    assert whole.word_links.tgt == [word for part in found for word in part.tgt]
    before = [(sum(len(p.src) for p in found[:n]), sum(len(p.tgt) for p in found[:n])) for n in range(3)]
    shifted = [(i + b[0], j + b[1]) for part, b in zip(found, before, strict=True) for i, j in part.links]
    assert whole.alignment == shifted
    assert whole.alignment


def test_the_rest_of_a_line_too_long_for_one_search_is_left_out_where_that_is_wanted(
    runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_lines, "LONGEST_PART", 6)
    translator = Translator.load(runs["general"], device="cpu", precision="fp32", long_lines="truncate")
    text = "der Hund schläft heute und der Mann sieht das Haus"
    ids = translator.tokenizers.src.encode(text)
    answer, whole, nothing = translator.translate([text, "der Hund", ""])
    assert (answer.source, answer.parts, answer.dropped) == (text, 1, len(ids) - 6)
    assert answer.src_pieces == translator.tokenizers.src.pieces(ids[:6])
    assert (whole.parts, whole.dropped, nothing.parts, nothing.dropped) == (1, 0, 0, 0)
    alone = translator.batch([ids[:6]], False, translator.settings)[0]  # other sums than beside another sentence
    assert [each.text for each in answer.n_best] == [each.text for each in alone.n_best]
    assert [each.score for each in answer.n_best] == pytest.approx([each.score for each in alone.n_best], rel=1e-4)


@pytest.mark.parametrize("name", ["general", "multi_head"])
def test_word_links_alone_are_those_of_the_attention(runs: dict[str, Path], name: str) -> None:
    translator = Translator.load(runs[name], device="cpu", precision="fp32")
    texts = sentences(20, seed=14) + ODD
    drawn, kept = (list(translator.stream(texts, 7, wanted)) for wanted in ("words", True))
    assert all(answer.attention is None for answer in drawn)
    assert [answer.word_links for answer in drawn] == [answer.word_links for answer in kept]
    assert any(answer.alignment for answer in drawn)


@pytest.mark.parametrize("sample", [False, True])
def test_a_model_whose_numbers_are_none_is_named(runs: dict[str, Path], sample: bool) -> None:
    translator = Translator.load(runs["general"], device="cpu", precision="fp32")
    settings = replace(translator.settings, sample=sample)
    with torch.no_grad():
        next(iter(translator.model.parameters())).fill_(float("nan"))
    message = rf"NaN, {re.escape(str(runs['general']))}; its weights are damaged"
    for attention in (False, True):
        with pytest.raises(CheckpointError, match=message):
            translator.translate(["der Hund"], attention, settings)
    with pytest.raises(CheckpointError, match=message):
        translator.forced_scores(["der Hund"], ["der Mann"])
    assert translator.translate(["", "  "])[0].text == ""  # nothing is asked of the model


def test_parts_in_scripts_without_spaces_are_joined_without() -> None:
    def part(text: str) -> Translation:
        return Translation("", [Candidate(text, -1.0, -2.0)], ["a"], ["b"], None)

    assert joined("s", [part("我。"), part("他。")], 0).text == "我。他。"
    assert joined("s", [part("I."), part(""), part("He.")], 0).text == "I. He."


def test_from_python(runs: dict[str, Path]) -> None:
    translator = nmt.load(str(runs["general"]))
    [answer] = translator.translate(["der Hund"])
    assert isinstance(answer, nmt.Translation)
    assert translator.translate([]) == []
    with pytest.raises(TypeError, match="list of sentences"):
        translator.translate("der Hund")
    with pytest.raises(CheckpointError, match="is not a folder"):
        nmt.load("nowhere")
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        nmt.lode  # noqa: B018


def test_importing_nmt_does_not_import_torch() -> None:
    code = "import sys, nmt; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


@pytest.mark.parametrize("name", ATTENTIONS)
def test_a_translation_leaves_no_reference_cycles(runs: dict[str, Path], name: str) -> None:
    """Only the garbage collector frees a cycle, and while it runs no thread of a server can answer."""
    translator = Translator.load(runs[name], device="cpu", precision="fp32", workers=1)
    texts = sentences(5, seed=6)
    translator.translate(texts)
    gc.disable()
    gc.freeze()  # what is there already need not be looked through
    try:
        translator.translate(texts)
        assert gc.collect() == 0
    finally:
        gc.unfreeze()
        gc.enable()
