"""`nmt interactive`: a prompt that translates what is typed, and shows where the model looked."""

import shutil
import sys
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path
from time import perf_counter
from typing import Any

from nmt.config.sections import SearchConfig
from nmt.config.verbs import InteractiveCommand
from nmt.data.text import one_line
from nmt.errors import ConfigError, DataError, NmtError, counted, nearest, printable
from nmt.machine.home import expanded
from nmt.translation.long_lines import LONGEST_PART
from nmt.translation.notes import caution
from nmt.translation.open import as_typed, note_seed, open_model
from nmt.translation.translations import Translation
from nmt.translation.translator import Translator, with_n_best

COMMANDS_HELP = """\
Type a sentence to translate it, or:
  :attention          the last translation's attention, as a shaded grid of words
  :save FILE          the same as a picture (.png, .svg or .pdf)
  :bipartite FILE     both sentences joined by lines, the wider the more attention, as a picture
  :nbest N            show the N best translations (1 = only the best; without N, as many as the beam is wide)
  :beam N             search with a beam of N (1 = greedy)
  :begin TEXT         translate the last sentence so that it begins with TEXT (TEXT*: its last word may go on)
  :next TEXT          the likeliest words behind TEXT (without TEXT, the first words)
  :help               this list
  :quit               leave (so does Ctrl-D)
A sentence that begins with a colon and a letter has a second colon before it: ::word is sent as :word."""


NEXT_WORDS = 8
LONGEST_HISTORY = 1000  # lines of the file


def as_prefix(text: str) -> str:
    """The typed beginning of a translation as a prefix: whole words, unless a star at the end lets the last go on."""
    return text[:-1] if text.endswith("*") else f"{text} " if text else ""


class Session:
    """The state of a prompt: the search settings and the last translation."""

    def __init__(self, translator: Translator) -> None:
        self.translator = translator
        self.notes = translator.notes()
        self.settings: SearchConfig = translator.settings
        self.last: Translation | None = None

    def answer(self, line: str) -> str:
        """The text to print for a typed line."""
        line = line.strip()
        if not line:
            return ""
        if line.startswith("::"):
            return self.translate(line[1:])
        return self.command(line[1:]) if line.startswith(":") and line[1:2].isalpha() else self.translate(line)

    def translate(self, sentence: str, prefix: str | None = None) -> str:
        """The translations, which begin with the prefix, and the time they took."""
        start = perf_counter()
        self.last = self.translator.translate([sentence], True, self.settings, [prefix])[0]
        for said in self.notes.of(self.last).values():
            caution(f"the line {said}")
        took = f"({(perf_counter() - start) * 1000:.0f} ms)"
        if len(self.last.n_best) == 1:
            return f"{visible(self.last.text)}    {took}"
        lines = [f"{candidate.score:8.3f}  {visible(candidate.text)}" for candidate in self.last.n_best]
        return "\n".join([*lines, took])

    def command(self, line: str) -> str:
        """Runs a command, typed after a colon, and returns the text to print."""
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        commands: dict[str, Callable[[], str]] = {
            "attention": self.attention,
            "save": lambda: self.save(rest, "save"),
            "bipartite": lambda: self.save(rest, "bipartite"),
            "nbest": lambda: self.n_best(typed_number(rest, ":nbest 3") if rest else self.settings.beam),
            "beam": lambda: self.beam(typed_number(rest, ":beam 8")),
            "begin": lambda: self.begin(rest),
            "next": lambda: self.next_words(rest),
            "help": lambda: COMMANDS_HELP,
        }
        if word == "quit":
            raise ConfigError(
                f"unknown words '{rest}' after :quit; type :quit alone, or ::{line} to translate the line"
            )
        if word not in commands:
            known = [f":{name}" for name in [*commands, "quit"]]
            as_text = f"to translate the line, begin it with ::{word}"
            raise ConfigError(f"unknown command ':{word}'; {nearest(f':{word}', known)} ({as_text})")
        return commands[word]()

    def n_best(self, count: int) -> str:
        """Shows `count` translations of each sentence from now on; widens the beam if needed."""
        return self.change(with_n_best(self.settings, count))

    def beam(self, beam: int) -> str:
        """Searches with another beam from now on; lowers n_best if needed."""
        if self.settings.sample:
            raise ConfigError("search.sample=true draws translations without a beam; start with search=beam")
        return self.change(replace(self.settings, beam=beam, n_best=max(1, min(self.settings.n_best, beam))))

    def begin(self, text: str) -> str:
        """Translates the last sentence again, so that the translation begins with the text."""
        if not text:
            raise ConfigError("no text is given; type, for example, :begin Der Hund")
        return self.translate(self.last_source(), as_prefix(text))

    def next_words(self, text: str) -> str:
        """The likeliest words after the text, each with its probability and a translation that goes on with it."""
        from nmt.translation.continuations import continuations

        found = continuations(self.translator, self.last_source(), as_prefix(text), NEXT_WORDS, self.settings)
        words = [(f"{each.probability:6.1%}", each.text or "(end)", each.translation) for each in found]
        width = max((len(word) for _, word, _ in words), default=0)
        return "\n".join(f"{share}  {visible(word):<{width}}  {visible(whole)}" for share, word, whole in words)

    def last_source(self) -> str:
        """The sentence that was translated last."""
        if self.last is None:
            raise ConfigError("nothing is translated yet; type a sentence first")
        return self.last.source

    def change(self, settings: SearchConfig) -> str:
        """Uses the settings for the next sentences, and returns them in words."""
        self.settings = settings
        shown = "the best translation" if settings.n_best == 1 else f"the {settings.n_best} best translations"
        return counted(settings.n_best, "sample") if settings.sample else f"beam {settings.beam}, {shown}"

    def weights(self) -> tuple[Any, list[str], list[str]]:
        """Attention of the last translation, [target words, source words]; its source words; its target words."""
        if self.last is None:
            raise ConfigError("nothing is translated yet; type a sentence first")
        if not self.translator.has_attention:
            raise ConfigError("this model has no attention to show; train one with attention=general, for example")
        if self.last.parts and self.last.attention is None:
            raise ConfigError(
                f"the last line has {len(self.last.src_pieces):,} pieces, and attention is shown for "
                f"{LONGEST_PART:,} at most; type a shorter line"
            )
        return self.last.word_attention

    def attention(self) -> str:
        """The attention as a shaded grid, as wide as the terminal allows."""
        from nmt.figures.terminal import attention_text

        return attention_text(*self.weights(), columns=shutil.get_terminal_size().columns)

    def save(self, name: str, kind: str) -> str:
        """Saves a picture: the heat map for :save, both sentences joined by lines for :bipartite."""
        from nmt.figures.attention import attention_figure, bipartite_figure
        from nmt.figures.figure import save_figure

        if not name:
            raise ConfigError(f"no file is named; type, for example, :{kind} attention.png")
        draw = {"save": attention_figure, "bipartite": bipartite_figure}[kind]
        save_figure(draw(*self.weights()), expanded(name))
        return f"saved {name}"


