"""`nmt visualise`: for every line in, pictures of where the model looked when it translated it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmt.data.streams import file_lines, input_lines
from nmt.errors import ConfigError, DataError
from nmt.translation.long_lines import caution, noted
from nmt.translation.open import open_model
from nmt.translation.pictures import Choice, whole_folder, write_files, write_page
from nmt.translation.translator import Translator

FOLDER = "visualisations"  # in the run folder


def main(config: Mapping[str, Any], typed: Mapping[str, Any]) -> int:
    """Draws every line and prints the names of the files."""
    refuse_search(config, typed)
    translator = open_model(config, typed)
    choice = checked_choice(config, translator)
    output = Path(config["output"] or Path(config["model"]) / FOLDER).expanduser()
    if output.exists() and not output.is_dir():
        raise DataError(f"output={output} is not a folder; choose another output=")
    given = given_translations(config)
    lines = list(input_lines(config["input"]))
    if not any(line.strip() for line in lines):
        raise DataError("no sentence came in, only empty lines or none; type one, or name a file, input=FILE")
    if given is not None and len(given) != len(lines):
        key = "tgt_text" if config["tgt"] is None else f"tgt={config['tgt']}"
        raise DataError(f"lines: {len(lines):,}, but translations: {len(given):,}, {key}; give one for every line")
    with whole_folder(output) as folder:
        done = translator.translate(lines, attention=True) if given is None else translator.force(lines, given)
        done = list(noted(done, caution))
        if config["format"] == "html":
            names = write_page(done, choice, folder, config["model"], given is not None)
        else:
            names = write_files(done, choice, folder, config["format"])
    for name in names:
        print(output / name)
    return 0


def refuse_search(config: Mapping[str, Any], typed: Mapping[str, Any]) -> None:
    """Where the translations are given, nothing is searched for."""
    searching = [key for key in typed if key.split(".")[0] in ("search", "shortlist")]
    if searching and (config["tgt"] is not None or config["tgt_text"] is not None):
        raise ConfigError(f"{searching[0]} is for searching, and the translations are given; leave one of both out")


def given_translations(config: Mapping[str, Any]) -> list[str] | None:
    """The translations to draw in place of the model's own."""
    file, text = config["tgt"], config["tgt_text"]
    if file is not None and text is not None:
        raise ConfigError("tgt and tgt_text are both given; leave one out")
    if file is not None:
        path = Path(file).expanduser()
        if not path.exists():
            raise DataError(f"no file {file}, tgt={file}; check the path, or type the translation itself, tgt_text=…")
        return list(file_lines(path))
    return [text] if isinstance(text, str) else text


def checked_choice(config: Mapping[str, Any], translator: Translator) -> Choice:
    """The layer and the head that were asked for; refused where the model has them not."""
    if not translator.has_attention:
        raise ConfigError(
            f"this model has no attention to draw, model={config['model']}; "
            "train one that has, with attention=general for example"
        )
    [probe] = translator.force(["a"], ["a"])
    assert probe.attention is not None
    for key, count in zip(("layer", "head"), probe.attention.shape[:2], strict=True):
        if config[key] is not None and not 1 <= config[key] <= count:
            there = "there is only 1" if count == 1 else f"there are {count}, counted from 1"
            raise ConfigError(f"{key}={config[key]} is not in the model; {there}")
    return Choice(*(None if config[key] is None else config[key] - 1 for key in ("layer", "head")))
