"""Hostile and odd text: training counts it or stops with its line named; translation keeps one line for every line."""

import io
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from helpers.odd_text import INVALID, ODD
from helpers.small_corpora import data_config, make_pairs, text_data, tokenizer_config
from helpers.small_runs import make_run
from helpers.training_runs import start, write_corpus
from safetensors.torch import load_file

from nmt.cli.main import main
from nmt.config.sections import SplitConfig
from nmt.data.prepare import Prepared, prepare
from nmt.data.text import Cleaning, clean
from nmt.errors import DataError
from nmt.runs.tensors import write_tensors
from nmt.translation.translator import Translator

ROOT = Path(__file__).parents[2]
MAX_TOKENS = 200  # of a pair to train on
FAST = ["search=greedy", "search.max_length_a=4", "search.max_length_b=0", "precision=fp32", "device=cpu"]
TOKENS = tokenizer_config("unigram", vocab_size=520, byte_fallback=True)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "small")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


# Training


CLEANING = Cleaning(nfc=True, plain_source=True)


def count(report: Sequence[str], word: str) -> int:
    """How many pairs the report says were dropped by a filter, over all its lines."""
    return sum(int(found.replace(",", "")) for line in report for found in re.findall(rf"([\d,]+) {word}\b", line))


def check_all_are_counted(prepared: Prepared, pairs: list[tuple[str, str]]) -> None:
    """Every pair as read is in the tables as it was written, or counted among those dropped."""
    kept = {row["index"]: (row["src"], row["tgt"]) for row in prepared.train}
    cleaned = [(CLEANING.source(src), CLEANING.target(tgt)) for src, tgt in pairs]
    assert all(text == cleaned[index] for index, text in kept.items())
    assert f"train: {len(pairs):,} pairs read" in prepared.report[0]
    dropped = count(prepared.report, "empty"), count(prepared.report, "max_tokens")
    assert len(kept) + sum(dropped) == len(pairs)
    encode = prepared.tokenizers.src.encode
    lengths = [max(len(encode(side)) for side in pair) for pair in cleaned]
    assert all((length > MAX_TOKENS) <= (index not in kept) for index, length in enumerate(lengths) if dropped[1])
    assert dropped[1] in (0, sum(length > MAX_TOKENS for length in lengths))


ODD_PAIRS = [pair for text in ODD.values() for pair in ((text, "Hund"), ("Hund", text), (text, text))]


@pytest.mark.parametrize("filters", [True, False])
def test_preparing_counts_every_odd_pair(tmp_path: Path, filters: bool) -> None:
    pairs = make_pairs(150) + ODD_PAIRS
    wanted = {"empty": filters, "max_tokens": MAX_TOKENS if filters else None, "dev_size": 0, "test_size": 0}
    prepared = prepare(text_data(tmp_path, pairs, **wanted), TOKENS, tmp_path / "cache")
    check_all_are_counted(prepared, pairs)
    assert (len(prepared.train) == len(pairs)) != filters
    for row in prepared.train:
        for side in ("src", "tgt"):
            text = prepared.tokenizers.src.decode(row[f"{side}_ids"])
            assert text.split() == row[side].split() or "\u2047" in text or "\x00" in row[side]


def test_every_format_brings_the_odd_lines_as_they_are(tmp_path: Path) -> None:
    pairs = [*ODD_PAIRS, ("\ud800a", "b\udfff"), ("\ud83d\ude00", "c")]
    (tmp_path / "f.jsonl").write_text("".join(f"{json.dumps({'src': s, 'tgt': t})}\n" for s, t in pairs))
    valid = pairs[: len(ODD_PAIRS)]
    pq.write_table(pa.table({"src": [s for s, _ in valid], "tgt": [t for _, t in valid]}), tmp_path / "f.parquet")
    for name, given in (("jsonl", pairs), ("parquet", valid)):
        files = SplitConfig(None, None, str(tmp_path / f"f.{name}"))
        config = data_config(name, src_column="src", tgt_column="tgt", train=files, dev_size=0, test_size=0)
        prepared = prepare(config, TOKENS, tmp_path / "cache")
        utf16 = [tuple(side.encode("utf-16-le", "surrogatepass") for side in pair) for pair in given]
        as_text = [tuple(side.decode("utf-16-le", "replace") for side in pair) for pair in utf16]
        check_all_are_counted(prepared, as_text)  # type: ignore[arg-type]


