"""`nmt align` as it is typed: one line of links for every pair of lines, or one clear line of error."""

import os
import threading
from pathlib import Path

import pytest
from helpers.small_runs import CHINESE, make_run, sentences

from nmt.cli.main import main
from nmt.scoring.aer import SYMMETRISE, Links, transposed
from nmt.scoring.alignment import align as best_links
from nmt.scoring.alignment import pharaoh, units, word_attention
from nmt.translation import align
from nmt.translation.translator import Translator

FAST = ["precision=fp32", "device=cpu"]
SOURCES = ["der Hund schläft", "", "ein Haus , heute .", "x", "▁ Ünï \u3000狗", *sentences(10, 1)]
TARGETS = ["我们今天去学校。", "", "", "y", "a  b", *sentences(10, 2, CHINESE, "")]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two models of opposite directions, one of the first's, one that does not say its own, one of several heads, and
    one without attention.
    """
    folder = tmp_path_factory.mktemp("runs")
    back = {"src_lang": "de", "tgt_lang": "en"}
    return {
        "there": make_run(folder / "there"),
        "back": make_run(folder / "back", seed=1, data=back),
        "same": make_run(folder / "same", seed=2),
        "silent": make_run(folder / "silent", seed=3, data={"src_lang": None, "tgt_lang": None}),
        "heads": make_run(folder / "heads", "multi_head", seed=4),
        "blind": make_run(folder / "blind", "none"),
    }


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, lines in (("src", SOURCES), ("tgt", TARGETS)):
        Path(name).write_text("".join(f"{line}\n" for line in lines))


class Aligner:
    """Types a command and takes what it prints."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, run: Path, *words: str) -> list[Links]:
        """The links of every line."""
        assert main(["align", f"model={run}", "src=src", "tgt=tgt", *FAST, *words]) == 0
        out, err = self.capsys.readouterr()
        assert err == ""
        return [parsed(line) for line in out.split("\n")[:-1]]

    def fails(self, *words: str) -> str:
        """The one line that a mistake gets."""
        assert main(["align", *FAST, *words]) == 2
        out, err = self.capsys.readouterr()
        assert out == ""
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        return err


@pytest.fixture
def aligner(capsys: pytest.CaptureFixture[str]) -> Aligner:
    return Aligner(capsys)


def spaced_files() -> tuple[list[str], list[str]]:
    """Other lines in the files: words with spaces between them."""
    lines = sentences(20, 3), sentences(20, 4)
    for name, side in zip(("src", "tgt"), lines, strict=True):
        Path(name).write_text("".join(f"{line}\n" for line in side))
    return lines


def parsed(line: str) -> Links:
    links = [tuple(map(int, link.split("-"))) for link in line.split()]
    assert line == pharaoh(links)  # type: ignore[arg-type]
    return frozenset(links)  # type: ignore[arg-type]


def test_every_target_unit_has_a_link_to_a_unit_of_its_line(
    runs: dict[str, Path], aligner: Aligner, monkeypatch: pytest.MonkeyPatch
) -> None:
    for unit in ("words", "tokens"):
        found = aligner(runs["there"], f"units={unit}")
        assert len(found) == len(SOURCES)
        for source, target, links in zip(SOURCES, TARGETS, found, strict=True):
            S, T = len(units(source, unit)), len(units(target, unit))
            assert {j for _, j in links} == (set(range(T)) if S else set())
            assert all(i < S for i, _ in links)
    monkeypatch.setattr(align, "PAIRS_AHEAD", 3)
    assert aligner(runs["there"], "units=tokens") == found


def test_words_of_spaced_text_are_linked_as_in_the_pictures(runs: dict[str, Path], aligner: Aligner) -> None:
    lines = spaced_files()
    translator = Translator.load(runs["there"], precision="fp32", device="cpu")
    assert aligner(runs["there"]) == [frozenset(pair.alignment) for pair in translator.force(*lines)]
    heavy = aligner(runs["there"], "rule=threshold", "threshold=0.3")
    for pair, links in zip(translator.force(*lines), heavy, strict=True):
        rows, columns = (pair.word_attention[0] >= 0.3).nonzero()
        assert links == set(zip(columns.tolist(), rows.tolist(), strict=True))


def test_heads_are_counted_from_one(runs: dict[str, Path], aligner: Aligner) -> None:
    lines = spaced_files()
    pairs = Translator.load(runs["heads"], precision="fp32", device="cpu").force(*lines)
    for head in range(4):
        links = []
        for pair in pairs:
            assert pair.attention is not None
            weights, _, _ = word_attention(pair.attention[0, head], pair.src_pieces, pair.tgt_pieces)
            links.append(frozenset(best_links(weights)))
        assert aligner(runs["heads"], f"head={head + 1}", "layer=1") == links
    error = aligner.fails(f"model={runs['heads']}", "src=src", "tgt=tgt", "head=5")
    assert f"head=5 is not there, model={runs['heads']}; it has 1 to 4, null means them all" in error


