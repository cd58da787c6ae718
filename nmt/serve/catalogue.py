"""The served models, by direction. While a changed model is loaded, the old one still answers."""

import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from nmt.config.languages import refuse_unknown_language
from nmt.errors import ConfigError, NmtError, in_one_line, nearest
from nmt.serve.refusal import Refusal
from nmt.translation.notes import Notes
from nmt.translation.translator import Translator

Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class Source:
    """A run folder to serve, the unique name of its model, and the model's languages."""

    folder: Path
    name: str
    src_lang: str
    tgt_lang: str


@dataclass(frozen=True)
class Served:
    """A loaded model and its direction."""

    name: str
    src_lang: str
    tgt_lang: str
    translator: Translator
    notes: Notes

    @classmethod
    def of(cls, source: Source, translator: Translator) -> "Served":
        """A run folder's model, with its loaded translator."""
        return cls(source.name, source.src_lang, source.tgt_lang, translator, translator.notes())

    def warm_up(self) -> None:
        """Makes the slow first calls now, so that no client waits for them."""
        self.translator.translate(["A sentence."], attention=True)
        self.notes.unread("A sentence.")
        _ = self.translator.spelling


class Catalogue:
    """The models in the order given. If several have the same direction, the first is the default."""

    def __init__(self, sources: Sequence[Source], load: Callable[[Source], Translator]) -> None:
        self.sources = sources
        self.load = load
        self.stamps = [stamp_of(source.folder) for source in sources]
        self.served = [self._served(source) for source in sources]
        self.loading = Lock()

    def find(self, source: str, target: str, name: str | None) -> Served:
        """The model for a direction: the one named, or the default. Raises Refusal if no model fits."""
        found = [each for each in self.served if (each.src_lang, each.tgt_lang) == (source, target)]
        if not found:
            there = ", ".join(f"{own} to {into}" for own, into in self.directions())
            raise Refusal(400, f"{source} to {target} is not served here; choose from: {there}")
        if name is None:
            return found[0]
        named = [each for each in found if each.name == name]
        if not named:
            names = [each.name for each in found]
            raise Refusal(400, f"no model {name[:80]} translates {source} to {target}; {nearest(name[:80], names)}")
        return named[0]

    def directions(self) -> list[tuple[str, str]]:
        """The distinct pairs (source, target) of all models."""
        return list(dict.fromkeys((each.src_lang, each.tgt_lang) for each in self.served))

    def reload(self, changed_only: bool) -> list[str]:
        """Reloads all models, or the changed ones; returns their names. A model that fails to load stays as it was."""
        done = []
        with self.loading:
            for number, source in enumerate(self.sources):
                stamp = stamp_of(source.folder)
                if stamp is None or (changed_only and stamp == self.stamps[number]):
                    continue
                self.stamps[number] = stamp
                try:
                    fresh = self._served(source)
                except Exception as error:  # whatever is wrong with a new model, the old one still answers
                    if not isinstance(error, NmtError):
                        traceback.print_exc(file=sys.stderr)
                    said = in_one_line(error)
                    print(f"error: {said}; the server keeps the model that it had", file=sys.stderr, flush=True)
                    continue
                self.served = [fresh if place == number else each for place, each in enumerate(self.served)]
                done.append(source.name)
        return done

    def _served(self, source: Source) -> Served:
        served = Served.of(source, self.load(source))
        served.warm_up()
        return served


def stamp_of(folder: Path) -> Stamp | None:
    """Modification time, size and inode of the weights, which differ for a new file; None if there is no file."""
    try:
        found = (folder / "model.safetensors").stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def sources_of(
    folders: Sequence[Path], stored: Sequence[tuple[str | None, str | None]], languages: Sequence[str] | None
) -> list[Source]:
    """The runs to serve, each with a unique name. `languages`, such as en-de, replace the `stored` directions."""
    if languages is not None and len(languages) != len(folders):
        raise ConfigError(
            f"languages names {len(languages):,} directions for {len(folders):,} models; give one for each"
        )
    found: list[Source] = []
    for number, (folder, own) in enumerate(zip(folders, stored, strict=True)):
        source, target = own if languages is None else _direction(languages[number])
        if source is None or target is None:
            raise ConfigError(
                f"{folder} does not say which languages it translates (data.src_lang, data.tgt_lang); add, for "
                "example, languages=[en-de], one for each model"
            )
        found.append(Source(folder, _unique(folder.resolve().name, [each.name for each in found]), source, target))
    return found


def _direction(text: str) -> tuple[str, str]:
    """Source and target of a direction: en-de, or zh-Hant>en where a code has a hyphen."""
    parts = text.split(">") if ">" in text else text.split("-")
    if len(parts) != 2 or not all(parts):
        raise ConfigError(f"languages={text} is not a direction; write one as en-de, or zh-Hant>en")
    for part in parts:
        refuse_unknown_language("languages", part)
    return parts[0], parts[1]


def _unique(name: str, taken: Sequence[str]) -> str:
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found
