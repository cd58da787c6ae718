"""Evaluations that would mislead: each is refused, or said and put on record."""

import json
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from helpers.small_corpora import make_pairs
from helpers.small_runs import CHINESE, GERMAN, make_run, sentences, small_tokenizer
from helpers.training_runs import corpus, start, write_corpus
from hypothesis import given
from hypothesis import strategies as st

from nmt.cli.main import main
from nmt.commands import evaluate
from nmt.data import train_hashes
from nmt.data.letter_case import LetterCase
from nmt.data.tokenizer import Tokenizer, TokenizerPair
from nmt.errors import CheckpointError
from nmt.scoring.cautions import (
    PIECE_MARKS,
    of_case,
    of_copies,
    of_direction,
    of_language,
    of_pieces,
    of_test_set,
    of_tokens,
    of_translations,
    of_words,
    scripts,
)

FAST = ["search=greedy", "search.max_length_a=3", "search.max_length_b=0.5", "precision=fp32", "device=cpu"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "small")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, lines: list[str]) -> str:
    Path(name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return name


def evaluated(run: Path, sources: list[str], references: list[str], *words: str) -> list[str]:
    """The cautions of an evaluation."""
    files = [f"src={write('src', sources)}", f"ref={write('ref', references)}", "output=out", "intervals=false"]
    assert main(["evaluate", f"model={run}", *FAST, *files, *words]) == 0
    found: list[str] = json.loads(Path("out/scores.json").read_text())["cautions"]
    return found


def refused(
    capsys: pytest.CaptureFixture[str], run: Path, sources: list[str], references: list[str], *words: str
) -> str:
    capsys.readouterr()
    files = [f"src={write('src', sources)}", f"ref={write('ref', references)}", "output=refused"]
    assert main(["evaluate", f"model={run}", *FAST, *files, *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    [line] = [line for line in err.splitlines() if "the run has no dev split" not in line]
    assert not Path("refused").exists()
    return line


@pytest.mark.slow
def test_test_pairs_of_the_training_data_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = corpus(tmp_path / "data")
    assert start(data, tmp_path / "runs", train__max_updates=1, data__dev_size=0, data__tgt_lang=None) == 0
    run = tmp_path / "runs" / "run"
    pairs = list(zip(*((data / f"train.{side}").read_text().splitlines() for side in ("src", "tgt")), strict=True))
    exact, changed = pairs[:7], [(f"{s.upper()}!", f"  {t} .") for s, t in pairs[7:12]]
    swapped = [(pairs[20][0], pairs[21][1])]  # both sides known, not together
    new = [(f"{s} zzz", f"{t} zzz") for s, t in pairs[30:37]]
    sources, references = (list(side) for side in zip(*exact, *changed, *swapped, *new, strict=True))
    sources[0] = f"\u2060{sources[0]}\u00ad"  # which training has in plain characters
    capsys.readouterr()
    said = evaluated(run, sources, references)
    line = f"12 of 20 test pairs (60.0%) stand in the training data of {run}, 7 of them letter for letter"
    assert line in said
    assert f"caution: {line}\n" in capsys.readouterr().err
    assert not any("test pairs" in line for line in evaluated(run, sources[12:], references[12:]))
    tuned = tmp_path / "runs" / "tuned"
    lines = [f"{s} yy" for s, _ in pairs[:50]]
    write(str(data / "new.src"), lines)
    write(str(data / "new.tgt"), [f"{line} z" for line in lines])
    files = {"data__train": {"src": "new.src", "tgt": "new.tgt", "files": None, "weights": None}}
    assert (
        start(
            data, tmp_path / "runs", name="tuned", init_from=str(run), train__max_updates=1, data__dev_size=0, **files
        )
        == 0
    )
    said = evaluated(tuned, [*sources, lines[0]], [*references, f"{lines[0]} z"])
    assert any(line.startswith("13 of 21 test pairs (61.9%)") for line in said)
    unknowing = make_run(tmp_path / "runs" / "unknowing")
    assert line in evaluated(unknowing, sources, references, f"compare_with={run}")
    (run / train_hashes.HASHES_FILE).write_bytes((run / train_hashes.HASHES_FILE).read_bytes()[:-1] + b"x")
    assert f"{run / train_hashes.HASHES_FILE} is damaged: its checksum differs" in refused(
        capsys, run, sources, references
    )
    (run / train_hashes.HASHES_FILE).unlink()
    assert f"{run / train_hashes.HASHES_FILE} is missing" in refused(capsys, run, sources, references)


def test_a_tab_on_either_side_makes_another_pair() -> None:
    assert len(np.unique(train_hashes.hashes(["", "\t", "\t\t"], ["\t\t", "\t", ""])[:, 0])) == 3


@given(st.lists(st.tuples(st.text(), st.text()), max_size=20), st.data())
def test_hashes_find_what_was_seen_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("seen") / "seen.bin"
    known = [pair for pair in pairs if data.draw(st.booleans())]
    path.write_bytes(train_hashes.hashes(*zip(*known, strict=True)).tobytes() if known else b"")
    sources, references = [s for s, _ in pairs], [t for _, t in pairs]
    found = train_hashes.seen(path, sources, [references]) if pairs else train_hashes.Seen(0, 0, 0)
    assert found.exact == sum(pair in known for pair in pairs)
    assert found.exact <= found.normalised <= len(pairs)


def test_several_references_and_long_files_are_searched_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train_hashes, "CHUNK_PAIRS", 3)
    pairs = [(f"s{i}", f"t{i}") for i in range(20)]
    path = tmp_path / "seen.bin"
    path.write_bytes(train_hashes.hashes(*zip(*pairs, strict=True)).tobytes())
    sources = ["s0", "s19", "s7", "s8"]
    assert train_hashes.seen(path, sources, [["x", "x", "t7", "T8."], ["t0", "t19", "x", "x"]]) == train_hashes.Seen(
        4, 3, 4
    )
    path.write_bytes(b"1234567")
    with pytest.raises(CheckpointError, match=r"seen\.bin is damaged; restore it from a copy$"):
        train_hashes.seen(path, sources, [sources])


PIECES = [
    ("▁der ▁Hu nd", "▁"), ("der Hu@@ nd", "@@"), ("der Hu@@", "@@"), ("der Hu ##nd", "##"), ("der Hu￭ nd", "￭"),
    ("der Hu ￭nd", "￭"), ("der</w> Hu nd</w>", "</w>"), ("Ġder ĠHu nd", "Ġ"), ("der ĠHu n d ĠHaus", "Ġ"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "mark"), PIECES)
def test_text_in_pieces_is_refused(run: Path, line: str, mark: str, capsys: pytest.CaptureFixture[str]) -> None:
    plain = ["der Hund"] * 4
    message = refused(capsys, run, plain, [*plain[:3], line])
    assert f"the reference of src is cut into pieces: {mark} is in 1 of 4 lines, the first is line 4" in message
    assert "the source of src is cut into pieces" in refused(capsys, run, [line] * 4, plain)
    few = [*plain, line] + plain * 10
    share = f"{mark} is in 1 of 45 lines of"
    said = [line for line in evaluated(run, few, few) if "cut into pieces" in line]
    rest = "the first is line 5: are they cut into pieces?"
    assert said == [f"{share} the source, {rest}", f"{share} the reference, {rest}"]


def test_what_only_looks_like_a_mark_is_text() -> None:
    for line in ("to a@@b.c", "## A heading", "##A heading", "C ## minor", "a ￭ b", "<w>a</w>", "Il-Ġurnal ta' Ġunju"):
        assert not any(pattern.search(line) for pattern in PIECE_MARKS.values()), line


def test_another_language_than_the_models_is_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = refused(capsys, run, ["a"], ["b"], "data.tgt_lang=fr")
    assert message == (
        "error: data.tgt_lang=fr, but the model was trained with de; leave it out, or take a model of that language"
    )
    assert "data.src_lang=de, but the model was trained with en" in refused(
        capsys, run, ["a"], ["b"], "data.src_lang=de"
    )
    evaluated(run, ["a"], ["b"], "data.tgt_lang=de")


def test_the_second_model_is_held_to_the_same(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    silent = make_run(tmp_path / "silent", data={"src_lang": None, "tgt_lang": None})
    french = make_run(tmp_path / "french", data={"tgt_lang": "fr"})
    for one, other in ((silent, run), (run, silent)):  # nobody typed a language, and nothing contradicts
        evaluated(one, ["a"], ["b"], f"compare_with={other}")
    message = refused(capsys, run, ["a"], ["b"], f"compare_with={french}")
    assert "data.tgt_lang=de, but the model was trained with fr" in message
    assert "data.src_lang=de, but" in refused(capsys, silent, ["a"], ["b"], f"compare_with={run}", "data.src_lang=de")


def test_letters_of_a_script_count_as_often_as_characters_have_been_seen(tmp_path: Path) -> None:
    """Japanese has few Hiragana among its different letters, but most of its text is written in them."""
    generator = random.Random(1)
    rare = [chr(0x4E00 + number) for number in range(2000)]
    hiragana = ("".join(generator.choices("あいうえおかきくけこ", k=20)) for _ in range(400))
    text = [kana + "".join(rare[5 * row : 5 * row + 5]) + "カタカ" for row, kana in enumerate(hiragana)] + ["ab"]
    (tmp_path / "text").write_text("\n".join(text), "utf-8")
    kind = {"model_type": "char", "vocab_size": 5000, "hard_vocab_limit": False, "character_coverage": 1.0}
    special = {f"{name}_id": number for number, name in enumerate(("pad", "unk", "bos", "eos"))}
    files = {"input": str(tmp_path / "text"), "model_prefix": str(tmp_path / "m")}
    sentencepiece.SentencePieceTrainer.train(**files, **kind, **special)
    tokenizer = Tokenizer.load(tmp_path / "m.model")
    assert not list(of_language(tokenizer, "it", text))
    assert not list(of_language(tokenizer, "it", ["カタカ"] * 3))  # a tenth of the letters that the text has
    [said] = of_language(tokenizer, "it", ["ab ba"] * 3)  # a few of them
    assert said == "it is in Latin letters, which the model's vocabulary hardly knows"
    [said] = of_language(tokenizer, "it", ["Собака видит дом."] * 3)
    assert said == "it is in Cyrillic letters, which the model's vocabulary hardly knows"


def test_a_script_that_the_model_does_not_know_is_said(run: Path) -> None:
    russian = ["собака бежит домой", "красный дом"]
    said = evaluated(run, russian, ["der Hund", "das Haus"])
    assert any(line.endswith("single bytes: is it in the model's language?") for line in said)
    assert "the source is in Cyrillic letters, which the model's vocabulary hardly knows" in said
    for known in (sentences(20), sentences(20, words=CHINESE, joint="")):
        assert not list(of_language(small_tokenizer(), "it", known))
    assert not list(of_language(small_tokenizer(), "it", ["", "12", "12 , ."]))


def test_a_source_of_words_that_the_model_does_not_know_is_said(tmp_path: Path) -> None:
    data = corpus(tmp_path / "data")
    assert start(data, tmp_path / "runs", train__max_updates=1, data__dev_size=0) == 0
    run, sources = tmp_path / "runs" / "run", (data / "train.src").read_text().splitlines()[:20]
    letters = "abcdefghijklmnoprstuvwxyz"
    other = [line.lower().translate(str.maketrans(letters, letters[::-1])) for line in sources]
    said = "not in the sources that the model was trained on: is it in the model's language?"
    assert not [line for line in evaluated(run, sources, sources) if said in line]
    [line] = [line for line in evaluated(run, other, sources) if said in line]
    assert " of the words of " in line


def test_half_of_the_words_are_enough_and_none_are_said_of_older_runs() -> None:
    known = LetterCase.learned(["See the man and the woman."], "en")
    [line] = of_words(known, "it", ["Der man", "die Frau"])
    assert line.startswith("67% of the words of it are not in")  # Frau may be a name
    assert not list(of_words(known, "it", ["Der man", "the frau"]))
    assert not list(of_words(known, "it", ["", "12"]))
    assert not list(of_words(LetterCase(), "it", ["Der Hund"]))


def test_every_reference_is_looked_at_as_the_source_is(run: Path) -> None:
    german, greek = ["der Hund", "das Haus"], ["ο σκύλος", "το σπίτι"]
    said = evaluated(run, german, greek)
    assert "the reference is in Greek letters, which the model's vocabulary hardly knows" in said
    assert [line.partition("% ")[2] for line in said if "single bytes" in line] == [
        "of the pieces of the reference are unknown to the model, or single bytes: is it in the model's language?"
    ]
    pair = TokenizerPair(small_tokenizer(), small_tokenizer())
    assert {line.split(" is in")[0] for line in of_test_set(pair, german, [german, greek]) if "in Greek" in line} == {
        "reference 2"
    }


def test_lower_case_against_capitals_is_said(run: Path) -> None:
    cased = ["Der Hund", "Ein Mann sieht", "12 , .", "我们"]
    lower = [line.lower() for line in cased]
    assert "it has capitals, the translations none" in " ".join(of_case(lower, "it", cased))
    assert "the translations have capitals, it none" in " ".join(of_case(cased, "it", lower))
    for ours, theirs in ((cased, cased), (lower, lower), (["我们", "12"], cased), (cased, ["我们", "12"])):
        assert not list(of_case(ours, "it", theirs))
    same = ["rr"] * 30
    assert not list(of_translations(same, cased * 8, [cased * 8]))  # a model that has learned nothing writes them
    [said] = of_translations(cased, cased, [cased, lower])
    assert said.startswith("the translations have capitals, reference 2 none")


TYPED = ["Das Haus ist alt, der Hund nicht.", "Er ist da.", "Heute, morgen.", "Wo ist er?", "12,5 kg."]
APART = ["Das Haus ist alt , der Hund nicht .", "Er ist da .", "Heute , morgen .", "Wo ist er ?", "12,5 kg ."]


def test_tokenised_text_against_text_as_it_is_typed_is_said() -> None:
    moses = ["it &apos;s a box", "in &quot; there", "twenty @-@ one", "we do n't know"]
    for ours, theirs in ((TYPED, APART), (TYPED, moses), (["你好，世界。"], ["你好 ， 世界 。"])):
        [said] = of_tokens(ours, "it", theirs)
        assert said.startswith("it looks tokenised, the translations do not: BLEU and TER count that")
        [said] = of_tokens(theirs, "it", ours)
        assert said.startswith("the translations look tokenised, it does not: BLEU and TER count that")
    french = ["Où est-il ?", "Voilà : ici.", "« Bien. »", "Non !", "Il est là."]
    for ours, theirs in ((TYPED, TYPED), (APART, APART), (TYPED, french), (french, TYPED), (["Haus"], APART)):
        assert not list(of_tokens(ours, "it", theirs))
    said = list(of_translations(TYPED, APART, [TYPED, APART]))
    assert [line.partition(" looks tokenised")[0] for line in said] == ["reference 2", "the source"]


def test_references_that_repeat_the_source_are_said(run: Path) -> None:
    sources = sentences(40, 5, [word for word in GERMAN if word.isalpha()])
    assert not list(of_copies(sources, "it", [f"{line} Kind" for line in sources]))
    assert not list(of_copies(["Berlin", "12 345 678 901", ""], "it", ["Berlin", "12 345 678 901", ""]))
    few = ["Das Haus, ein altes Haus!", *(f"{line} Kind" for line in sources)]
    assert not list(of_copies(["das Haus, ein altes Haus", *sources], "it", few))
    assert any("the reference repeats the source in" in line for line in evaluated(run, sources, sources))
    [said] = of_copies(["", "das Haus, ein altes Haus"], "it", ["", "Das Haus, ein altes Haus!"])
    assert said == "it repeats the source in 1 of 2 lines, the first is line 2: are they translated?"


@pytest.mark.slow
def test_languages_the_wrong_way_round_are_said(tmp_path: Path) -> None:
    pairs = [(src, src.translate(str.maketrans("abcdefghij", "klmnopqrst"))) for src, _ in make_pairs(120)]
    write_corpus(tmp_path / "data", pairs)
    start(tmp_path / "data", tmp_path / "runs", train__max_updates=40, optimizer__lr=0.01)
    here, there = ([pair[side] for pair in pairs[:20]] for side in (0, 1))
    swapped = "source and reference seem swapped: to the model the source is far likelier as translation of the ref"
    assert any(line.startswith(swapped) for line in evaluated(tmp_path / "runs/run", there, here))
    assert not any("swapped" in line for line in evaluated(tmp_path / "runs/run", here, there))
    assert list(of_direction(2.0, 1.5)) == []
    assert list(of_direction(10.0, 8.4)) == []  # a third language


@pytest.mark.parametrize("compared", [False, True])
def test_an_evaluation_looks_at_the_translations_of_each_model(
    run: Path, compared: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = ["der Hund", "das Haus"]
    written = [["Der hund", "Das haus"], ["der Hu@@ nd", "das Hau@@ s"]]
    if not compared:
        written = [["Der Hu@@ nd", "Das Hau@@ s"]]
    given = iter(written)
    monkeypatch.setattr(evaluate, "translate_all", lambda *_: next(given))
    lower = [text.lower() for text in sources]
    said = evaluated(run, sources, lower, *[f"compare_with={run}"] * compared)
    expected = [
        "the translations have capitals, the reference none: BLEU counts that; use a cased reference",
        "2 translations hold @@: the model was trained on text in pieces, which BLEU is not for",
    ]
    assert [line for line in said if "translations" in line] == expected
    err = capsys.readouterr().err
    assert all(err.count(f"caution: {line}\n") == 1 for line in expected)


def test_translations_in_pieces_are_said() -> None:
    said = list(of_pieces(["der Hu@@ nd", "▁das", "das Haus"]))
    assert [line.split(":")[0] for line in said] == ["1 translation holds ▁", "1 translation holds @@"]
    assert not list(of_pieces(["der Hund"] * 30 + ["a▁"]))


def test_scripts_are_counted_by_letters() -> None:
    rng = random.Random(1)
    text = "".join(rng.choices("abcäöü", k=30)) + "我们" + "дом" + "12 .,"
    assert scripts([text]) == {"LATIN": 30, "CJK": 2, "CYRILLIC": 3}


def test_damage_does_not_keep_a_run_from_translating(run: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(run, tmp_path / "own"))
    (own / train_hashes.HASHES_FILE).write_bytes(b"123")
    Path("in").write_text("der Hund\n")
    assert main(["translate", f"model={own}", *FAST, "input=in", "output=out"]) == 0


def test_a_model_that_is_trained_further_hardly_knows_other_letters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = corpus(tmp_path / "data")
    words = {"train__max_updates": 1, "data__dev_size": 0}
    assert start(data, tmp_path / "runs", **words) == 0
    greek = str.maketrans("abcdefghijklmnoprstuvwxyzäöüß", "αβγδεζηθικλμνξοπρστυφχψωάέήίό")
    sources = (data / "train.src").read_text().lower().splitlines()
    write(str(data / "new.src"), [line.translate(greek) for line in sources])
    unread_words = "caution: 100% of the words of the training source are not in the sources"
    for name, unread in (("train.src", False), ("new.src", True)):
        capsys.readouterr()
        files = {"data__train": {"src": name, "tgt": "train.tgt", "files": None, "weights": None}}
        run = str(tmp_path / "runs" / "run")
        assert start(data, tmp_path / "runs", name=f"tuned-{unread}", init_from=run, **words, **files) == 0
        err = capsys.readouterr().err
        line = "caution: the training source is in Greek letters, which the model's vocabulary hardly knows\n"
        assert (line in err) == (unread_words in err) == unread
        assert "the training target" not in err


def test_letters_that_the_model_reads_as_plain_ones_are_no_other_language(run: Path) -> None:
    texts = sentences(20, seed=4)
    wide = {ord(letter): ord(letter) + 0xFEE0 for letter in "abcdefghijklmnopqrstuvwxyzDHM"}
    typed = [text.translate(wide) for text in texts]
    assert typed != texts
    assert not [line for line in evaluated(run, typed, texts) if "letters" in line or "unknown" in line]
