"""`nmt visualise`: for every line in, pictures of where the model looked when it translated it."""

import html
import sys
import tempfile
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nmt.config.verbs import VisualiseCommand
from nmt.data.streams import file_lines, input_lines
from nmt.errors import ConfigError, DataError
from nmt.figures.attention import Panel, attention_figure, bipartite_figure, panels_figure
from nmt.figures.figure import save_figure, svg_text
from nmt.scoring.alignment import word_attention
from nmt.translation.long_lines import caution, noted
from nmt.translation.open import open_model
from nmt.translation.translations import Translation
from nmt.translation.translator import Translator

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = "visualisations"  # in the run folder
EMPTY = "the sentence or its translation is empty"
PAGE_FILE = "index.html"


@dataclass(frozen=True)
class Choice:
    """Which layers and heads are looked at, from 0; None: all."""

    layer: int | None
    head: int | None

    def of(self, attention: NDArray[np.float32]) -> list[tuple[int, int, NDArray[np.float32]]]:
        """Layer, head and weights [T, S] of each that is chosen."""
        L, H = attention.shape[:2]
        layers = range(L) if self.layer is None else [self.layer]
        heads = range(H) if self.head is None else [self.head]
        return [(layer, head, attention[layer, head]) for layer in layers for head in heads]


def main(command: VisualiseCommand) -> int:
    """Draws every line and prints the names of the files."""
    translator = open_model(command)
    choice = checked_choice(command, translator)
    output = Path(command.output or Path(command.model) / FOLDER).expanduser()
    if output.exists() and not output.is_dir():
        raise DataError(f"output={output} is not a folder; choose another output=")
    given = given_translations(command)
    lines = list(input_lines(command.input))
    if not any(line.strip() for line in lines):
        raise DataError("no sentence came in, only empty lines or none; type one, or name a file, input=FILE")
    if given is not None and len(given) != len(lines):
        key = "tgt_text" if command.tgt is None else f"tgt={command.tgt}"
        raise DataError(f"lines: {len(lines):,}, but translations: {len(given):,}, {key}; give one for every line")
    with whole_folder(output) as folder:
        done = translator.translate(lines, attention=True) if given is None else translator.force(lines, given)
        done = list(noted(done, caution))
        names = (write_page if command.format == "html" else write_files)(done, choice, folder, command)
    for name in names:
        print(output / name)
    return 0


def given_translations(command: VisualiseCommand) -> list[str] | None:
    """The translations to draw in place of the model's own."""
    file, text = command.tgt, command.tgt_text
    if file is not None:
        path = Path(file).expanduser()
        if not path.exists():
            raise DataError(f"no file {file}, tgt={file}; check the path, or type the translation itself, tgt_text=…")
        return list(file_lines(path))
    return [text] if isinstance(text, str) else text


def checked_choice(command: VisualiseCommand, translator: Translator) -> Choice:
    """The layer and the head that were asked for; refused where the model has them not."""
    if not translator.has_attention:
        raise ConfigError(
            f"this model has no attention to draw, model={command.model}; "
            "train one that has, with attention=general for example"
        )
    [probe] = translator.force(["a"], ["a"])
    assert probe.attention is not None
    for key, count in zip(("layer", "head"), probe.attention.shape[:2], strict=True):
        wanted = getattr(command, key)
        if wanted is not None and wanted > count:
            there = "there is only 1" if count == 1 else f"there are {count}, counted from 1"
            raise ConfigError(f"{key}={wanted} is not in the model; {there}")
    return Choice(*(None if wanted is None else wanted - 1 for wanted in (command.layer, command.head)))


@contextmanager
def whole_folder(output: Path) -> Iterator[Path]:
    """A folder to write in, whose files come into `output` when all are written, or not at all."""
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent) as beside:
            yield Path(beside)
            output.mkdir(exist_ok=True)
            for file in sorted(Path(beside).iterdir()):
                file.replace(output / file.name)
    except OSError as error:
        raise DataError(f"cannot write into {output} ({error.strerror}); choose another output=") from None


