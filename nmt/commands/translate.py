"""`nmt translate`: one line out for every line in."""

import json
import sys
from typing import Any

from nmt.config.verbs import TranslateCommand
from nmt.data.streams import LINE_ENDS, input_lines, output_file
from nmt.errors import ConfigError
from nmt.scoring.alignment import pharaoh
from nmt.translation.long_lines import caution, noted
from nmt.translation.open import as_typed, means, open_model
from nmt.translation.translations import Translation
from nmt.translation.translator import Attention, with_n_best


def main(command: TranslateCommand) -> int:
    """Translates standard input or files."""
    translator = open_model(command)
    if command.alignments and not translator.has_attention:
        raise ConfigError(
            f"alignments=true, but the model has no attention, model={as_typed(command.model)}; leave alignments out"
        )
    settings = with_n_best(translator.settings, command.n_best)
    if settings.n_best > 1 and command.format == "text":
        raise ConfigError(
            f"n_best={settings.n_best} needs format=jsonl: as text every line has one translation; "
            "add format=jsonl, or n_best=1"
        )
    lines = input_lines(command.input)
    with output_file(command.output) as file:
        wanted: Attention = "words" if command.alignments else False
        translations = translator.stream(lines, command.buffer, wanted, settings)
        for number, translation in enumerate(noted(translations, caution)):
            text = translation.text
            if command.format == "jsonl":
                text = translation_json(translation, settings.n_best > 1, command.alignments)
            print(text, file=file, flush=True)
            if number == 0:  # input and output work: an error would have come without this line
                print(means(translator, settings), file=sys.stderr)
    return 0


def translation_json(translation: Translation, n_best: bool, alignments: bool) -> str:
    """One JSON object on one line, for every reader's idea of a line."""
    record: dict[str, Any] = {
        "source": translation.source,
        "translation": translation.text,
        "score": translation.score,
        "log_prob": translation.log_prob,
    }
    if n_best:
        record["n_best"] = [vars(candidate) for candidate in translation.n_best]
    if alignments:
        found = translation.word_links
        record |= {"alignment": pharaoh(found.links), "src_words": found.src, "tgt_words": found.tgt}
    return json.dumps(record, ensure_ascii=False).translate(LINE_ENDS)
