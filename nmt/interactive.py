"""`nmt interactive`: a prompt that translates what is typed, and shows where the model looked."""

import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

from nmt.alignment import word_attention
from nmt.config import SearchConfig
from nmt.errors import ConfigError, NmtError, nearest
from nmt.search import check_search
from nmt.translate import open_model
from nmt.translator import Translation, Translator, with_n_best

HELP = """\
Type a sentence to translate it, or:
  :attention          the last translation's attention, as a shaded grid of words
  :save FILE          the same as a picture (.png, .svg or .pdf)
  :nbest N            show the N best translations (1 = only the best)
  :beam N             search with a beam of N (1 = greedy)
  :help               this list
  :quit               leave (so does Ctrl-D)"""


class Session:
    """The state of a prompt: search settings, and the last translation."""

    def __init__(self, translator: Translator) -> None:
        self.translator = translator
        self.settings: SearchConfig = translator.settings
        self.last: Translation | None = None

    def answer(self, line: str) -> str:
        """What to print for a line typed."""
        line = line.strip()
        if not line:
            return ""
        return self.command(line[1:]) if line.startswith(":") else self.translate(line)

    def translate(self, sentence: str) -> str:
        """The translations and the time they took."""
        start = perf_counter()
        self.last = self.translator.translate([sentence], attention=True, settings=self.settings)[0]
        took = f"({(perf_counter() - start) * 1000:.0f} ms)"
        if len(self.last.n_best) == 1:
            return f"{self.last.text}    {took}"
        lines = [f"{candidate.score:8.3f}  {candidate.text}" for candidate in self.last.n_best]
        return "\n".join([*lines, took])

    def command(self, line: str) -> str:
        """A word after a colon."""
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        commands = {
            "attention": lambda: self.attention(),
            "save": lambda: self.save(rest),
            "nbest": lambda: self.change(with_n_best(self.settings, number(rest, ":nbest 3"))),
            "beam": lambda: self.beam(number(rest, ":beam 8")),
            "help": lambda: HELP,
        }
        if word not in commands:
            raise ConfigError(f"unknown command ':{word}'; {nearest(word, [*commands, 'quit'])} :help lists them")
        return commands[word]()

    def beam(self, beam: int) -> str:
        """Another beam; n_best shrinks with it."""
        return self.change(replace(self.settings, beam=beam, n_best=max(1, min(self.settings.n_best, beam))))

    def change(self, settings: SearchConfig) -> str:
        """Settings for the sentences to come."""
        check_search(settings)
        self.settings = settings
        return f"beam {settings.beam}, {settings.n_best} best"

    def weights(self) -> tuple[Any, list[str], list[str]]:
        """Attention of the last translation, [target words, source words], with the words."""
        if self.last is None:
            raise ConfigError("nothing is translated yet; type a sentence first")
        if self.last.attention is None:
            raise ConfigError("this model has no attention to show; train one with attention=general, for example")
        return word_attention(self.last.attention, self.last.src_pieces, self.last.tgt_pieces)

    def attention(self) -> str:
        """The grid, as wide as the terminal allows."""
        from nmt.figures import attention_text

        return attention_text(*self.weights(), columns=shutil.get_terminal_size().columns)

    def save(self, name: str) -> str:
        """The picture, in a file."""
        from nmt.figures import attention_figure, save_figure

        if not name:
            raise ConfigError("no file is named; type, for example, :save attention.png")
        save_figure(attention_figure(*self.weights()), Path(name).expanduser())
        return f"saved {name}"


def number(text: str, example: str) -> int:
    """A whole number that was typed after a command."""
    try:
        return int(text)
    except ValueError:
        raise ConfigError(f"'{text}' is not a number; type, for example, {example}") from None


def main(config: Mapping[str, Any], typed: Mapping[str, Any]) -> int:
    """Reads lines until :quit or the end of input."""
    session = Session(open_model(config, typed))
    history = None if config["history"] is None else Path(config["history"]).expanduser()
    at_terminal = sys.stdin.isatty()
    if at_terminal:
        edit_lines(history)
        print(f"{config['model']}: type a sentence, :help for more, :quit to leave")
    while True:
        try:
            line = input("> " if at_terminal else "")
            if line.strip() in (":quit", ":q"):
                break
            if shown := session.answer(line):
                print(shown, flush=True)
        except NmtError as error:
            print(f"error: {error}", file=sys.stderr)
        except KeyboardInterrupt:  # drops the line or the translation under way, not the session
            print()
        except EOFError:
            print()
            break
    if at_terminal and history is not None:
        keep_history(history)
    return 0


def edit_lines(history: Path | None) -> None:
    """Arrow keys, and the sentences of earlier sessions, where Python has readline."""
    with suppress(ImportError, OSError):
        import readline

        if history is not None and history.exists():
            readline.read_history_file(history)


def keep_history(history: Path) -> None:
    """Writes the sentences typed for the next session; a folder that cannot be written costs only that."""
    with suppress(ImportError, OSError):
        import readline

        history.parent.mkdir(parents=True, exist_ok=True)
        readline.set_history_length(1000)
        readline.write_history_file(history)