def pictures(translation: Translation, choice: Choice) -> Iterator[tuple[str, "Figure"]]:
    """What the picture shows, and the picture: heat map, bipartite drawing, and panels where there are several."""
    assert translation.attention is not None
    pieces = translation.src_pieces, translation.tgt_pieces
    chosen = choice.of(translation.attention)
    mean = word_attention(np.mean([weights for _, _, weights in chosen], axis=0), *pieces)
    yield "attention", attention_figure(*mean)
    yield "bipartite", bipartite_figure(*mean)
    if len(chosen) > 1:
        L, H = translation.attention.shape[:2]
        panels: list[Panel] = []
        for layer, head, weights in chosen:
            title = ", ".join([f"layer {layer + 1}"] * (L > 1) + [f"head {head + 1}"] * (H > 1))
            panels.append((title, *word_attention(weights, *pieces)))
        yield "heads", panels_figure(panels)


def skipped(translation: Translation, number: int) -> bool:
    """Is there nothing to draw? Then a line on standard error says so."""
    if translation.attention is not None and translation.attention.size:
        return False
    why = f"it was translated in {translation.parts:,} parts" if translation.parts > 1 else EMPTY
    print(f"line {number}: nothing to draw, {why}", file=sys.stderr)
    return True


def write_files(done: Sequence[Translation], choice: Choice, folder: Path, command: VisualiseCommand) -> list[str]:
    """Pictures of every sentence in files of their own: 001.png, 001_bipartite.png, 001_heads.png, …"""
    names = []
    digits = max(3, len(str(len(done))))
    for number, translation in enumerate(done, start=1):
        if skipped(translation, number):
            continue
        for kind, figure in pictures(translation, choice):
            name = f"{number:0{digits}}{'' if kind == 'attention' else '_' + kind}.{command.format}"
            save_figure(figure, folder / name)
            names.append(name)
    return names


STYLE = """
body { font: 1rem/1.5 system-ui, sans-serif; color: #111; background: #fff; max-width: 75rem; margin: 2rem auto;
  padding: 0 1rem }
h2 { border-top: 1px solid #bbb; padding-top: 1rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem }
dt { color: #555 } dd { margin: 0 }
figure { margin: 1.5rem 0; break-inside: avoid } figcaption { color: #555 }
svg { max-width: 100%; height: auto }
"""
CAPTIONS = {
    "attention": "Attention: each row is a word of the translation, and shows which words it was translated from.",
    "bipartite": "The same as lines: the wider and darker, the more attention.",
    "heads": "Each layer and head alone.",
}


def write_page(done: Sequence[Translation], choice: Choice, folder: Path, command: VisualiseCommand) -> list[str]:
    """One page with every sentence, which needs nothing beside it: no script, no font, no network."""
    model = html.escape(str(command.model))
    chosen = {"layer": command.layer, "head": command.head}
    picked = [f"{key} {number}" for key, number in chosen.items() if number is not None]
    shown = ", ".join(picked) or "the mean of all layers and heads"
    own = command.tgt is None and command.tgt_text is None
    with open(folder / PAGE_FILE, "w", encoding="utf-8", newline="\n") as page:
        page.write(
            f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Attention of {model}</title>'
        )
        page.write('\n<meta name="viewport" content="width=device-width, initial-scale=1">')
        page.write(f"\n<style>{STYLE}</style></head>\n<body>\n<h1>Attention of {model}</h1>\n<p>Drawn: {shown}.</p>\n")
        for number, translation in enumerate(done, start=1):
            page.write(f"<section>\n<h2>{number}</h2>\n<dl><dt>source</dt><dd>{written(translation.source)}</dd>")
            kind = "translation" if own else "given translation"
            page.write(f"<dt>{kind}</dt><dd>{written(translation.text)}</dd></dl>\n")
            if not skipped(translation, number):
                for name, figure in pictures(translation, choice):
                    page.write(f"<figure>{svg_text(figure)}<figcaption>{CAPTIONS[name]}</figcaption></figure>\n")
            page.write("</section>\n")
        page.write("</body>\n</html>\n")
    return [PAGE_FILE]


def written(text: str) -> str:
    """Text for the page, with a sign in place of control characters, which HTML cannot hold."""
    kept = "".join("\ufffd" if unicodedata.category(char) == "Cc" and char != "\t" else char for char in text)
    return html.escape(kept)
