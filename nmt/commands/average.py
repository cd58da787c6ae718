"""`nmt average`: a model between several, such as one that was fine-tuned and the one that it came from."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf, sqrt
from pathlib import Path

import torch
from torch import Tensor

from nmt.config.identity import differences
from nmt.config.verbs import AverageCommand
from nmt.errors import ConfigError, counted
from nmt.machine.home import expanded
from nmt.machine.safe_files import folder_beside, put_in_place, refuse_filled, refuse_unwritable
from nmt.runs.folder import LoadedModel, create_run, load_model, refuse_other_pieces, seen_file
from nmt.runs.learned import say_caution_of
from nmt.runs.parts_of_mean import Part, described, write_parts
from nmt.runs.tensors import parameters_of, write_tensors

# Cosine of the weights of two runs: 0.97 to 1 after fine-tuning, 0.42 to 0.44 for three pairs of models that were
# trained apart from the same random weights, about 0 for other random weights.
LEAST_ALIKE = 0.7
OF_MODEL = ("model", "encoder", "decoder", "attention")  # sections that weights depend on
OF_TEXT = ("data.src_lang", "data.tgt_lang", "data.nfc", "data.plain_source")  # what a model reads

Weights = Mapping[str, Tensor]


def main(command: AverageCommand) -> int:
    """Writes a run folder that holds the mean; it translates and can be trained further, but not resumed."""
    folders = [expanded(model) for model in command.model]
    weights = shares(command.weights, folders)
    output = expanded(command.runs_dir) / command.name
    refuse_filled(output, str(output))
    refuse_unwritable(output, "name")
    for folder in folders:
        say_caution_of(folder)
    loaded = [load_model(folder, command.trust) for folder in folders]
    parameters = [parameters_of(each.model) for each in loaded]
    for folder, other, given in zip(folders[1:], loaded[1:], parameters[1:], strict=True):
        refuse_unlike(folders[0], folder, loaded[0], other)
        found = cosine(parameters[0], given)
        refuse_unrelated(folders[0], folder, found)
        print(f"{folder} and {folders[0]}: cosine of the weights {found:.3f}", file=sys.stderr)
    latest, letter_case = loaded[-1], loaded[0].letter_case
    for each in loaded[1:]:
        letter_case = each.letter_case.after(letter_case)
    config = replace(latest.config, name=command.name, runs_dir=command.runs_dir)
    parts = [Part(str(at), each.checksum, share) for at, each, share in zip(folders, loaded, weights, strict=True)]
    with folder_beside(output) as folder:
        known = [seen_file(each) for each in folders]
        create_run(folder, config, latest.tokenizers, letter_case, latest.usual_sentences, known)
        write_tensors(folder / "model.safetensors", mean(parameters, weights))
        write_parts(folder, parts)
        put_in_place(folder, output)
    print(f"{described(parts)}\nnext: nmt evaluate model={output}", file=sys.stderr)
    return 0


def shares(weights: Sequence[float] | None, folders: Sequence[Path]) -> list[float]:
    """The share of each model; they sum to 1."""
    if len(folders) < 2:
        raise ConfigError(f"model={[str(folder) for folder in folders]} names fewer than two runs; give a list of them")
    given = [1.0] * len(folders) if weights is None else list(weights)
    if len(given) != len(folders):
        raise ConfigError(
            f"weights={given} has {counted(len(given), 'number')}, model names {len(folders)} runs; give one for each"
        )
    if not all(0 <= weight < inf for weight in given) or not 0 < sum(given) < inf:
        raise ConfigError(f"weights={given} cannot be shares; give numbers of 0 or more, and one above 0")
    return [weight / sum(given) for weight in given]


def mean(parameters: Sequence[Weights], weights: Sequence[float]) -> dict[str, Tensor]:
    """The weighted mean of each tensor (Wortsman et al. 2022, eq. 1), computed in float64."""
    return {
        name: sum(
            (weight * each[name].double() for weight, each in zip(weights, parameters, strict=True)),
            torch.zeros_like(tensor, dtype=torch.float64),
        ).to(tensor.dtype)
        for name, tensor in parameters[0].items()
    }


def refuse_unlike(first_folder: Path, folder: Path, first: LoadedModel, other: LoadedModel) -> None:
    """Refuses models with other pieces, parts or sizes, and models that read other text."""
    remedy = "only runs that began with the same weights (init_from=) and read the same kind of text have a mean"
    refuse_other_pieces(folder, other, first_folder, first, remedy)
    for key, (was, now) in differences(first.config, other.config, [*OF_MODEL, "data"]).items():
        of_text = key in OF_TEXT and None not in (was, now)
        if of_text or (key.partition(".")[0] in OF_MODEL and "dropout" not in key):
            raise ConfigError(f"{folder} has {key}={now}, and {first_folder} has {was}; {remedy}")


def refuse_unrelated(first_folder: Path, folder: Path, found: float) -> None:
    """Refuses weights, with this cosine, that have little to do with each other: their mean would translate nothing."""
    if found < LEAST_ALIKE:
        raise ConfigError(
            f"the weights of {folder} have little to do with those of {first_folder} (cosine {found:.2f}); only runs "
            "that began with the same weights (init_from=) have a mean; to use both, give both: model=[…,…]"
        )


def cosine(first: Weights, other: Weights) -> float:
    """Of all weights of a model, as one vector."""

    def product(left: Weights, right: Weights) -> float:
        return float(sum((left[name].double() * right[name].double()).sum() for name in left))

    size = sqrt(product(first, first) * product(other, other))
    return product(first, other) / size if size else 1.0
