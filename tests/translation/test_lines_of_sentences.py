"""Lines of several sentences: translated sentence by sentence, then joined as in the source, attention included."""

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.small_runs import make_run
from hypothesis import given
from hypothesis import strategies as st

from nmt.cli.main import main
from nmt.data.sentences import sentence_spans
from nmt.errors import DataError
from nmt.translation.long_lines import LONGEST_PART, note
from nmt.translation.sentences import Sentences, cut_line
from nmt.translation.translations import Candidate, Translation, gap_between, joined_sentences
from nmt.translation.translator import Translator

FAST = ["search=greedy", "search.max_length_a=3", "search.max_length_b=0", "precision=fp32", "device=cpu"]
FIRST, SECOND, THIRD = "Der Hund schläft heute.", "Heute schläft der Mann!", "Ein Haus sieht der Hund?"
GAPS = st.sampled_from(["", " ", "  ", "\t", "\n", "\u3000", "\u00a0"])
PARTS = st.sampled_from(["Hund", "Ein Mann.", "我们。", "Was?", "...", "\u200b", "e.g.", "(Haus!)"])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "small")


@pytest.fixture(scope="module")
def translator(run: Path) -> Translator:
    return Translator.load(run, device="cpu", precision="fp32")


def loaded(run: Path, sentences: Sentences) -> Translator:
    return Translator.load(run, device="cpu", precision="fp32", sentences=sentences)


# Cutting


