"""`nmt visualise` as it is typed: pictures for every line, all or none; one clear line for every mistake."""

import html
import io
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.small_runs import make_run

from nmt.cli.main import main
from nmt.translation import pictures
from nmt.translation.translations import Candidate, Translation
from nmt.translation.translator import Translator

FAST = ["precision=fp32", "device=cpu"]
SHORT = ["search.max_length_a=3", "search.max_length_b=0.5"]
Typed = Callable[..., tuple[int, list[str], list[str]]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "small")


@pytest.fixture
def typed(run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typed:
    def call(text: str, *words: str) -> tuple[int, list[str], list[str]]:
        """Exit code, lines of standard output and of standard error."""
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        search = [] if any(word.startswith("tgt") for word in words) else SHORT
        code = main(["visualise", f"model={run}", *FAST, *search, *words])
        out, err = capsys.readouterr()
        return code, out.splitlines(), err.splitlines()

    return call


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def several_heads(monkeypatch: pytest.MonkeyPatch, L: int, H: int) -> None:
    """Every model has so many layers and heads, all different."""
    of_pieces = Translator._of_pieces

    def more(self: Translator, *given: Any) -> object:
        heads = (np.arange(L * H, dtype=np.float32).reshape(L, H, 1, 1) + 1) / (L * H)
        return [None if w is None else w[:1, :1] * heads for w in of_pieces(self, *given)]

    monkeypatch.setattr(Translator, "_of_pieces", more)


def test_every_line_gets_its_pictures_in_the_run_folder(run: Path, typed: Typed) -> None:
    code, out, err = typed("der Hund sieht .\n\nein Haus\n")
    assert code == 0
    folder = run / "visualisations"
    wanted = ["001.png", "001_bipartite.png", "003.png", "003_bipartite.png"]
    assert out == [str(folder / name) for name in wanted]
    assert names(folder) == wanted
    assert all((folder / name).read_bytes().startswith(b"\x89PNG") for name in wanted)
    assert err == ["line 2: nothing to draw, the sentence or its translation is empty"]
    assert not [path for path in run.iterdir() if path.name.startswith(".")]


@pytest.mark.slow
def test_the_same_input_gives_the_same_bytes_and_replaces_what_was_there(typed: Typed, tmp_path: Path) -> None:
    found = []
    for folder in (tmp_path / "a", tmp_path / "deeper" / "b", tmp_path / "a"):
        code, out, _ = typed("der Hund\nein Haus\n", f"output={folder}", "format=svg")
        assert code == 0
        assert len(out) == 4
        found.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert found[0] == found[1] == found[2]


@pytest.mark.slow
def test_given_translations_are_drawn_in_place_of_the_models_own(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "out.de").write_text("Mann schläft\nHund\n", encoding="utf-8")
    for words in ([f"tgt={tmp_path}/out.de"], ["tgt_text=[Mann schläft,Hund]"]):
        code, _, _ = typed("der Mann\nder Hund\n", *words, f"output={tmp_path}/svg", "format=svg")
        assert code == 0
        for number, expected in ((1, ["der", "Mann", "Mann", "schläft"]), (2, ["der", "Hund", "Hund"])):
            for kind in ("", "_bipartite"):
                drawn = (tmp_path / "svg" / f"00{number}{kind}.svg").read_text(encoding="utf-8")
                assert all(drawn.count(f"<!-- {word} -->") == expected.count(word) for word in expected)
    assert typed("der Hund\n", "tgt_text=Mann", f"output={tmp_path}/one")[0] == 0


class Page(HTMLParser):
    """Checks that tags are closed in order; keeps ids, references and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.text = ""
        self.addresses: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src", "xlink:href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.slow
def test_the_page_holds_every_sentence_and_needs_nothing_beside_it(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    several_heads(monkeypatch, 2, 2)
    lines = ["der <b>Hund</b> & 狗", "", "ein\tHaus"]
    code, out, _ = typed("\n".join([*lines[:2], "\0" + lines[2]]) + "\n", f"output={tmp_path}/page", "format=html")
    assert (code, out) == (0, [f"{tmp_path}/page/index.html"])
    assert names(tmp_path / "page") == ["index.html"]
    written = (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    page = Page(written)
    assert all(line in page.text for line in lines)
    assert html.escape(lines[0]) in written
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", written), "no HTML"
    assert page.tags.count("svg") == 2 * 3
    assert page.text.count("Nothing to draw, the sentence or its translation is empty.") == 1
    assert "script" not in page.tags
    assert len(page.ids) == len(set(page.ids)), "drawings share ids"
    assert page.addresses
    assert all(a[1:] in page.ids if a.startswith("#") else a.startswith("data:image/") for a in page.addresses)
    assert not re.search(r"url\((?!#)|@import|https?://(?!www\.w3\.org/)", written)


@pytest.mark.parametrize(
    ("L", "H", "words", "titles"),
    [
        (1, 3, [], ["head 1", "head 2", "head 3"]),
        (2, 1, [], ["layer 1", "layer 2"]),
        (2, 2, [], [f"layer {i}, head {j}" for i in (1, 2) for j in (1, 2)]),
        (2, 2, ["layer=2"], ["layer 2, head 1", "layer 2, head 2"]),
        (2, 2, ["head=1"], ["layer 1, head 1", "layer 2, head 1"]),
        (2, 2, ["layer=2", "head=1"], None),
        (1, 1, ["layer=1", "head=1"], None),
    ],
)
def test_layers_and_heads_have_panels_and_their_mean_is_the_main_picture(
    typed: Typed,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    L: int,
    H: int,
    words: list[str],
    titles: list[str] | None,
) -> None:
    several_heads(monkeypatch, L, H)
    drawn: list[float] = []
    heat_map = pictures.attention_figure

    def spy(weights: np.ndarray, src: list[str], tgt: list[str]) -> object:
        drawn.append(float(weights.sum(axis=1).mean()))
        return heat_map(weights, src, tgt)

    monkeypatch.setattr(pictures, "attention_figure", spy)
    assert typed("der Hund\n", f"output={tmp_path}/o", "format=svg", "tgt_text=Mann", *words)[0] == 0
    picked = np.arange(1, L * H + 1).reshape(L, H) / (L * H)
    for word in words:
        key, number = word.split("=")
        picked = picked.take([int(number) - 1], axis=["layer", "head"].index(key))
    whole = drawn[0] / picked.mean()  # attention without the end of the sentence
    assert 0 < whole <= 1 + 1e-5
    panels = tmp_path / "o" / "001_heads.svg"
    assert panels.exists() == (titles is not None)
    if titles is not None:
        assert re.findall(r"<!-- ((?:layer|head) .*?) -->", panels.read_text(encoding="utf-8")) == titles


@pytest.mark.slow
def test_mistakes_are_refused_before_any_work(
    run: Path, typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Translator, "translate", None)  # calling it would be a TypeError
    (tmp_path / "two").write_text("a\nb\n")
    (tmp_path / "file").write_text("")
    folder = f"output={tmp_path}/new"
    for words, message in (
        (["tgt=a", "tgt_text=b"], "tgt and tgt_text are both given; leave one out"),
        (["tgt_text=a", "search.beam=3"], "search.beam is for searching, and the translations are given; leave one"),
        (["tgt_text=a", "shortlist=true"], "shortlist is for searching, and the translations are given; leave one"),
        ([f"tgt={tmp_path}/no"], f"no file {tmp_path}/no, tgt={tmp_path}/no; check the path"),
        ([f"tgt={tmp_path}/two"], f"1 line but 2 translations, tgt={tmp_path}/two; give one for every line"),
        (["tgt_text=[a,b,c]"], "1 line but 3 translations, tgt_text; give one for every line"),
        ([f"input={tmp_path}/no"], f"no file {tmp_path}/no, input="),
        (["layer=0"], "layer is 0; it must be at least 1, or null"),
        (["head=2"], "head=2 is not in the model; there is only 1"),
        ([f"output={tmp_path}/file"], f"output={tmp_path}/file is not a folder; choose another output="),
        ([f"output={tmp_path}/file/deeper"], f"cannot write into {tmp_path}/file/deeper (File exists); choose"),
        (["format=gif"], "format='gif' is not possible"),
        (["modle=x"], "did you mean 'model'?"),
    ):
        code, out, err = typed("der Hund\n", *([] if words[0].startswith("output") else [folder]), *words)
        assert (code, out, len(err)) == (2, [], 1), err
        assert message in err[0]
    for text in ("", "\n \n"):
        code, _, err = typed(text, folder)
        assert code == 2
        assert err == [
            "error: there is no sentence to draw, only empty lines or none; type one, or name a file, input=FILE",
        ]
    several_heads(monkeypatch, 2, 3)
    code, _, err = typed("der Hund\n", folder, "head=4")
    assert (code, err) == (2, ["error: head=4 is not in the model; there are 3, counted from 1"])
    assert names(tmp_path) == ["file", "two"]


def test_a_model_without_attention_is_refused_with_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"der Hund\n")))
    run = make_run(tmp_path / "none", "none")
    assert main(["visualise", f"model={run}", *FAST]) == 2
    [error] = capsys.readouterr().err.splitlines()
    assert "this model has no attention to draw" in error
    assert "attention=general" in error
    assert not (run / "visualisations").exists()


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt(), RuntimeError("bug")])
@pytest.mark.parametrize("kind", ["png", "html"])
def test_what_fails_half_way_leaves_nothing(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: BaseException, kind: str
) -> None:
    drawings = pictures.translation_pictures

    def failing(translation: Translation, choice: pictures.Choice) -> object:
        if translation.source == "ein Haus":
            raise fault
        return drawings(translation, choice)

    monkeypatch.setattr(pictures, "translation_pictures", failing)
    words = ["der Hund\nein Haus\n", f"output={tmp_path}/new", f"format={kind}"]
    if isinstance(fault, RuntimeError):
        with pytest.raises(RuntimeError):
            typed(*words)
    else:
        code, out, err = typed(*words)
        assert out == []
        wanted = f"error: cannot write into {tmp_path}/new (No space left on device); choose another output="
        assert (code, err) == ((2, [wanted]) if isinstance(fault, OSError) else (130, ["interrupted"]))
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_put_in_its_place_is_named(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "out" / "002.png").mkdir(parents=True)
    code, out, err = typed("der Hund\nein Haus\n", f"output={tmp_path}/out")
    assert (code, out) == (2, [])
    assert err == [f"error: cannot write {tmp_path}/out/002.png (Is a directory); choose another output="]
    assert (tmp_path / "out" / "001.png").is_file()
    assert names(tmp_path) == ["out"]


def test_why_nothing_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    """A translation may be empty, whatever its parts and its length; a line may be too long for its attention."""
    nothing = [Candidate("", 0.0, 0.0)]
    long, empty = ["a"] * 1200, np.zeros((1, 1, 0, 21), np.float32)
    lines = [
        Translation("two sentences", nothing, ["a"] * 21, [], empty, sentences=2, parts=2),
        Translation("in parts", nothing, long, ["b"], None, parts=2),
        Translation("given", nothing, long, [], np.zeros((1, 1, 0, 1200), np.float32)),
        Translation("", nothing, [], [], None, parts=0),
    ]
    found = [line.missing for line in pictures.drawn(lines, pictures.Choice(None, None))]
    assert found == [
        pictures.EMPTY, "it has 1,200 pieces, more than 1,000", pictures.EMPTY, pictures.EMPTY,
    ]  # fmt: skip
    said = capsys.readouterr().err
    assert said == "".join(f"line {n}: nothing to draw, {missing}\n" for n, missing in enumerate(found, 1))


def test_the_help_names_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["visualise", "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n  {key}=" in shown for key in ("input", "tgt", "tgt_text", "output", "format", "layer", "head"))
