"""`nmt visualise`: draws where the model looked when it translated each input line."""

from pathlib import Path

from nmt.config.verbs import VisualiseCommand
from nmt.data.streams import file_lines, input_lines
from nmt.errors import ConfigError, DataError, counted
from nmt.machine.home import expanded
from nmt.translation.notes import caution
from nmt.translation.open import note_seed, open_model
from nmt.translation.pictures import Choice, whole_folder, write_files, write_page
from nmt.translation.translator import Translator

FOLDER = "visualisations"  # in the run folder


def main(command: VisualiseCommand) -> int:
    """Draws every line and prints the names of the files."""
    translator = open_model(command)
    choice = checked_choice(command, translator)
    output = expanded(command.output or Path(command.model) / FOLDER)
    if output.exists() and not output.is_dir():
        raise DataError(f"output={output} is not a folder; choose another output=")
    given = given_translations(command)
    lines = list(input_lines(command.input))
    if not any(line.strip() for line in lines):
        raise DataError("there is no sentence to draw, only empty lines or none; type one, or name a file, input=FILE")
    if given is not None and len(given) != len(lines):
        key = "tgt_text" if command.tgt is None else f"tgt={command.tgt}"
        raise DataError(
            f"{counted(len(lines), 'line')} but {counted(len(given), 'translation')}, {key}; give one for every line"
        )
    with whole_folder(output) as folder:
        done = translator.translate(lines, attention=True) if given is None else translator.force(lines, given)
        done = list(translator.notes().noted(done, caution))
        if command.format == "html":
            names = write_page(done, choice, folder, command.model, given is not None)
        else:
            names = write_files(done, choice, folder, command.format)
    if given is None:
        note_seed(translator)
    for name in names:
        print(output / name)
    return 0


def given_translations(command: VisualiseCommand) -> list[str] | None:
    """The translations to draw in place of the model's own."""
    file, text = command.tgt, command.tgt_text
    if file is not None:
        path = expanded(file)
        if not path.exists():
            raise DataError(f"no file {file}, tgt={file}; check the path, or type the translation itself, tgt_text=…")
        return list(file_lines(path))
    return [text] if isinstance(text, str) else text


def checked_choice(command: VisualiseCommand, translator: Translator) -> Choice:
    """The requested layer and head, counted from 0; refuses numbers that the model does not have."""
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