@given(st.lists(st.tuples(PARTS, GAPS), max_size=12), st.integers(1, 5))
def test_the_texts_of_a_line_and_the_gaps_are_the_line(parts: list[tuple[str, str]], at_once: int) -> None:
    line = "".join(text + gap for text, gap in parts)
    count = len(sentence_spans(line))
    cut = cut_line(line, at_once)
    of_lines = [len(sentence_spans(each)) for each in line.splitlines()]
    assert len(cut.texts) == max(1, sum(-(-each // at_once) for each in of_lines))
    assert len(cut.gaps) == len(cut.texts) - 1
    whole = "".join(text + gap for text, gap in zip(cut.texts, [*cut.gaps, ""], strict=True))
    assert whole in line
    assert whole.split() == line.split() or line.replace(whole, "").strip("\u200b \t\n\u3000\u00a0") == ""
    counts = [len(sentence_spans(text)) for text in cut.texts]
    assert sum(counts) == count
    assert max(counts) <= at_once
    assert max(counts) - min(counts) <= 1 or "\n" in line
    assert len(cut.texts) == 1 or not any("\n" in text for text in cut.texts)
    assert cut_line(line, None).texts == [line]


# Joining


def translated(text: str, parts: int = 1, dropped: int = 0) -> Translation:
    attention = np.full((1, 2, 1, 2), 0.5, np.float32) if parts == 1 else None
    n_best = [Candidate(text, -1.0, -2.0), Candidate(text.upper(), -2.0, -4.0)]
    return Translation("", n_best, ["▁a", "b"], ["▁c"], attention, parts=parts, dropped=dropped)


@pytest.mark.parametrize(
    ("texts", "gaps", "whole"),
    [
        (["I.", "He."], [" "], "I. He."),
        (["I.", "He.", "It."], ["\t", "\n"], "I.\tHe.\nIt."),
        (["I.", "He."], ["  \u00a0"], "I.  \u00a0He."),
        (["I.", "He."], [""], "I. He."),  # of a source in a script without spaces
        (["I.", "He."], ["\u3000"], "I. He."),
        (["I.", "He."], ["\u200b \u200f"], "I. He."),
        (["我。", "他。"], [" "], "我。他。"),
        (["我。", "他。"], ["\n"], "我。\n他。"),
        (["OK.", "他。"], [" "], "OK.他。"),
        (["ฉัน", "เขา"], [" "], "ฉัน เขา"),
        (["I.", "", "He."], [" ", "\n"], "I.\nHe."),
        (["", "He."], [" "], "He."),
    ],
)
def test_white_space_between_sentences_is_that_of_the_source(texts: list[str], gaps: list[str], whole: str) -> None:
    found = joined_sentences("s", [translated(text) for text in texts], gaps)
    assert (found.text, found.source, found.sentences) == (whole, "s", len(texts))
    assert found.n_best == [
        Candidate(whole, -1.0, -2.0 * len(texts)),
        Candidate(whole.upper(), -2.0, -4.0 * len(texts)),
    ]


def test_a_line_of_one_sentence_is_that_sentence() -> None:
    assert joined_sentences("s", [translated("I.")], []).n_best == translated("I.").n_best


def test_only_a_sentence_in_parts_makes_a_line_long() -> None:
    assert note(joined_sentences("s", [translated("I.")] * 3, [" "] * 2)) is None
    whole = joined_sentences("s", [translated("I."), translated("He.", parts=2)], [" "])
    assert note(whole) == "has 4 pieces; translated in 3 parts (long_lines=split)"
    assert whole.attention is None
    whole = joined_sentences("s", [translated("I."), translated("He.", dropped=7)], [" "])
    said = "has 11 pieces; only 4 are translated, the first 1,000 of each sentence (long_lines=truncate)"
    assert note(whole) == said


# Translating


def test_sentences_of_a_line_are_translated_one_by_one(translator: Translator) -> None:
    settings = replace(translator.settings, n_best=2, beam=3)
    line = f" {FIRST}  {SECOND}\t{THIRD}\n"
    whole, *alone = translator.translate([line, FIRST, SECOND, THIRD], attention=True, settings=settings)
    assert (whole.source, whole.sentences, whole.parts) == (line, 3, 3)
    first, second, third = (each.text for each in alone)
    gaps = gap_between(first[-1], second[0], "  "), gap_between(second[-1], third[0], "\t")
    assert whole.text == f"{first}{gaps[0]}{second}{gaps[1]}{third}"
    assert whole.log_prob == pytest.approx(sum(each.log_prob for each in alone), abs=1e-3)
    assert whole.score == pytest.approx(np.mean([each.score for each in alone]), abs=1e-4)
    assert whole.src_pieces == [piece for each in alone for piece in each.src_pieces]
    assert whole.attention is not None
    t = s = 0
    for number, each in enumerate(alone):
        assert each.attention is not None
        t += number > 0 and not each.tgt_pieces[0].startswith("▁")  # the sign of a new word, which is nobody's choice
        T, S = each.attention.shape[2:]
        assert whole.tgt_pieces[t : t + T] == each.tgt_pieces
        assert whole.attention[:, :, t : t + T, s : s + S] == pytest.approx(each.attention, abs=1e-5)
        assert not whole.attention[:, :, t : t + T, :s].any()
        assert not whole.attention[:, :, t : t + T, s + S :].any()
        t, s = t + T, s + S
    assert whole.attention.shape[2:] == (t, s)
    links = translator.translate([line], attention="words", settings=settings)[0]
    assert links.attention is None
    assert links.word_links == whole.word_links
    assert whole.word_links.src == f"{FIRST} {SECOND} {THIRD}".split()


def test_attention_of_very_long_lines_is_not_kept(translator: Translator) -> None:
    settings = replace(translator.settings, beam=1, max_length_a=1.0, max_length_b=0.1)
    line = " ".join([FIRST] * 120)
    [whole] = translator.translate([line], attention=True, settings=settings)
    assert len(whole.src_pieces) > LONGEST_PART
    assert (whole.attention, whole.sentences) == (None, 120)
    assert translator.notes().of(whole) == {}
    assert whole.alignment


def test_lines_are_kept_whole_where_that_is_wanted(run: Path) -> None:
    [whole] = loaded(run, "keep").translate([f"{FIRST} {SECOND}"])
    assert whole.sentences == 1
    [apart] = loaded(run, "split").translate([f"{FIRST} {SECOND}"])
    assert apart.sentences == 2


def test_a_model_of_documents_reads_as_many_sentences_as_it_was_trained_on(run: Path, tmp_path: Path) -> None:
    trained = make_run(tmp_path / "documents", usual_sentences=2)
    auto = loaded(trained, "auto")
    line = f"{FIRST} {SECOND} {THIRD} {FIRST}"
    whole, one, two = auto.translate([line, f"{FIRST} {SECOND}", f"{THIRD} {FIRST}"])
    assert (whole.sentences, one.sentences, auto.at_once) == (2, 1, 2)
    assert whole.text == one.text + gap_between(one.text[-1], two.text[0], " ") + two.text
    assert loaded(trained, "split").translate([line])[0].sentences == 4
    assert loaded(run, "auto").at_once == 1


def test_the_sentences_of_a_line_with_a_prefix_are_translated_together(run: Path) -> None:
    translator = loaded(run, "auto")
    line, prefix = f"{FIRST} {SECOND}", "der Mann. heute "
    found = translator.translate([line, FIRST, line, line, line], prefixes=[prefix, prefix, None, "", "  "])
    begun, alone, *free = found
    assert begun.text.startswith("der Mann. heute")
    [kept] = loaded(run, "keep").translate([line], prefixes=[prefix])
    assert (begun.text, begun.sentences) == (kept.text, 1)
    assert alone.text == translator.translate([FIRST], prefixes=[prefix])[0].text
    assert [(each.text, each.sentences) for each in free] == [(translator.translate([line])[0].text, 2)] * 3
    with pytest.raises(DataError, match=f"^the translation of a line in 2 parts cannot begin with '{prefix}'; give it"):
        translator.translate([" ".join([FIRST] * 120)], prefixes=[prefix])
    with pytest.raises(DataError, match="1 source but prefixes for 2; give one for each, or None"):
        translator.translate([line], prefixes=["der Mann ", None])


# The verbs


def test_translate_says_how_many_sentences_it_reads_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make_run(Path("documents"), usual_sentences=3)
    Path("in").write_text(f"{FIRST} {SECOND}\u2028{THIRD}\x85{FIRST}\n{SECOND}\n")
    texts = {}
    for words in ([], ["sentences=split"], ["sentences=keep"]):
        assert main(["translate", "model=documents", *FAST, "input=in", *words]) == 0
        out, err = capsys.readouterr()
        assert ("up to 3 sentences together" in err) == (not words)
        texts[tuple(words)] = out.splitlines()
        assert len(texts[tuple(words)]) == len(out.split("\n")) - 1 == 2
    assert len({lines[0] for lines in texts.values()}) == 3
    assert len({lines[1] for lines in texts.values()}) == 1
    assert main(["translate", "model=documents", *FAST, "input=in", "sentences=cut"]) == 2
    assert "sentences='cut' is not possible; choose from: auto, keep, split" in capsys.readouterr().err


def test_a_folder_of_translations_knows_how_lines_were_cut(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in").write_text(f"{FIRST} {SECOND}\n")
    words = ["translate", f"model={run}", *FAST, "input=in", "output=out/"]
    assert main([*words, "sentences=auto"]) == 0
    assert main([*words, "sentences=split"]) == 0  # the same for this model
    assert main([*words, "sentences=keep"]) == 2
    assert "sentences was 1, is null" in capsys.readouterr().err


def test_evaluate_reads_lines_as_they_are_unless_told(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("src").write_text(f"{FIRST} {SECOND}\u2028{THIRD}\n{FIRST}\n")
    Path("ref").write_text("a\nb\n")
    found = {}
    for kind in ("keep", "split", None):
        words = [] if kind is None else [f"sentences={kind}"]
        assert (
            main(["evaluate", f"model={run}", *FAST, "src=src", "ref=ref", "intervals=false", "output=out", *words])
            == 0
        )
        found[kind] = Path("out/hypotheses.txt").read_text()
        assert len(found[kind].splitlines()) == 2
    assert found[None] == found["keep"] != found["split"]
    capsys.readouterr()


def test_interactive_shows_the_attention_of_two_sentences(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{FIRST}\t{SECOND}\n:attention\n".encode())))
    assert main(["interactive", f"model={run}", *FAST]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "\t" in out.splitlines()[0]
    assert "\ufffd" not in out.splitlines()[0].partition("\t")[1]
    assert "░ ≥ 0.05" in out


def test_pictures_show_all_sentences_of_a_line(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").write_text(f"{FIRST} {SECOND}\n")
    words = ["visualise", f"model={run}", *FAST, f"input={tmp_path / 'in'}", f"output={tmp_path / 'out'}"]
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2
    assert err == ""


def test_alignments_count_the_words_of_the_whole_line(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").write_text(f"{FIRST} {SECOND}\n")
    words = ["translate", f"model={run}", *FAST, f"input={tmp_path / 'in'}", "format=jsonl", "alignments=true"]
    assert main(words) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["source"] == f"{FIRST} {SECOND}"
    assert record["src_words"] == f"{FIRST} {SECOND}".split()
    assert record["translation"].split() == record["tgt_words"]
    links = [tuple(map(int, link.split("-"))) for link in record["alignment"].split()]
    assert links
    assert all(i < len(record["src_words"]) and j < len(record["tgt_words"]) for i, j in links)
