"""What every picture needs: a figure that needs no display, fonts for any script, and a way to save it.

matplotlib is imported when the first picture is drawn. pyplot is never imported, so nothing depends on a display.
"""

from __future__ import annotations

import hashlib
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nmt.errors import ConfigError, DataError
from nmt.figures.fonts import drawable, families
from nmt.machine.safe_files import replace_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.text import Text

DPI = 120  # on screens
PRINT_DPI = 180  # in .png files
# kinds of files, and the metadata to leave out so that the same picture always gives the same file
FILE_KINDS: dict[str, dict[str, None]] = {
    ".png": {},
    ".svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    ".pdf": {"CreationDate": None},
}


def new_figure(width: float = 1.0, height: float = 1.0) -> Figure:
    """An empty figure of this size in inches, with a canvas to draw and measure on."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DPI)
    FigureCanvasAgg(figure)
    return figure


def dress(text: Text) -> None:
    """Makes matplotlib draw the text literally, never as mathematics, in fonts that have its characters."""
    text.set_parse_math(False)
    text.set_text(drawable(text.get_text()))
    text.set_fontfamily(families(text.get_text()))


def save_figure(figure: Figure, path: Path) -> None:
    """Writes the picture as .png, .svg or .pdf, by the ending of the name; if that fails, an old file stays whole."""
    kind = path.suffix.lower()
    if kind not in FILE_KINDS:
        raise ConfigError(f"unknown kind of picture '{path.suffix}', {path}; end the name in .png, .svg or .pdf")
    drawn = _drawn(figure, kind)
    try:
        replace_file(path, drawn)
    except OSError as error:
        raise DataError(f"cannot write the picture ({error.strerror}), {path}; choose another folder") from error


def svg_text(figure: Figure) -> str:
    """The picture as an <svg> element for an HTML page: letters are outlines, so no reader lacks a font.

    All ids begin with a hash of the drawing, so that one page can hold many drawings.
    """
    whole = _drawn(figure, ".svg").decode("utf-8")
    element = whole[whole.index("<svg") :].strip()
    own = "f" + hashlib.sha256(element.encode()).hexdigest()[:8]
    return re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{own}-", element)


def pixels(figure: Figure) -> NDArray[np.uint8]:
    """The picture as red, green and blue [height, width, 3]."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    return np.asarray(canvas.buffer_rgba(), dtype=np.uint8)[..., :3].copy()  # type: ignore[no-untyped-call]


def _drawn(figure: Figure, kind: str) -> bytes:
    from matplotlib import rc_context

    drawn = io.BytesIO()
    with rc_context({"svg.hashsalt": "nmt", "svg.fonttype": "path"}):  # the salt makes the ids the same each time
        figure.savefig(drawn, format=kind[1:], metadata=FILE_KINDS[kind], dpi=PRINT_DPI if kind == ".png" else "figure")
    return drawn.getvalue()
