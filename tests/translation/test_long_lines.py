"""Lines longer than one search can bear: where they are cut, that nothing of them is lost, and how it is reported."""

import io
import json
from itertools import pairwise
from pathlib import Path
from time import process_time

import pytest
from helpers.small_corpora import tokenizer_config
from helpers.small_runs import CHINESE, make_run, sentences, small_tokenizer
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.cli.main import main
from nmt.data.text import clean
from nmt.data.tokenizer import UNK, Tokenizer
from nmt.data.train_tokenizers import train_tokenizer
from nmt.translation import long_lines
from nmt.translation.long_lines import LongLines, read_lines_in_parts

FAST = ["search=greedy", "search.max_length_a=3", "search.max_length_b=0", "precision=fp32", "device=cpu"]
TEXTS = sentences(200) + sentences(200, words=CHINESE, joint="")
TOKENIZERS = {"bytes": small_tokenizer()} | {
    name: train_tokenizer(iter(TEXTS), tokenizer_config(name, vocab_size=46, byte_fallback=False), 1, [])
    for name in ("unigram", "bpe", "char", "word")
}


@pytest.fixture
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_lines, "LONGEST_PART", 12)
    monkeypatch.setattr(long_lines, "CHUNK_CHARACTERS", 30)


def parts(text: str, tokenizer: Tokenizer = TOKENIZERS["bytes"], mode: LongLines = "split") -> list[list[int]]:
    """The pieces of each part."""
    [line] = read_lines_in_parts([text], tokenizer, mode)
    assert all(0 < len(part) <= long_lines.LONGEST_PART for part in line.parts)
    assert mode == "truncate" or not line.dropped
    return line.parts


def texts(text: str) -> list[str]:
    """The text of each part."""
    return [TOKENIZERS["bytes"].decode(part) for part in parts(text)]


def one_unknown(pieces: list[int]) -> list[int]:
    """Neighbouring unknown pieces as one, which SentencePiece makes of unknown words."""
    return [piece for before, piece in pairwise([None, *pieces]) if (before, piece) != (UNK, UNK)]


ODD = st.text(
    st.one_of(st.sampled_from("  aHund.,!?;:。，、،؛–—\u2581\u0301\U0010f581\"'”)我\u00a0\u3000"), st.characters())
)


@pytest.mark.usefixtures("short_parts")
@pytest.mark.parametrize("name", TOKENIZERS)
@given(lines=st.lists(st.one_of(ODD, ODD.map(lambda text: text * 20)), max_size=4))
@settings(max_examples=60, deadline=None)
def test_no_piece_of_a_line_is_lost(name: str, lines: list[str]) -> None:
    tokenizer = TOKENIZERS[name]
    lines = [clean(line, nfc=False) for line in lines]
    for line, found in zip(lines, read_lines_in_parts(lines, tokenizer, "split"), strict=True):
        assert found.parts == parts(line, tokenizer)
        pieces = [piece for part in found.parts for piece in part]
        longest_word = max(map(len, line.split(" ")))
        if longest_word >= long_lines.CHUNK_CHARACTERS:  # encoded in places that are no words
            spelled = tokenizer.decode(pieces).replace(" ", "")
            assert name == "word" or "⁇" in spelled or spelled == line.replace(" ", "")
        else:
            assert one_unknown(pieces) == one_unknown(tokenizer.encode(line))


@pytest.mark.usefixtures("short_parts")
@given(ODD.map(lambda text: text * 10))
@settings(max_examples=60, deadline=None)
def test_what_is_truncated_is_the_beginning_and_the_rest_is_counted(text: str) -> None:
    text = clean(text, nfc=False)
    [line] = read_lines_in_parts([text], TOKENIZERS["bytes"], "truncate")
    whole = [piece for part in parts(text) for piece in part]
    kept = [piece for part in line.parts for piece in part]
    assert len(line.parts) <= 1
    assert kept == whole[: len(kept)]
    assert line.dropped == len(whole) - len(kept)
    assert min(len(whole), 12 - 3) <= len(kept) <= 12  # a character in bytes is not cut


@pytest.mark.usefixtures("short_parts")
def test_a_line_is_cut_after_a_sentence_else_a_clause_else_a_word_else_anywhere() -> None:
    one, two = "der Hund, der Mann", "die ein Haus sieht heute ein Haus"
    for mark in (".", "!", "?", ".”", '."', "?)"):
        assert texts(f"{one}{mark} {two}") == [f"{one}{mark}", two]
    for mark in (",", ";", ":", ",»"):
        assert texts(f"der Hund{mark} {two} ein Haus") == [f"der Hund{mark}", f"{two} ein Haus"]
    assert texts("der 1.5 und 2,5 Hund Haus Mann") == ["der 1.5 und 2,5 Hund", "Haus Mann"]  # ends nothing
    sentences = ["我们去学校，他看见了。", "一只狗，", "今天我们去学校一只狗"]
    assert texts("".join(sentences)) == sentences
    assert texts("我们去学校，他看见了一只狗今天我们") == ["我们去学校，", "他看见了一只狗今天我们"]
    assert all(len(part) <= 12 for part in parts("x" * 100))
    assert "".join(texts("狗龘" * 40)) == "狗龘" * 40  # 龘 is three bytes: none is cut in two


