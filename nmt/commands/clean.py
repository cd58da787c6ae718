"""`nmt clean`: writes a corpus without the pairs that are not translations, and a report with samples of them."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from nmt.config.keys import hints_of, meaning
from nmt.config.sections import FilterConfig
from nmt.config.verbs import CleanCommand
from nmt.data.clean_corpus import Cleaned, Scoring, clean
from nmt.data.corpus import training_split
from nmt.errors import counted
from nmt.figures.page import page
from nmt.figures.table import TableRows, text_table
from nmt.machine.home import expanded
from nmt.machine.safe_files import folder_beside, put_in_place, refuse_filled, refuse_unwritable
from nmt.runs.folder import seen_file
from nmt.runs.learned import say_caution_of
from nmt.scoring.cautions import of_scorer


def main(command: CleanCommand) -> int:
    """Writes both sides and the report, and prints how many pairs each filter dropped."""
    output = expanded(command.output)
    refuse_filled(output, f"output={command.output}")
    refuse_unwritable(output, "output")
    data = command.data
    split = training_split(data, expanded(command.cache_dir))
    for note in split.notes:
        print(note, file=sys.stderr)
    scoring = open_scoring(command)
    with folder_beside(output) as folder:
        files = folder / f"train.{data.src_lang}", folder / f"train.{data.tgt_lang}"
        cleaned = clean(split, data, scoring, files, command.samples, command.seed, say)
        report = settings(command) | asdict(cleaned)
        plain = json.dumps(report, indent=1, ensure_ascii=False)
        (folder / "report.json").write_bytes(plain.encode(errors="backslashreplace"))
        values = {"cleaned": cleaned, "data": data, "table": table(cleaned), "meanings": meanings()}
        with open(folder / "report.html", "wb") as file:
            file.writelines(part.encode() for part in page("clean.html", values))
        put_in_place(folder, output)
    for tally in split.tallies:
        print(f"train: {tally}", file=sys.stderr)
    print(text_table(table(cleaned)), flush=True)
    names = f"{files[0].name} and {files[1].name}"
    print(f"\n{counted(cleaned.kept, 'pair')} in {names}; samples in report.html: {output}", file=sys.stderr)
    return 0


def open_scoring(command: CleanCommand) -> Scoring | None:
    """The models that score pairs, and the limits on their scores; None without a scorer."""
    if command.scorer is None:
        return None
    from nmt.translation.misalignment import refuse_other_direction, scores
    from nmt.translation.translator import Translator  # imports torch, a second that filters alone do not need

    languages = command.data.src_lang, command.data.tgt_lang
    models, trained_on = [], {}
    for key, folder in scorers(command).items():
        model = Translator.load(folder, None, command.trust, command.device, "float", False, workers=command.workers)
        refuse_other_direction(key, model, languages[::-1] if key == "scorer_reverse" else languages)
        say_caution_of(folder)
        models.append(model)
        trained_on[key] = seen_file(folder)
    there, back = models[0], models[1] if len(models) > 1 else None
    return Scoring(
        partial(scores, there, back, command.max_contrast is not None),
        partial(of_scorers, command, trained_on),
        command.max_end_surprise,
        command.max_contrast,
        command.max_cross_entropy,
        command.drop_worst,
    )


def scorers(command: CleanCommand) -> dict[str, Path]:
    """The run folder of each scorer that is given, by its key."""
    given = {"scorer": command.scorer, "scorer_reverse": command.scorer_reverse}
    return {key: expanded(folder) for key, folder in given.items() if folder is not None}


def of_scorers(
    command: CleanCommand, trained_on: dict[str, Path], sources: Sequence[str], targets: Sequence[str]
) -> Iterator[str]:
    """Says which scorers were trained on such pairs; `trained_on` has their files of hashes, by their keys."""
    for key, known in trained_on.items():
        sides = (targets, sources) if key == "scorer_reverse" else (sources, targets)
        yield from of_scorer(known, f"{key}={getattr(command, key)}", *sides)


def say(text: str) -> None:
    """Prints a line for the user, at once."""
    print(text, file=sys.stderr, flush=True)


def settings(command: CleanCommand) -> dict[str, Any]:
    """The settings that decide which pairs are dropped."""
    limits = ("max_end_surprise", "max_contrast", "max_cross_entropy", "drop_worst")
    keys = ("scorer", "scorer_reverse", *limits, "seed")
    return {"filters": asdict(command.data.filters), **{key: getattr(command, key) for key in keys}}


def table(cleaned: Cleaned) -> TableRows:
    """The numbers of pairs that each filter dropped and of pairs kept, with their shares of the pairs read."""
    rows = [(each.filter, each.pairs) for each in cleaned.dropped] + [("kept", cleaned.kept)]
    return [["filter", "pairs", "share"], *([name, f"{n:,}", f"{n / cleaned.read:.2%}"] for name, n in rows)]


def meanings() -> dict[str, str]:
    """What each filter drops, by its key."""
    return {name: meaning(hint) for keys in (CleanCommand, FilterConfig) for name, hint in hints_of(keys).items()}
