"""What validation measures besides loss and BLEU."""

import math

import pytest
import torch
from models import random_batch, small_model

from nmt.validation import attention_entropy


@torch.no_grad()
@pytest.mark.parametrize("attention", ["general", "multi_head"])
def test_entropy_is_its_definition_over_real_targets(attention: str) -> None:
    model, batch = small_model(attention), random_batch(1)
    _, weights = model.forced(batch)
    found = attention_entropy(weights, batch.tgt_mask)
    expected = []
    for row in range(len(batch.src)):
        for t in range(int(batch.tgt_mask[row].sum())):
            heads = [[w for w in head[t].tolist() if w > 0] for layer in weights[row] for head in layer]
            expected.append(sum(-w * math.log(w) for head in heads for w in head) / len(heads))
    torch.testing.assert_close(found, torch.tensor(expected), atol=1e-5, rtol=1e-4)
    lengths = batch.src_mask.sum(1).max().item()
    assert found.min() >= 0
    assert found.max() <= math.log(lengths) + 1e-5


@torch.no_grad()
def test_the_baseline_has_no_entropy() -> None:
    model, batch = small_model("none"), random_batch(1)
    _, weights = model.forced(batch)
    assert attention_entropy(weights, batch.tgt_mask).numel() == 0
