"""What training builds from the configuration besides the model."""

from collections.abc import Sequence

import torch
from torch import nn

from nmt.config.parts import Config, part
from nmt.model.build import build_model
from nmt.runs.tensors import Form
from nmt.training.optim import Schedule


def check_parts(config: Config, trust: Sequence[str]) -> None:
    """Builds every part without memory, vocabulary or data: what cannot be built is refused before any work."""
    with torch.device("meta"):
        build_model(config, src_vocab=8, tgt_vocab=8, trust=trust)
        part(config["optimizer"], "optimizer", trust, {"parameters": [nn.Parameter(torch.zeros(1))]})
    ends = [config["train"][key] for key in ("max_updates", "max_epochs") if config["train"][key] is not None]
    build_schedule(config["schedule"], min(ends, default=None), trust)


def optimiser_forms(section: Config, trust: Sequence[str], model: nn.Module) -> dict[str, Form]:
    """What the optimiser keeps of the model's parameters once it has changed them: KEY/PARAMETER -> type and shape."""
    probe = nn.Parameter(torch.zeros(2, 3))
    probe.grad = torch.zeros_like(probe)
    optimiser = part(section, "optimizer", trust, {"parameters": [probe]})
    optimiser.step()
    return {
        f"{key}/{name}": (value.dtype, tuple(parameter.shape if value.shape == probe.shape else value.shape))
        for key, value in optimiser.state[probe].items()
        for name, parameter in model.named_parameters()
    }


def build_schedule(section: Config, total: int | None, trust: Sequence[str]) -> Schedule:
    """The learning-rate schedule of a run whose last update is `total` (None: unknown)."""
    built: Schedule = part(section, "schedule", trust, {"total": total})
    return built