@pytest.mark.slow
def test_training_goes_through_odd_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_corpus(tmp_path / "data", make_pairs(60) + ODD_PAIRS)
    tokenizer = {"tokenizer__vocab_size": 520, "tokenizer__byte_fallback": True}
    brief = {"train__max_updates": 2, "train__metric": "loss", "train__bleu_sentences": 0}
    assert start(tmp_path / "data", tmp_path / "runs", **brief, **tokenizer) == 0
    said = capsys.readouterr().err
    assert count(said.splitlines(), "max_tokens") >= 3
    assert "best on dev" in said


def test_a_dev_pair_that_no_memory_holds_is_named(tmp_path: Path) -> None:
    write_corpus(tmp_path / "data", make_pairs(60))
    for side in ("src", "tgt"):
        other = "tgt" if side == "src" else "src"
        (tmp_path / f"dev.{side}").write_text(f"a\n\n{'ab ' * 6000}\nb\n")
        (tmp_path / f"dev.{other}").write_text("a\nb\nc\nd\n")
        dev = {"src": str(tmp_path / "dev.src"), "tgt": str(tmp_path / "dev.tgt"), "files": None, "weights": None}
        with pytest.raises(
            DataError, match=r"pair 3 \(as read\) of the dev split has [\d,]+ pieces; at most 5,000 can"
        ):
            start(tmp_path / "data", tmp_path / "runs", data__dev=dev)
        assert not (tmp_path / "runs").exists() or not any((tmp_path / "runs").iterdir())


@pytest.mark.parametrize("name", INVALID)
def test_preparing_stops_where_bytes_are_no_text(tmp_path: Path, name: str) -> None:
    byte, line = INVALID[name]
    data = text_data(tmp_path, make_pairs(9))
    for side in ("src", "tgt"):
        data = text_data(tmp_path, make_pairs(9))
        path = tmp_path / f"train.{side}"
        whole = path.read_bytes().splitlines(keepends=True)
        for place, content in ((1, [line + b"\n", *whole[1:]]), (5, [*whole[:4], line + b"\r\n", *whole[5:]]),
                               (10, [*whole, line])):  # fmt: skip
            path.write_bytes(b"".join(content))
            with pytest.raises(DataError, match=f"{re.escape(str(path))}, line {place}: byte {byte:#04x} is not valid"):
                prepare(data, TOKENS, tmp_path / "cache")
            assert not any((tmp_path / "cache").iterdir())


def test_preparing_stops_where_lines_have_no_partner(tmp_path: Path) -> None:
    data = text_data(tmp_path, make_pairs(9))
    for more in (b"\n", b"\r\n", b" \n", b"a", "\u2028\n".encode(), b"\x00\n", b"\xef\xbb\xbf\n"):
        for side in ("src", "tgt"):
            text_data(tmp_path, make_pairs(9))
            with (tmp_path / f"train.{side}").open("ab") as file:
                file.write(more)
            counts = (10, 9) if side == "src" else (9, 10)
            with pytest.raises(
                DataError, match=rf"train\.src has {counts[0]} lines? but .*train\.tgt has {counts[1]};"
            ):
                prepare(data, TOKENS, tmp_path / "cache")


# Translation