@pytest.mark.parametrize(
    ("mark", "space"), [("،", " "), ("؛", " "), ("؟", " "), ("۔", " "), ("；", ""), ("！", ""), ("？", "")]
)
def test_marks_of_other_scripts_end_sentences_and_clauses(
    mark: str, space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_lines, "LONGEST_PART", 20)
    found = texts(f"Hund Mann{mark}{space}{'Haus ' * 30}")
    assert found[0] == f"Hund Mann{mark}"


@pytest.mark.parametrize("text", ["x" * 40_000, "ab. " * 20_000, "龘" * 10_000, " " * 200_000 + "a"])
def test_the_time_grows_with_the_line_alone(text: str) -> None:
    def seconds(line: str) -> float:
        start = process_time()
        assert read_lines_in_parts([line], TOKENIZERS["bytes"], "split")[0].parts
        return process_time() - start

    seconds(text[-1000:])
    assert seconds(text) < 16 * seconds(text[-len(text) // 4 :]) + 0.5


# The verbs


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "small")


LONG = "der Hund schläft heute . " * 100
CUT = {
    "split": "has 1,200 pieces; translated in 2 parts (long_lines=split)",
    "truncate": "has 1,200 pieces; only the first 1,000 are translated (long_lines=truncate)",
}


@pytest.fixture(params=list(CUT))
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A way to treat long lines, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return str(request.param)


def test_translate_says_which_lines_are_long(run: Path, mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("in").write_text(f"Hund\n{LONG}\n\n{LONG}\nMann\n")
    words = ["translate", f"model={run}", *FAST, "input=in", "format=jsonl", "alignments=true"]
    assert main([*words, f"long_lines={mode}"]) == 0
    out, err = capsys.readouterr()
    assert [json.loads(line)["source"] for line in out.splitlines()] == ["Hund", LONG, "", LONG, "Mann"]
    assert err.splitlines()[1:] == [f"caution: line {number} {CUT[mode]}" for number in (2, 4)]
    first, long, *_ = map(json.loads, out.splitlines())
    assert first["src_words"] == ["Hund"]
    assert (len(long["src_words"]) == 500) == (mode == "split")
    for link in long["alignment"].split():
        i, j = map(int, link.split("-"))
        assert i < len(long["src_words"])
        assert j < len(long["tgt_words"])
    assert long["translation"].split() == " ".join(long["tgt_words"]).split()
    assert main([*words, "long_lines=cut"]) == 2
    assert "long_lines='cut' is not possible; choose from: split, truncate" in capsys.readouterr().err


def test_evaluate_says_and_writes_which_lines_are_long(
    run: Path, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("src").write_text(f"Hund\n{LONG}\n")
    Path("ref").write_text("a\nb\n")
    words = ["evaluate", f"model={run}", *FAST, "src=src", "ref=ref", "output=out", "intervals=false"]
    assert main([*words, f"long_lines={mode}", f"compare_with={run}"]) == 0
    said = f"line 2 {CUT[mode]}"
    assert capsys.readouterr().err.count(f"caution: {said}\n") == 1
    assert said in json.loads(Path("out/scores.json").read_text())["cautions"]
    assert len(Path("out/hypotheses.txt").read_text().splitlines()) == 2


def test_interactive_says_when_a_line_is_long(
    run: Path, mode: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{LONG}\n:attention\nHund\n:attention\n".encode())))
    assert main(["interactive", f"model={run}", *FAST, f"long_lines={mode}"]) == 0
    out, err = capsys.readouterr()
    assert out.count("ms)") == 2
    first, *more = err.splitlines()
    assert first == f"caution: the line {CUT[mode]}"
    refused = "error: the last line has 1,200 pieces, and attention is shown for 1,000 at most; type a shorter line"
    assert more == ([refused] if mode == "split" else [])
    assert out.count("░ ≥ 0.05") == (1 if mode == "split" else 2)


def test_pictures_are_not_drawn_of_a_line_in_parts(
    run: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "in").write_text(f"Hund\n{LONG}\n")
    words = ["visualise", f"model={run}", *FAST, f"input={tmp_path / 'in'}", f"output={tmp_path / 'out'}"]
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2
    assert f"caution: line 2 {CUT['split']}\n" in err
    assert "line 2: nothing to draw, it has 1,200 pieces, more than 1,000\n" in err
