"""`nmt attentions`: every attention with its formula, source, parameters and cost.

Formula and source are the first line of the class's docstring; the numbers are counted on a layer that is built.
"""

import json
from typing import Any

import torch
from hydra import compose
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from nmt.config.compose import loader
from nmt.config.hydra_private import options_of
from nmt.config.parts import Part
from nmt.config.plain import plain
from nmt.config.run import AttentionConfig, read_attention
from nmt.config.verbs import AttentionsCommand
from nmt.errors import ConfigError
from nmt.figures.table import NONE, grid, markdown_table, text_table
from nmt.model.attention import AttentionFactory
from nmt.model.build import attention_factory

WITHOUT = "no attention, a_t = final state at every step (Cho et al. 2014, §2.2)"  # for none.yaml, which names no class
COUNTED = (
    "Cost: multiply-adds of matrix products and every other number that is computed, per query (each s), per key\n"
    "(each h) and per pair of them, the weighted sum included. Softmax, masks and copies are not counted."
)


def main(command: AttentionsCommand) -> int:
    """Prints two tables, sorted by the number of parameters."""
    found = configured()
    costs: dict[str, dict[str, int]] = {}
    refused = []
    for name, config in found.items():
        try:
            costs[name] = cost(attention_factory(config), command.d_query, command.d_memory)
        except ConfigError as error:
            costs[name] = {}
            refused.append(f"{name}: {error}")
    order = sorted(found, key=lambda name: (not costs[name], *costs[name].values()))
    formulas = [{"attention": name, "score (source)": formula(found[name])} for name in order]
    counts = [
        {"attention": name, **{unit: f"{n:,}" for unit, n in costs[name].items()}, "settings": settings(found[name])}
        for name in order
    ]
    show = {"text": text_table, "markdown": markdown_table}[command.format]
    sizes = f"Decoder states s of {command.d_query:,} (d_query), encoder states h of {command.d_memory:,} (d_memory)"
    print(sizes, show(grid(formulas)), show(grid(counts)), COUNTED, *refused, sep="\n\n")
    return 0


def configured() -> dict[str, AttentionConfig]:
    """The attention that each file in configs/attention describes, by the name of the file."""
    with loader():
        names = options_of("attention")
        found = plain(compose("attentions", [f"+attention@{name}={name}" for name in names]))
    return {name: read_attention({**found[name], "normaliser": "softmax"}, ()) for name in names}


def formula(config: AttentionConfig) -> str:
    """The first line of the docstring of the attention's class."""
    if config.part is None:
        return WITHOUT
    text = config.part.made_by.__doc__
    return text.strip().splitlines()[0].rstrip(".") if text else NONE


def settings(config: AttentionConfig) -> str:
    """The keys of the attention's file besides the class, as they are typed."""
    own = {} if config.part is None else config.part.arguments
    return " ".join(f"{key}={json.dumps(value)}" for key, value in own.items() if not isinstance(value, Part))


def cost(factory: AttentionFactory | None, d_query: int, d_memory: int) -> dict[str, int]:
    """Number of parameters, and operations per pair, query and key; ConfigError if the sizes are not possible."""
    if factory is None:
        return {"parameters": 0, "per pair": 0, "per query": 0, "per key": 0}
    making, attending = {}, {}  # operations for S encoder states and one decoder state, by S
    with torch.device("meta"), torch.no_grad():
        layer = factory(d_query, d_memory).eval()
        for S in (2, 3):
            states, query, mask = torch.empty(1, S, d_memory), torch.empty(1, 1, d_query), torch.ones(1, 1, S) > 0
            with Operations() as making[S]:
                keys, values = layer.keys_values(states)
            with Operations() as attending[S]:
                layer.attend(query, keys, values, mask, wants_weights=True)
    per_pair = attending[3].total - attending[2].total
    return {
        "parameters": sum(parameter.numel() for parameter in layer.parameters()),
        "per pair": per_pair,
        "per query": attending[2].total - 2 * per_pair,
        "per key": making[3].total - making[2].total,
    }


class Operations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the multiply-adds of matrix products; for every other operation, the elements of its largest tensor."""

    FREE = "_unsafe_view clone _to_copy copy_ new_empty stack cat masked_fill _softmax bitwise_not".split()

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.total = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        packet = func.overloadpacket
        if packet in flop_registry:
            self.total += flop_registry[packet](*args, **(kwargs or {}), out_val=out) // 2
            self.total += out.numel() * (packet.__name__ == "addmm")  # the bias
        elif not func.is_view and packet.__name__ not in self.FREE:
            self.total += max((x.numel() for x in (out, *args) if isinstance(x, Tensor)), default=0)
        return out
