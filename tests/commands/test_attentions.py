"""`nmt attentions`: what the files say of an attention is what the attention built from them has and does."""

import functools
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from hydra import compose
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from nmt.cli.main import main
from nmt.commands.attentions import WIDTH, Attention, attentions, evaluate, markdown, read, text
from nmt.config.compose import CONFIGS, loader
from nmt.config.plain import plain
from nmt.errors import ConfigError
from nmt.model.attention import AttentionLayer
from nmt.model.build import attention_factory

FOLDER = CONFIGS / "attention"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
VALUES = {"d_attention": (12, 24, 60), "rank": (1, 5, 9), "heads": (1, 3, 4)}  # of keys that sizes depend on
OTHERS = (1, 2, 4)  # of every other whole number


@functools.cache
def shipped(name: str) -> dict[str, Any]:
    """The section `attention` as a training has it."""
    with loader():
        section: dict[str, Any] = plain(compose("train", [f"attention={name}"]))["attention"]
    return section


def drawn(name: str, seed: int) -> tuple[Attention, AttentionLayer | None, tuple[int, int]]:
    """What the file says at random sizes and values; the layer built with them, None where refused; the sizes."""
    choose = random.Random(f"{name} {seed}")
    d_query = choose.choice((6, 12, 20, 36))
    d_memory = choose.choice((d_query, d_query, 9, 30))
    section = shipped(name)
    values = dict.fromkeys((key for key, value in section.items() if type(value) is int), OTHERS) | VALUES
    changed = {key: choose.choice(values[key]) for key in values if key in section and choose.random() < 0.8}
    said = read(FOLDER / f"{name}.yaml", {"d_query": d_query, "d_memory": d_memory, **changed})
    factory = attention_factory({**section, **changed}, ())
    assert factory is not None
    try:
        with torch.device("meta"):
            return said, factory(d_query, d_memory).eval(), (d_query, d_memory)
    except ConfigError:
        return said, None, (d_query, d_memory)


SCORES = [name for name in NAMES if name != "none"]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", SCORES)
def test_sizes_and_parameters_are_those_of_the_layer(name: str, seed: int) -> None:
    said, layer, sizes = drawn(name, seed)
    does = "refuses" if layer is None else "takes"
    assert said.fits == (layer is not None), f"not so the sizes in {name}.yaml: the class {does} {sizes}"
    if layer is not None:
        there = sum(p.numel() for p in layer.parameters())
        assert said.parameters == there, f"not so {name}.yaml: {there} parameters at {sizes}"


class Counted(TorchDispatchMode):
    """Counts multiply-adds of matrix products, and elements of whatever else is done to more than one per vector."""

    FREE = (
        "_unsafe_view",
        "clone",
        "_to_copy",
        "copy_",
        "new_empty",
        "stack",
        "cat",
        "masked_fill",
        "_softmax",
        "bitwise_not",
    )

    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if func.overloadpacket in flop_registry:
            self.total += flop_registry[func.overloadpacket](*args, **(kwargs or {}), out_val=out) // 2
            self.total += out.numel() * (name == "addmm")  # the bias
        elif not func.is_view and name not in self.FREE:
            tensors = [x for x in (out, *args) if isinstance(x, Tensor) and x.dim() and x.shape[-1] > 1]
            self.total += max((x.numel() for x in tensors), default=0)
        return out


def operations(layer: AttentionLayer, d_query: int, d_memory: int) -> dict[str, int]:
    """Operations per score, query and key, from what the layer does on memories of two lengths."""
    T, lengths = 3, (5, 11)
    totals, keys_totals = [], []
    for S in lengths:
        query, states = torch.empty(1, T, d_query, device="meta"), torch.empty(1, S, d_memory, device="meta")
        with torch.no_grad(), Counted() as once:
            keys, values = layer.keys_values(states)
        mask = torch.ones(1, 1, S, dtype=torch.bool, device="meta")
        with torch.no_grad(), Counted() as counted:
            layer.attend(query, keys, values, mask, weights=True)
        weighted_sum = T * S * values.shape[1] * values.shape[3]
        totals.append(counted.total - weighted_sum)
        keys_totals.append(once.total / S)
    per_score = (totals[1] - totals[0]) / (T * (lengths[1] - lengths[0]))
    assert keys_totals[0] == keys_totals[1]
    found = {"score": per_score, "query": totals[0] / T - lengths[0] * per_score, "key": keys_totals[0]}
    assert all(value == int(value) for value in found.values())
    return {unit: int(value) for unit, value in found.items() if value}


@pytest.mark.parametrize("name", SCORES)
def test_operations_are_those_that_the_layer_does(name: str) -> None:
    made = [(said, layer, sizes) for said, layer, sizes in (drawn(name, seed) for seed in range(12)) if layer]
    assert made
    for said, layer, sizes in made[:4]:
        done = operations(layer, *sizes)
        written = {unit: n for unit, (_, n) in said.operations.items()}
        assert written == done, f"not so {name}.yaml: the code does {done} at d_query, d_memory = {sizes}"


def test_an_attention_without_a_score_costs_nothing() -> None:
    [none] = [a for a in attentions(8, 8) if a.name == "none"]
    assert none.parameters == 0
    assert not none.operations


