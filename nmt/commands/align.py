"""`nmt align`: word alignments of given sentence pairs."""

import sys
from collections.abc import Mapping
from typing import Any

from tqdm import tqdm

from nmt.data.streams import output_file
from nmt.errors import ConfigError
from nmt.scoring.alignment import pharaoh
from nmt.translation.align import Extraction, aligned, check_model, count_pairs, read_pairs
from nmt.translation.open import open_scorer
from nmt.translation.translator import Translator


def main(config: Mapping[str, Any], typed: Mapping[str, Any]) -> int:
    """Prints the links of every pair of lines, as "i-j i-j …"."""
    how = extraction(config)
    total = count_pairs(config["src"], config["tgt"])
    translator = open_scorer(config, typed)
    check_model(translator, config, "model")
    other = None
    if config["reverse_model"] is not None:
        other = open_scorer(config, typed, "reverse_model")
        check_model(other, config, "reverse_model")
        check_directions(translator, other, config)
    pairs = read_pairs(config["src"], config["tgt"])
    hidden = config["output"] is None and sys.stdout.isatty()  # the links themselves show how far it is
    bar = tqdm(total=total, unit=" pairs", leave=False, disable=hidden or None, dynamic_ncols=True)
    with bar, output_file(config["output"]) as file:
        for found in aligned(translator, other, pairs, how, config["symmetrise"]):
            print(pharaoh(found), file=file, flush=True)
            bar.update()
    return 0


def extraction(config: Mapping[str, Any]) -> Extraction:
    """How links are drawn; options that do not go together are refused."""
    threshold = config["threshold"]
    if config["rule"] == "threshold" and threshold is None:
        raise ConfigError("rule=threshold needs the least weight of a link; add, for example, threshold=0.2")
    if config["rule"] == "argmax" and threshold is not None:
        raise ConfigError(f"threshold={threshold} has no effect with rule=argmax; add rule=threshold, or leave it out")
    if threshold is not None and not 0 < threshold <= 1:
        raise ConfigError(f"threshold={threshold} is no share of attention; give one above 0, at most 1")
    if config["reverse_model"] is not None and config["symmetrise"] is None:
        raise ConfigError(
            "reverse_model is given, but not how both directions are joined; add symmetrise=grow-diag-final-and, for "
            "example"
        )
    if config["reverse_model"] is None and config["symmetrise"] is not None:
        raise ConfigError(
            f"symmetrise={config['symmetrise']} joins two directions; name a model of the other one, reverse_model=RUN"
        )
    layer, head = (None if config[key] is None else config[key] - 1 for key in ("layer", "head"))
    return Extraction(config["units"], threshold, layer, head)


def check_directions(translator: Translator, other: Translator, config: Mapping[str, Any]) -> None:
    """Refuses a second model that is known not to translate the other way."""
    src, tgt = (translator.config["data"][key] for key in ("src_lang", "tgt_lang"))
    back = [other.config["data"][key] for key in ("src_lang", "tgt_lang")]
    if None not in (src, tgt, *back) and back != [tgt, src]:
        raise ConfigError(
            f"the model translates {back[0]} to {back[1]}, reverse_model={config['reverse_model']}; "
            f"name one of {tgt} to {src}"
        )
