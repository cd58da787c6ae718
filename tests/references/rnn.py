"""The RNN model written once more from the formulae: one sentence, one position and one layer at a time, in float64.

It shares no code with nmt, and knows no batches, masks or fused layers: its sentences hold real tokens alone. From nmt
come only the parameters, by the names that they have in its modules.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Weights = Mapping[str, Tensor]
Vectors = list[Tensor]  # one for each position, or of a layer's state: [hidden, cell] for an LSTM, else [hidden]


def below(weights: Weights, module: str) -> Weights:
    """The parameters of one module inside another."""
    return {name.removeprefix(f"{module}."): w for name, w in weights.items() if name.startswith(f"{module}.")}


# Cells: Hochreiter & Schmidhuber 1997 with the forget gate of Gers et al. 2000; Cho et al. 2014; Elman 1990.


def lstm(w: Weights, x: Tensor, state: Vectors) -> Vectors:
    hidden, cell = state
    gates = w["weight_ih_l0"] @ x + w["bias_ih_l0"] + w["weight_hh_l0"] @ hidden + w["bias_hh_l0"]
    i, f, g, o = gates.chunk(4)
    cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
    return [torch.sigmoid(o) * torch.tanh(cell), cell]


def gru(w: Weights, x: Tensor, state: Vectors) -> Vectors:
    (hidden,) = state
    r_x, z_x, n_x = (w["weight_ih_l0"] @ x + w["bias_ih_l0"]).chunk(3)
    r_h, z_h, n_h = (w["weight_hh_l0"] @ hidden + w["bias_hh_l0"]).chunk(3)
    z = torch.sigmoid(z_x + z_h)
    n = torch.tanh(n_x + torch.sigmoid(r_x + r_h) * n_h)
    return [(1 - z) * n + z * hidden]


def elman(w: Weights, x: Tensor, state: Vectors) -> Vectors:
    (hidden,) = state
    return [torch.tanh(w["weight_ih_l0"] @ x + w["bias_ih_l0"] + w["weight_hh_l0"] @ hidden + w["bias_hh_l0"])]


CELLS: dict[str, Callable[[Weights, Tensor, Vectors], Vectors]] = {"lstm": lstm, "gru": gru, "tanh": elman}


# Scores e = score(s, h) of a decoder state and an encoder state.


def cosine(w: Weights, s: Tensor, h: Tensor) -> Tensor:
    return w["log_tau"].exp() * (s @ h) / (s.norm() * h.norm())


def additive(w: Weights, s: Tensor, h: Tensor) -> Tensor:
    seen = w["key_projection.weight"] @ h + w["key_projection.bias"] + w["query_projection.weight"] @ s
    return w["v.weight"][0] @ torch.tanh(seen)


def key_value(w: Weights, s: Tensor, h: Tensor) -> Tensor:
    query, key = w["query_projection.weight"] @ s, w["key_projection.weight"] @ h
    return query @ key / math.sqrt(len(key))


SCORES: dict[str, Callable[[Weights, Tensor, Tensor], Tensor]] = {
    "dot": lambda w, s, h: s @ h,
    "scaled_dot": lambda w, s, h: s @ h / math.sqrt(len(s)),
    "cosine": cosine,
    "general": lambda w, s, h: s @ w["key_projection.weight"] @ h,
    "reduced_rank": lambda w, s, h: (w["query_projection.weight"] @ s) @ (w["key_projection.weight"] @ h),
    "additive": additive,
    "key_value": key_value,
}


def value(score: str, w: Weights, h: Tensor) -> Tensor:
    """What the context is made of."""
    return w["value_projection.weight"] @ h if score == "key_value" else h


# Normalisers.


def softmax(scores: Sequence[float]) -> list[float]:
    top = max(scores)
    powers = [math.exp(e - top) for e in scores]
    return [power / sum(powers) for power in powers]


def entmax(scores: Sequence[float], alpha: float) -> list[float]:
    """p_i = max((alpha - 1) e_i - tau, 0) ** (1 / (alpha - 1)), where tau makes their sum 1 (Peters et al. 2019)."""
    z = [(alpha - 1) * e for e in scores]
    low, high = max(z) - 1, max(z)
    for _ in range(100):
        tau = (low + high) / 2
        total = sum(max(each - tau, 0) ** (1 / (alpha - 1)) for each in z)
        low, high = (tau, high) if total > 1 else (low, tau)
    return [max(each - low, 0) ** (1 / (alpha - 1)) for each in z]


NORMALISERS: dict[str, Callable[[Sequence[float]], list[float]]] = {
    "softmax": softmax,
    "sparsemax": lambda scores: entmax(scores, 2.0),
    "entmax15": lambda scores: entmax(scores, 1.5),
}


@dataclass(frozen=True)
class Attention:
    """What `attention=` names; `heads` is None for a score alone, else `score` is the one in the heads."""

    score: str
    normaliser: str
    heads: int | None = None


def one_head(attention: Attention, w: Weights, s: Tensor, keys: Vectors, values: Vectors) -> tuple[Tensor, list[float]]:
    """Context Σ_i α_i v_i and weights α."""
    scores = [float(SCORES[attention.score](w, s, h)) for h in keys]
    alpha = NORMALISERS[attention.normaliser](scores)
    parts = [a * value(attention.score, w, v) for a, v in zip(alpha, values, strict=True)]
    return torch.stack(parts).sum(0), alpha


def attend(attention: Attention, w: Weights, s: Tensor, states: Vectors) -> tuple[Tensor, list[list[float]]]:
    """Context, and the weights of each head (Vaswani et al. 2017, §3.2.2, where there are several)."""
    if attention.heads is None:
        context, alpha = one_head(attention, below(w, "score"), s, states, states)
        return context, [alpha]

    def projected(name: str, x: Tensor) -> Sequence[Tensor]:
        y = w[f"{name}_projection.weight"] @ x + w[f"{name}_projection.bias"]
        assert attention.heads is not None
        return y.chunk(attention.heads)

    query = projected("query", s)
    keys, values = ([projected(name, h) for h in states] for name in ("key", "value"))
    contexts, found = [], []
    for head in range(attention.heads):
        own = below(w, f"others.{head - 1}") if head else below(w, "score")
        context, alpha = one_head(attention, own, query[head], [k[head] for k in keys], [v[head] for v in values])
        contexts.append(context)
        found.append(alpha)
    return w["output_projection.weight"] @ torch.cat(contexts) + w["output_projection.bias"], found


# Encoder, decoder, model.


def run(cell: str, w: Weights, inputs: Vectors) -> Vectors:
    """Hidden states of one layer in one direction, from zeros on."""
    size = w["weight_hh_l0"].shape[1]
    state = [inputs[0].new_zeros(size) for _ in range(2 if cell == "lstm" else 1)]
    hidden = []
    for x in inputs:
        state = CELLS[cell](w, x, state)
        hidden.append(state[0])
    return hidden


def encode(
    w: Weights, cell: str, layers: int, bidirectional: bool, embedded: Vectors, with_embeddings: bool, kept: Vectors
) -> tuple[Vectors, Tensor]:
    """States of a sentence: layers from the second on add theirs to their input; and the ends of both directions.

    `kept`: for each layer, what dropout multiplies its outputs with, at every position the same.
    """
    states = embedded
    for depth in range(layers):
        outputs = run(cell, below(w, f"layers.{depth}.0.rnn"), states)
        if bidirectional:
            backward = run(cell, below(w, f"layers.{depth}.1.rnn"), states[::-1])
            outputs = [torch.cat(pair) for pair in zip(outputs, backward[::-1], strict=True)]
        whole = [x + y for x, y in zip(states, outputs, strict=True)] if depth else outputs
        states = [x * kept[depth] for x in whole]
    final = whole[-1]
    if bidirectional:  # the backward direction ends at the first position
        final = torch.cat([whole[-1].chunk(2)[0], whole[0].chunk(2)[1]])
    if with_embeddings:
        states = [torch.cat(pair) for pair in zip(states, embedded, strict=True)]
        final = torch.cat([final, sum(embedded, torch.zeros_like(embedded[0])) / len(embedded)])
    return states, final


@dataclass
class Decoded:
    """What the decoder made of a sentence's targets."""

    features: Vectors  # o_t
    weights: list[list[list[float]]]  # [T][H][S], no heads without attention
    states: list[Vectors]  # of every layer, after the last target