class Terminal:
    """Feeds standard input and takes what a command prints."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        self.monkeypatch, self.capfdbinary = monkeypatch, capfdbinary

    def __call__(self, *words: str, stdin: bytes = b"") -> tuple[int, list[str], list[str]]:
        """Exit code, lines of standard output split on \\n alone, lines of standard error."""
        self.capfdbinary.readouterr()
        self.monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(words)
        out, err = self.capfdbinary.readouterr()
        assert out == b"" or out.endswith(b"\n")
        return code, out.decode().split("\n")[:-1], err.decode().split("\n")[:-1]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Terminal:
    return Terminal(monkeypatch, capfdbinary)


LINES = list(ODD.values())
TEXT = "".join(text + ("\n", "\r\n")[number % 2] for number, text in enumerate(LINES)).encode()
WAYS = {
    "text": [],
    "jsonl": ["format=jsonl"],
    "alignments": ["format=jsonl", "alignments=true"],
    "n_best": ["format=jsonl", "n_best=2", "search.beam=2"],
    "samples": ["format=jsonl", "search=sample", "n_best=2", "alignments=true"],
    "truncated": ["format=jsonl", "long_lines=truncate", "buffer=3"],
    "two models": ["format=jsonl", "alignments=true"],
}


@pytest.mark.parametrize(("way", "where"), [("text", "file"), *zip(WAYS, cycle(["standard input", "file"]))])
def test_there_is_one_line_for_every_odd_line(run: Path, terminal: Terminal, way: str, where: str) -> None:
    words = ["translate", f"model=[{run},{run}]" if way == "two models" else f"model={run}", *FAST, *WAYS[way]]
    if way == "samples":
        words = [word for word in words if word != "search=greedy"]
    if where == "file":
        Path("in").write_bytes(TEXT)
        code, none, said = terminal(*words, "input=in", "output=out")
        assert none == []
        out = Path("out").read_bytes().decode().split("\n")[:-1]
    else:
        code, out, said = terminal(*words, stdin=TEXT)
    assert code == 0
    assert len(out) == len(LINES)
    assert all(len(line.splitlines()) <= 1 for line in out)
    used, *cautions = said
    assert "worker" in used
    assert cautions
    assert any(re.match("caution: line [0-9]+ has [0-9,]+ pieces; ", line) for line in cautions)
    known = (
        "caution: (line [0-9]+ (has [0-9,]+ pieces; |.*: its translation is a guess$)|lines .* besides these: [0-9]+$)"
    )
    assert all(re.match(known, line) for line in cautions)
    if way == "text":
        assert all(
            translation == "" for line, translation in zip(LINES, out, strict=True) if not clean(line, nfc=False)
        )
        return
    records = [json.loads(line) for line in out]
    assert [record["source"] for record in records] == LINES
    for record in records:
        texts = [record["translation"], *(each["text"] for each in record.get("n_best", []))]
        assert all(len(text.splitlines()) <= max(1, len(record["source"].splitlines())) for text in texts)
        for link in record.get("alignment", "").split():
            i, j = map(int, link.split("-"))
            assert i < len(record["src_words"])
            assert j < len(record["tgt_words"])


@pytest.mark.slow
def test_a_byte_order_mark_begins_no_line(run: Path, terminal: Terminal) -> None:
    words = ["translate", f"model={run}", *FAST, "format=jsonl"]
    Path("a").write_bytes(b"\xef\xbb\xbfHund\n\xef\xbb\xbfHaus\n")
    Path("b").write_bytes(b"\xef\xbb\xbf")
    Path("c").write_bytes(b"\xef\xbb\xbf\n")
    for given, expected in (
        ("a", ["Hund", "\ufeffHaus"]),
        ("b", []),
        ("c", [""]),
        ("[a,c,a]", ["Hund", "\ufeffHaus", "", "Hund", "\ufeffHaus"]),
    ):
        code, out, _ = terminal(*words, f"input={given}")
        assert (code, [json.loads(line)["source"] for line in out]) == (0, expected)
    assert [json.loads(line)["source"] for line in terminal(*words, stdin=Path("a").read_bytes())[1]] == [
        "Hund",
        "\ufeffHaus",
    ]


@pytest.mark.parametrize("name", INVALID)
def test_translation_stops_where_bytes_are_no_text(run: Path, terminal: Terminal, name: str) -> None:
    byte, line = INVALID[name]
    text = b"der Hund\nein Haus\n" + line + b"\nMann\n"
    Path("in").write_bytes(text)
    Path("old").write_text("as it was\n")
    words = ["translate", f"model={run}", *FAST]
    code, out, said = terminal(*words, "input=in", "output=old", "buffer=1")
    assert (code, out) == (2, [])
    assert said[-1].startswith(f"error: in, line 3: byte {byte:#04x} is not valid UTF-8; convert the file: iconv")
    assert {path.name: path.read_text("latin-1") for path in Path().iterdir()} == {
        "in": text.decode("latin-1"), "old": "as it was\n"
    }  # fmt: skip


def test_standard_input_stops_where_bytes_are_no_text(run: Path, terminal: Terminal) -> None:
    for byte, line in [INVALID["Latin-1"], INVALID["half a surrogate pair"]]:
        text = b"der Hund\nein Haus\n" + line + b"\nMann\n"
        code, out, said = terminal("translate", f"model={run}", *FAST, stdin=text)
        assert (code, out, len(said)) == (2, [], 1)
        assert f"standard input, line 3: byte {byte:#04x} is not valid UTF-8" in said[0]


@pytest.mark.slow
def test_interactive_answers_every_odd_line(run: Path, terminal: Terminal) -> None:
    typed = "".join(f"{text}\n" for text in ODD.values()).encode() + b"".join(
        line + b"\n" for _, line in INVALID.values()
    )
    code, out, said = terminal("interactive", f"model={run}", *FAST, stdin=typed)
    assert code == 0
    blank = sum(not text.strip() for text in ODD.values())
    assert sum("ms)" in line for line in out) == len(ODD) - blank
    errors = [line for line in said if not line.startswith(("caution: the line has ", "caution: the line is in "))]
    assert errors == ["error: the line is not valid UTF-8; set the terminal, or convert the file, to UTF-8"] * len(
        INVALID
    )


def test_python_users_may_give_anything(run: Path) -> None:
    translator = Translator.load(run, device="cpu", precision="fp32")
    texts = [*ODD.values(), "\ud800", "a\udfffb", "\ud83d\ude00", "a\nb\r\nc", "\n"]
    answers = translator.translate(texts, "words", replace(translator.settings, beam=1, max_length_b=0.0))
    assert [answer.source for answer in answers] == texts
    assert all(len(answer.text.splitlines()) <= max(1, len(answer.source.splitlines())) for answer in answers)
    assert all(answer.text.encode() is not None for answer in answers)


@pytest.mark.parametrize(
    "words",
    [
        ["translate"],
        ["translate", "search=sample"],
        ["translate", "format=jsonl", "alignments=true"],
        ["evaluate", "src=in", "ref=in"],
        ["align", "src=in", "tgt=in"],
    ],
)
def test_a_model_that_computes_no_numbers_is_named(tmp_path: Path, terminal: Terminal, words: list[str]) -> None:
    run = make_run(tmp_path / "run")
    weights = {
        name: torch.full_like(tensor, torch.nan) for name, tensor in load_file(run / "model.safetensors").items()
    }
    write_tensors(run / "model.safetensors", weights)
    Path("in").write_text("der Hund\nein Haus\n")
    fast = FAST[-2:] if "search=sample" in words or words[0] == "align" else FAST
    more = ["input=in", "output=out"] if words[0] == "translate" else []
    code, out, said = terminal(*words, f"model={run}", *fast, *more)
    assert (code, out) == (2, [])
    assert said[-1].startswith(f"error: the model's probabilities are NaN, {run}; its weights are damaged")
    assert not Path("out").exists()


# Size

MEASURED = """
import sys
from pathlib import Path
from nmt.cli.main import main
code = main(sys.argv[1:])
highest = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]  # ru_maxrss is at least the parent's
print(highest, file=sys.stderr)
sys.exit(code)
"""


def megabytes(*words: str) -> tuple[int, list[str]]:
    """How much memory a command takes at most, and what it says; it has a minute for each megabyte of input."""
    command = [sys.executable, "-c", MEASURED, *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=True)
    *said, memory = done.stderr.splitlines()
    return int(memory) // 1024, said


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["truncate", "split"])
def test_a_line_of_ten_megabytes_takes_bounded_memory(run: Path, tmp_path: Path, mode: str) -> None:
    count = 10_000_000
    sentence = "der Hund sieht ein Haus , und der Mann schläft heute . "
    (tmp_path / "in").write_text(f"Hund\n{sentence * (count // len(sentence.encode()))}\nMann\n")
    short = ["search.max_length_a=3", "search.max_length_b=0.02", "search=greedy", "precision=fp32", "device=cpu"]
    words = ["translate", f"model={run}", *short, f"input={tmp_path / 'in'}", f"output={tmp_path / 'out'}"]
    memory, said = megabytes(*words, f"long_lines={mode}")
    assert len((tmp_path / "out").read_text().splitlines()) == 3
    assert [re.sub(r"[\d,]+ parts", "N parts", line.partition("; ")[2]) for line in said[1:]] == [
        "only the first 1,000 are translated (long_lines=truncate)" if mode == "truncate"
        else "translated in N parts (long_lines=split)"
    ]  # fmt: skip
    assert memory < 1500


@pytest.mark.parametrize("attention", ["general", "multi_head"])
def test_ten_thousand_tokens_and_a_hundred_thousand_marks(tmp_path: Path, attention: str) -> None:
    translator = Translator.load(make_run(tmp_path / "run", attention), device="cpu", precision="fp32")
    settings = replace(translator.settings, beam=1, max_length_a=3.0, max_length_b=0.0)
    tokens, marks, word = translator.translate(
        ["der Hund " * 5000, "a" + "\u0323\u0301" * 3_000, "x"], "words", settings
    )
    assert (len(tokens.src_pieces), tokens.parts) == (10_000, 10)
    assert marks.parts > 5
    assert word.parts == 1
    assert len(tokens.word_links.src) == 10_000
