"""`nmt attentions`: its counts are those of the formulae, at any sizes, and every attention is listed."""

import random
from collections.abc import Callable

import pytest
import torch
from helpers.models import ATTENTIONS, attention_section, fitted
from torch import Tensor

from nmt.cli.main import main
from nmt.commands.attentions import configured, cost, formula
from nmt.config.run import read_attention
from nmt.model.attention import AttentionLayer
from nmt.model.build import attention_factory
from nmt.model.scores import AttentionScore

Counts = tuple[int, int, int, int]  # parameters; operations per pair, per query and per key
# Of the sizes of query q and memory m, and of the attention's own size a, by hand.
COUNTS: dict[str, Callable[[int, int, int], Counts]] = {
    "none": lambda q, m, a: (0, 0, 0, 0),
    "dot": lambda q, m, a: (0, q + m, 0, 0),
    "scaled_dot": lambda q, m, a: (0, q + m, q, 0),
    "cosine": lambda q, m, a: (1, q + m, 3 * q + 2, 2 * m + 1),
    "general": lambda q, m, a: (q * m, q + m, 0, q * m),
    "reduced_rank": lambda q, m, a: (a * (q + m), a + m, a * q, a * m),
    "additive": lambda q, m, a: (a * (q + m + 2), 3 * a + m, a * q, a * (m + 1)),
    "key_value": lambda q, m, a: (a * (q + 2 * m), 2 * a, a * (q + 1), 2 * a * m),
    "multi_head": lambda q, m, a: (
        a * (2 * q + 2 * m + 3) + q,
        2 * a,
        2 * a * (q + 1) + q,
        2 * a * (m + 1),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_those_of_the_formula(name: str, seed: int) -> None:
    choose = random.Random(seed)
    own, q, m = (choose.choice((12, 24, 36)) for _ in range(3))
    m = q if name in ("dot", "scaled_dot", "cosine") else m
    own = min(own, q, m) if name == "reduced_rank" else own
    section = fitted(attention_section(name), {"d_attention": own, "rank": own, "heads": choose.choice((1, 3, 4))})
    found = cost(attention_factory(read_attention(section, ())), q, m)
    assert tuple(found.values()) == COUNTS[name](q, m, own)
    assert list(found) == ["parameters", "per pair", "per query", "per key"]


def test_operations_of_a_new_score_are_counted() -> None:
    class Distance(AttentionScore):
        def forward(self, query: Tensor, keys: Tensor) -> Tensor:
            return -(query[..., :, None, :] - keys[..., None, :, :]).square().sum(-1)

        def keys(self, states: Tensor) -> Tensor:  # copies alone
            halves = states.clone().to(torch.float64).split(4, -1)
            return torch.stack([torch.cat(halves, -1)])[0]

        def values(self, states: Tensor) -> Tensor:
            return torch.tanh(states[..., :3])

    found = cost(lambda q, m: AttentionLayer(Distance(q, 3), "softmax"), 7, 7)
    assert found == {"parameters": 0, "per pair": 3 * 7 + 1 + 3, "per query": 0, "per key": 3}


def table(output: str) -> dict[str, list[str]]:
    """The cells of the table of counts, by the name of the attention."""
    return {line.split()[0]: line.split() for line in output.split("\n\n")[2].splitlines()}


def test_every_attention_is_listed_with_its_docstring(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attentions", "d_query=300", "d_memory=300"]) == 0
    output = capsys.readouterr().out
    described = dict(line.split(maxsplit=1) for line in output.split("\n\n")[1].splitlines())
    assert sorted(described) == sorted(["attention", *ATTENTIONS])
    assert described["dot"] == "s · h (Luong et al. 2015, eq. 8)"
    assert "Cho et al." in described["none"]
    assert "—" not in described.values()
    rows = table(output)
    assert set(rows) == set(described)
    assert rows["general"] == ["general", "90,000", "600", "0", "90,000"]
    assert rows["reduced_rank"][-1] == "rank=64"
    counts = [int(row[1].replace(",", "")) for name, row in rows.items() if name != "attention"]
    assert counts == sorted(counts)


def test_an_attention_that_these_sizes_do_not_suit_is_listed_last_with_the_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["attentions", "d_query=300"]) == 0
    output = capsys.readouterr().out
    refused = ["cosine", "dot", "scaled_dot"]
    rows = table(output)
    assert list(rows)[-3:] == refused
    assert all(rows[name][1:5] == ["—"] * 4 for name in refused)
    assert [line.split(":")[0] for line in output.strip().split("\n\n")[-3:]] == refused
    assert "dot: attention Dot needs decoder and encoder states of one size" in output


def test_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attentions", "format=markdown", "d_memory=1024"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "| general | sᵀ W h, bilinear (Luong et al. 2015, eq. 8) |" in lines
    assert "| general | 524,288 | 1,536 | 0 | 524,288 |  |" in lines


def test_a_class_without_a_docstring_has_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    general = configured()["general"]
    assert formula(general).startswith("sᵀ W h")
    monkeypatch.setattr("nmt.model.scores.General.__doc__", None)
    assert formula(general) == "—"


@pytest.mark.parametrize("key", ["d_query", "d_memory"])
def test_impossible_sizes_are_refused(capsys: pytest.CaptureFixture[str], key: str) -> None:
    for value, bound in (("0", "least 1 and at most 1,000,000"), ("2000000", "most 1,000,000")):
        assert main(["attentions", f"{key}={value}"]) == 2
        assert f"{key} is {value}; it must be at {bound}" in capsys.readouterr().err


def test_help_needs_no_groups(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attentions", "--help"]) == 0
    assert "d_query=512" in capsys.readouterr().out