def decode(
    w: Weights,
    cell: str,
    layers: int,
    attention: Attention | None,
    input_feeding: bool,
    embedded: Vectors,
    memory: Vectors,
    final: Tensor,
    kept: Vectors,
) -> Decoded:
    """o_t = tanh(W_o [a_t ; s_t]) for every target, over the encoder's states and from tanh(W final + b) on.

    `kept`: for each layer, what dropout multiplies its outputs with; the query is layer 1's state before that.
    """
    vectors = 2 if cell == "lstm" else 1
    started = torch.tanh(w["bridge.weight"] @ final + w["bridge.bias"]).chunk(layers * vectors)
    states = [list(started[depth * vectors : (depth + 1) * vectors]) for depth in range(layers)]
    features, attended = [], []
    feed = torch.zeros(len(w["combine.weight"]), dtype=final.dtype)
    for x in embedded:
        states[0] = CELLS[cell](below(w, "layers.0.rnn"), torch.cat([x, feed]) if input_feeding else x, states[0])
        s = states[0][0]
        context, weights = final, []  # Cho et al. 2014: the same at every step
        if attention is not None:
            context, weights = attend(attention, below(w, "attention"), s, memory)
        s = s * kept[0]
        for depth in range(1, layers):
            states[depth] = CELLS[cell](below(w, f"layers.{depth}.rnn"), torch.cat([s, context]), states[depth])
            s = (s + states[depth][0]) * kept[depth]
        feed = torch.tanh(w["combine.weight"] @ torch.cat([context, s]))
        features.append(feed)
        attended.append(weights)
    return Decoded(features, attended, states)


def log_probs(w: Weights, features: Tensor) -> Tensor:
    """Log-softmax of the vocabulary's scores."""
    logits = w["output.weight"] @ features + w["output.bias"]
    return logits - (logits - logits.max()).exp().sum().log() - logits.max()
