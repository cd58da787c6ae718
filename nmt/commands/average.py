"""`nmt average`: a model between several, such as one that was fine-tuned and the one that it came from."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf, sqrt
from pathlib import Path

import torch
from torch import Tensor

from nmt.config.verbs import AverageCommand
from nmt.errors import ConfigError, counted
from nmt.machine.home import expanded
from nmt.machine.safe_files import folder_beside, put_in_place, refuse_unwritable
from nmt.runs.folder import LoadedModel, create_run, load_model, refuse_used, seen_file
from nmt.runs.tensors import parameters_of, write_tensors

LEAST_ALIKE = (
    0.5  # cosine of the weights of two runs: 0.97 to 0.99 after fine-tuning, about 0 from other random weights
)

Weights = Mapping[str, Tensor]


def main(command: AverageCommand) -> int:
    """Writes a run folder that holds the mean; it translates and can be trained further, but not resumed."""
    folders = [expanded(model) for model in command.model]
    weights = shares(command.weights, folders)
    output = expanded(command.runs_dir) / command.name
    refuse_used(output)
    refuse_unwritable(output, "name")
    loaded = [load_model(folder, command.trust) for folder in folders]
    parameters = [parameters_of(each.model) for each in loaded]
    for folder, other, given in zip(folders[1:], loaded[1:], parameters[1:], strict=True):
        refuse_unlike(folders[0], folder, loaded[0], other)
        refuse_unrelated(folders[0], folder, parameters[0], given)
    latest = loaded[-1]
    config = replace(latest.config, name=command.name, runs_dir=command.runs_dir)
    with folder_beside(output) as folder:
        known = [seen_file(each) for each in folders]
        create_run(folder, config, latest.tokenizers, latest.letter_case, latest.usual_sentences, known)
        write_tensors(folder / "model.safetensors", mean(parameters, weights))
        put_in_place(folder, output)
    parts = ", ".join(f"{share:.0%} {folder}" for share, folder in zip(weights, folders, strict=True))
    print(f"{parts}\nnext: nmt evaluate model={output}", file=sys.stderr)
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
    if not all(0 <= weight < inf for weight in given) or not sum(given):
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
    """Refuses models with other pieces, or with weights of other names or sizes."""
    for side in ("src", "tgt"):
        if getattr(first.tokenizers, side).bytes != getattr(other.tokenizers, side).bytes:
            raise ConfigError(
                f"{folder} has another {side} tokenizer than {first_folder}; only runs that began with the same "
                "weights (init_from=) have a mean"
            )
    forms = [{name: tensor.shape for name, tensor in parameters_of(each.model).items()} for each in (first, other)]
    if forms[0] != forms[1]:
        raise ConfigError(
            f"{folder} has weights of other names or sizes than {first_folder}; only runs that began with the same "
            "weights (init_from=) have a mean"
        )


def refuse_unrelated(first_folder: Path, folder: Path, first: Weights, other: Weights) -> None:
    """Refuses weights that have nothing to do with each other: their mean would translate nothing."""
    found = cosine(first, other)
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