def visible(text: str) -> str:
    """The text without the control characters that an untrained model may write and a terminal would obey."""
    return "".join("\ufffd" if unicodedata.category(char) == "Cc" and char != "\t" else char for char in one_line(text))


def typed_number(text: str, example: str) -> int:
    """A whole number that was typed after a command."""
    try:
        return int(text)
    except ValueError:
        raise ConfigError(f"'{text}' is not a number; type, for example, {example}") from None


def main(command: InteractiveCommand) -> int:
    """Reads lines until :quit or the end of input."""
    refuse_closed()
    session = Session(open_model(command))
    if isinstance(sys.stdin, TextIOWrapper):  # bytes that are not UTF-8 reach `read_line`, which refuses them
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    note_seed(session.translator)
    if not sys.stdin.isatty():
        converse(session, prompt="")
        return 0
    history = None if command.history is None else expanded(command.history)
    recalled = edit_lines(history)
    print(f"{as_typed(command.model)}: type a sentence, :help for more, :quit to leave")
    try:
        converse(session, prompt="> ")
    finally:
        keep_history(history, recalled)
    return 0


def refuse_closed() -> None:
    """Refuses closed standard streams: Python's `input` needs all three."""
    if sys.stdin is None:
        raise DataError("standard input is closed; type at a terminal, or give it a file")
    if sys.stdout is None:
        raise DataError("standard output is closed; give it a terminal or a file")
    if sys.stderr is None:
        raise DataError("standard error is closed; give it a terminal or a file")


def converse(session: Session, prompt: str) -> None:
    """Answers lines until :quit or the end of input; a mistake is reported and leaves the session as it was."""
    while True:
        try:
            line = read_line(prompt)
            if line.strip() in (":quit", ":q"):
                break
            if shown := session.answer(line):
                print(shown, flush=True)
        except NmtError as error:
            print(f"error: {printable(str(error))}", file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            if not prompt:
                raise
            print()  # drops the line or the translation under way, not the session
        except EOFError:
            if prompt:
                print()
            break


def read_line(prompt: str) -> str:
    """The next typed line; refuses bytes that are not UTF-8."""
    line = input(prompt)
    try:
        line.encode()
    except UnicodeEncodeError:
        raise DataError("the line is not valid UTF-8; set the terminal, or convert the file, to UTF-8") from None
    return line


def edit_lines(history: Path | None) -> int:
    """Enables the arrow keys and recalls the sentences of earlier sessions, if Python has readline; how many lines."""
    with suppress(ImportError):
        import readline

        with suppress(OSError):
            if history is not None and history.exists():
                readline.read_history_file(history)
        return readline.get_current_history_length()
    return 0


def keep_history(history: Path | None, recalled: int) -> None:
    """Saves the sentences typed since the first `recalled` lines; ignores a folder that cannot be written.

    They are added to the file, because another session may have added its own by now.
    """
    if history is None:
        return
    with suppress(ImportError, OSError):
        import readline

        history.parent.mkdir(parents=True, exist_ok=True)
        history.touch(mode=0o600)
        readline.set_history_length(LONGEST_HISTORY)
        if hasattr(readline, "append_history_file"):
            readline.append_history_file(readline.get_current_history_length() - recalled, history)
        else:  # some versions of libedit can only write the file anew
            readline.write_history_file(history)