def test_every_file_says_everything() -> None:
    for attention in attentions(512, 512):
        assert {"source", "parameters", "sizes"} <= set(attention.written)
        assert "operations" in attention.written or attention.name == "none"


@pytest.mark.parametrize("sizes", [("512", "512"), ("300", "1024"), ("1", "1")])
def test_text_lists_every_file_and_fits(capsys: pytest.CaptureFixture[str], sizes: tuple[str, str]) -> None:
    assert main(["attentions", f"d_query={sizes[0]}", f"d_memory={sizes[1]}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= WIDTH
    starts = [line.split()[0] for line in lines if line[:1].strip()]
    assert all(starts.count(name) == 2 for name in NAMES)
    assert not any(line != line.rstrip() for line in lines)


def test_markdown_is_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attentions", "format=markdown", "d_memory=1024"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert [row.count("|") for row in rows] == [rows[0].count("|")] * (len(NAMES) + 2)
    assert {row.split("`")[1] for row in rows[2:]} == set(NAMES)
    assert any("`d_query * d_memory` = 524,288" in row for row in rows)


def write(folder: Path, *lines: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text("\n".join([*lines, "class: attention.Mine", "width: 7"]), encoding="utf-8")
    return path


def test_a_new_file_is_listed_and_what_it_leaves_out_is_none(tmp_path: Path) -> None:
    write(tmp_path)
    [bare] = attentions(4, 5, tmp_path)
    assert "mine  source      —" in text([bare], 4, 5)
    assert "| `mine` | — | — | — | — | — | `width=7` |" in markdown([bare], 4, 5)
    assert (bare.name, bare.formula, bare.written, bare.fits, bare.parameters) == ("mine", "—", {}, True, None)
    write(
        tmp_path,
        "# s of",
        "# h",
        "# parameters: 2 *",
        "#   width",
        "# operations: d_query + 1 per score;",
        "#  3 per key",
    )
    [full] = attentions(4, 5, tmp_path)
    assert (full.formula, full.parameters) == ("s of h", 14)
    assert full.operations == {"score": ("d_query + 1", 5), "key": ("3", 3)}


def test_empty_lines_and_long_ones(tmp_path: Path) -> None:
    write(tmp_path, "#", "# source:", f"# note: {'words; ' + 'word ' * 50}", f"# operations: {'9' * 30} per score")
    [odd] = attentions(4, 5, tmp_path)
    assert (odd.formula, set(odd.written)) == ("—", {"note", "operations"})
    assert max(len(line) for line in text([odd], 4, 5)) <= WIDTH
    assert attentions(10**9, 10**9)[0].name == "none"
    assert text(attentions(10**9, 10**9), 10**9, 10**9)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("parameter: 3", "unknown field 'parameter'.*did you mean 'parameters'"),
        ("parameters: d_qery", "'d_qery' cannot be computed.*use .* on width, d_query, d_memory"),
        ("parameters: d_query *", "cannot be computed.*the parameters of .*mine.yaml"),
        ("parameters: __import__('os').getpid()", "cannot be computed"),
        ("parameters: width // (d_query - 4)", "by zero"),
        ("operations: d_query", "'d_query' cannot be read, the operations of .*write <expression> per score, query"),
        ("operations: 3 per word", "'3 per word' cannot be read"),
        ("sizes: states of one size", "cannot be computed.*the sizes of"),
    ],
)
def test_mistakes_in_a_comment_are_told(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path, "# s · h", f"# {line}")
    with pytest.raises(ConfigError, match=message):
        read(path, {"d_query": 4, "d_memory": 5})


@pytest.mark.parametrize("content", [b"- a\n", b"a: [\n", b"# \xff\n", b""])
def test_a_file_that_is_no_configuration_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "mine.yaml").write_bytes(content)
    with pytest.raises(ConfigError, match=r"mine\.yaml cannot be read.*correct it"):
        attentions(4, 5, tmp_path)


@pytest.mark.parametrize("key", ["d_query", "d_memory"])
def test_impossible_sizes_are_refused(capsys: pytest.CaptureFixture[str], key: str) -> None:
    assert main(["attentions", f"{key}=0"]) == 2
    assert f"{key} is 0; it must be at least 1" in capsys.readouterr().err


def test_help_needs_no_groups(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attentions", "--help"]) == 0
    assert "d_query=512" in capsys.readouterr().out


@pytest.mark.parametrize("seed", range(20))
def test_arithmetic_is_pythons(seed: int) -> None:
    choose = random.Random(seed)
    names = {name: choose.randint(1, 50) for name in ("a", "b", "c")}
    expression = "a"
    for _ in range(6):
        operand = choose.choice(["a", "b", "c", "7", "min(a, b)", "max(b, c, 2)"])
        expression = f"({expression}) {choose.choice(['+', '-', '*', '//', '%', '==', '<='])} {operand}"
    assert evaluate(expression, names) == eval(expression, {}, dict(names))


def test_a_key_that_is_null_stands_back() -> None:
    assert evaluate("2 * (a or b)", {"a": None, "b": 3}) == 6
    assert evaluate("2 * (a or b)", {"a": 5, "b": 3}) == 10
    with pytest.raises(ValueError, match="it holds 'a'"):
        evaluate("2 * a", {"a": None})