@pytest.mark.slow
def test_two_directions_are_made_one(runs: dict[str, Path], aligner: Aligner) -> None:
    forward = aligner(runs["there"])
    backward = [transposed(links) for links in aligner(runs["back"], "src=tgt", "tgt=src")]
    for name, join in SYMMETRISE.items():
        found = aligner(runs["there"], f"reverse_model={runs['back']}", f"symmetrise={name}")
        assert found == [join(*both) for both in zip(forward, backward, strict=True)]
    assert aligner(runs["there"], f"reverse_model={runs['silent']}", "symmetrise=union")


def test_links_go_to_a_file_whole_or_not_at_all(runs: dict[str, Path], aligner: Aligner) -> None:
    found = aligner(runs["there"])
    assert aligner(runs["there"], "output=links") == []
    assert Path("links").read_text() == "".join(f"{pharaoh(links)}\n" for links in found)
    Path("src").write_bytes(b"a\n\xff\n")
    Path("tgt").write_text("a\nb\n")
    error = aligner.fails(f"model={runs['there']}", "src=src", "tgt=tgt", "output=links")
    assert "src, line 2: byte 0xff is not valid UTF-8" in error
    assert len(Path("links").read_text().splitlines()) == len(found)
    assert sorted(path.name for path in Path().iterdir()) == ["links", "src", "tgt"]


def test_pipes_are_read_once(runs: dict[str, Path], aligner: Aligner) -> None:
    found = aligner(runs["there"])
    content = Path("src").read_bytes()
    Path("src").unlink()
    os.mkfifo("src")
    writer = threading.Thread(target=Path("src").write_bytes, args=(content,))
    writer.start()
    assert aligner(runs["there"]) == found
    writer.join()


def test_a_pair_too_long_to_be_held_in_memory_is_named(
    runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("nmt.translation.align.PAIRS_AHEAD", 2)
    monkeypatch.setattr("nmt.translation.translator.LONGEST_FORCED", 30)
    (tmp_path / "long").write_text("a\n" * 4 + "x" * 31 + "\n")
    (tmp_path / "short").write_text("a\n" * 5)
    for src, tgt in (("long", "short"), ("short", "long")):
        assert main(["align", f"model={runs['there']}", f"src={tmp_path / src}", f"tgt={tmp_path / tgt}"]) == 2
        error = capsys.readouterr().err
        assert "error: pair 5 has a side of 32 pieces; attention and scores of given pairs reach to 30: " in error


@pytest.mark.slow
def test_mistakes_get_one_line(runs: dict[str, Path], aligner: Aligner) -> None:
    Path("long").write_text("der Hund\n" * (len(SOURCES) + 2))
    files = ["src=src", "tgt=tgt"]
    here = [f"model={runs['there']}", *files]
    back = f"reverse_model={runs['back']}"
    for words, message in {
        (f"model={runs['there']}", "src=src"): "tgt has no value; type tgt=<value>",
        (*here, "src=nope"): "no file nope, src=nope; check the path",
        (*here, "tgt=nope"): "no file nope, tgt=nope; check the path",
        (*here, "tgt=long"): "src has 15 lines, long has more; line N of one must translate line N of the other",
        (*here, "src=long"): "tgt has 15 lines, long has more; line N of one must translate line N of the other",
        (*here, "src=."): "file . cannot be read: Is a directory",
        (*here, "rule=threshold"): "rule=threshold needs the least weight of a link; add, for example, threshold=0.2",
        (*here, "threshold=0.2"): "threshold=0.2 has no effect with rule=argmax; add rule=threshold",
        (*here, "rule=threshold", "threshold=0"): "threshold is 0; it must be above 0 and at most 1, or null",
        (*here, "rule=threshold", "threshold=1.5"): "threshold is 1.5; it must be at most 1, or null",
        (*here, "rule=armgax"): "rule='armgax' is not possible; did you mean 'argmax'?",
        (*here, "units=chars"): "units='chars' is not possible; choose from: tokens, words",
        (*here, back): "reverse_model is given, but not how both directions are joined; add symmetrise=grow-diag",
        (*here, "symmetrise=union"): "symmetrise=union joins two directions; name a model of the other one",
        (*here, back, "symmetrise=unoin"): "symmetrise='unoin' is not possible; did you mean 'union'?",
        (*here, f"reverse_model={runs['same']}", "symmetrise=union"): "the model translates en to de, reverse_model=",
        (*here, f"reverse_model={runs['blind']}", "symmetrise=union"): "the model has no attention to align with, rev",
        (*here, "layer=0"): "layer is 0; it must be at least 1, or null",
        (*here, "head=2"): f"head=2 is not there, model={runs['there']}; it has only 1, null means them all",
        (f"model={runs['blind']}", *files): f"the model has no attention to align with, model={runs['blind']}; name",
        ("model=nowhere", *files): "nowhere is not a folder",
        (*here, "workers=0"): "workers is 0; it must be at least 1 and at most 10,000, or null",
        (*here, "output=nope/links"): "cannot write nope/links (No such file or directory); choose another output=",
        (*here, "output=../" + Path.cwd().name + "/tgt"): "tgt=tgt would be replaced, output=../",
        (*here, "search.beam=2"): "unknown key 'search.beam'",
    }.items():
        assert message in aligner.fails(*words), words
    assert sorted(path.name for path in Path().iterdir()) == ["long", "src", "tgt"]
