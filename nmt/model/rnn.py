"""RNN encoder and RNN decoder with attention.

Both run each layer as one fused call over all positions; only input feeding needs a loop over target positions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from nmt.config.keys import Layers, Share, Size
from nmt.config.parts import DECODERS, ENCODERS
from nmt.model.attention import AttentionFactory, cross_attend
from nmt.model.dropout import drop, sequence_mask
from nmt.model.interfaces import Memory, Source, State
from nmt.model.linear import Linear, lacking_in_tiles

Cell = Literal["lstm", "gru", "tanh"]
CELLS: dict[Cell, Callable[..., nn.RNNBase]] = {"lstm": nn.LSTM, "gru": nn.GRU, "tanh": nn.RNN}
STATE_VECTORS: dict[Cell, int] = {"lstm": 2, "gru": 1, "tanh": 1}  # in a layer's state; lstm: hidden and cell


class RnnLayer(nn.Module):
    """One RNN layer in one direction. Its whole state is one tensor [R, C, D] (C = 2 for an LSTM: hidden, cell)."""

    def __init__(self, cell: Cell, d_input: int, d_hidden: int) -> None:
        super().__init__()
        self.rnn = CELLS[cell](d_input, d_hidden, batch_first=True)
        self.vectors = STATE_VECTORS[cell]
        if cell == "lstm":  # remember by default (Jozefowicz et al. 2015); gate order: input, forget, cell, output
            bias = self.rnn.bias_ih_l0
            assert isinstance(bias, Tensor)
            with torch.no_grad():
                bias[d_hidden : 2 * d_hidden].fill_(1.0)

    def forward(
        self, inputs: Float[Tensor, "R T E"], state: Float[Tensor, "R C D"]
    ) -> tuple[Float[Tensor, "R T D"], Float[Tensor, "R C D"]]:
        """Outputs at every position, and the state after the last one."""
        if lacking := lacking_in_tiles(inputs):
            outputs, after = self(*(functional.pad(each, (0, 0, 0, 0, 0, lacking)) for each in (inputs, state)))
            return outputs[:-lacking], after[:-lacking]
        vectors = [v[None].contiguous() for v in state.to(inputs.dtype).unbind(1)]  # each [1, R, D]
        outputs, after = self.rnn(inputs, tuple(vectors) if self.vectors == 2 else vectors[0])
        after = torch.cat(after) if self.vectors == 2 else after
        return outputs, after.transpose(0, 1)


@ENCODERS.register
class RnnEncoder(nn.Module):
    """States of a (bidirectional) RNN; layers from the second on are residual.

    The backward direction reads every sentence reversed within its own length. Padding comes last in both directions,
    so it does not change the states of real positions.
    `final` takes `states` (before dropout) from where each direction ends: the forward half from the last real
    position, the backward half from the first.
    With embeddings, the memory holds [state; embedding] at every position (source-side bridging: Kuang et al. 2018,
    §3.1), so the decoder sees a word even if the RNN has lost it. `final` then also holds the mean of the embeddings.
    """

    def __init__(
        self,
        d_embed: int,
        cell: Cell,
        layers: Layers,
        d_hidden: Size,
        bidirectional: bool,
        dropout: Share,
        with_embeddings: bool,
    ) -> None:
        super().__init__()
        self.directions = 2 if bidirectional else 1
        d_states = self.directions * d_hidden
        self.d_memory = d_states + d_embed if with_embeddings else d_states
        self.d_hidden = d_hidden
        self.dropout = dropout
        self.with_embeddings = with_embeddings
        self.layers = nn.ModuleList(
            nn.ModuleList(RnnLayer(cell, d_states if depth else d_embed, d_hidden) for _ in range(self.directions))
            for depth in range(layers)
        )

    def forward(self, embedded: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]) -> Memory:
        lengths = mask.sum(1)
        positions = torch.arange(mask.shape[1], device=mask.device)
        reversed_positions = torch.where(mask, lengths[:, None] - 1 - positions, positions)
        first = torch.arange(len(mask), device=mask.device) * mask.shape[1]  # each sentence's first row in [B * S, …]
        backwards = (first[:, None] + reversed_positions).flatten()  # this permutation is its own inverse
        last = first + lengths - 1
        states = embedded
        for depth, directions in enumerate(self.layers):
            outputs = self._run(directions, states, backwards)
            undropped = states + outputs if depth else outputs
            states = drop(undropped, sequence_mask(undropped, self.dropout, self.training))
        final = torch.cat([flat_select(undropped, last)[:, : self.d_hidden], undropped[:, 0, self.d_hidden :]], -1)
        if self.with_embeddings:
            embedded = embedded.to(states.dtype)
            mean = (embedded * mask[..., None]).sum(1) / lengths[:, None]
            states, final = torch.cat([states, embedded], -1), torch.cat([final, mean], -1)
        return Memory(states, final, mask)

    def _run(
        self,
        directions: nn.Module,
        inputs: Float[Tensor, "B S E"],
        backwards: Int[Tensor, " BS"],
    ) -> Float[Tensor, "B S D"]:
        """The outputs of all directions, concatenated."""
        assert isinstance(directions, nn.ModuleList)
        outputs = []
        for number, layer in enumerate(directions):
            assert isinstance(layer, RnnLayer)
            empty = inputs.new_zeros(len(inputs), layer.vectors, self.d_hidden)
            output, _ = layer(flat_select(inputs, backwards).view_as(inputs) if number else inputs, empty)
            outputs.append(flat_select(output, backwards).view_as(output) if number else output)
        return torch.cat(outputs, -1)


@dataclass(frozen=True)
class RnnState(State):
    """The states of the layers, and the last features for input feeding (empty without it)."""

    layers: Float[Tensor, "R L C D"]
    feed: Float[Tensor, "R F"]


@DECODERS.register
class RnnDecoder(nn.Module):
    """RNN decoder whose features are o_t = tanh(W_o [a_t ; s_t]).

    The state of layer 1 is the query (Luong et al. 2015). The context a_t is concatenated to the input of every layer
    above (Chen et al. 2018); these layers are residual. s_t is the state of the top layer. Without attention ("none"),
    a_t is the encoder's final state at every step (Cho et al. 2014, §2.2): the source as one vector. With input
    feeding, o_{t-1} joins the input at step t (Luong et al. 2015, §3.3).
    """

    def __init__(
        self,
        embedding: nn.Module,
        attention: AttentionFactory | None,
        d_embed: int,
        d_memory: int,
        d_output: int | None,
        cell: Cell,
        layers: Layers,
        d_hidden: Size,
        input_feeding: bool,
        dropout: Share,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.attention = attention(d_hidden, d_memory) if attention is not None else None
        d_context = self.attention.d_context if self.attention is not None else d_memory
        self.dropout = dropout
        self.d_output = d_hidden if d_output is None else d_output
        self.max_length: int | None = None
        self.d_feed = self.d_output if input_feeding else 0
        self.d_hidden = d_hidden
        self.vectors = STATE_VECTORS[cell]
        first = RnnLayer(cell, d_embed + self.d_feed, d_hidden)
        upper = [RnnLayer(cell, d_hidden + d_context, d_hidden) for _ in range(layers - 1)]
        self.layers = nn.ModuleList([first, *upper])
        self.bridge = Linear(d_memory, layers * self.vectors * d_hidden)
        self.combine = Linear(d_context + d_hidden, self.d_output, bias=False)
        self.tanh = nn.Tanh()

    def start(self, memory: Memory, wants_weights: bool) -> tuple[Source, RnnState]:
        """Keys and values of the sentences, and the initial state tanh(W final + b) of every layer."""
        rows, length, _ = memory.states.shape
        if self.attention is None:
            keys, values = memory.states.new_zeros(rows, 0, 1, length, 1), memory.final[:, None, None, None]
        else:
            keys, values = (each[:, None] for each in self.attention.keys_values(memory.states))
        layers = torch.tanh(self.bridge(memory.final)).view(rows, len(self.layers), self.vectors, self.d_hidden)
        return Source(keys, values, memory.mask, wants_weights), RnnState(layers, layers.new_zeros(rows, self.d_feed))

    def forward(
        self, tokens: Int[Tensor, "R T"], source: Source, state: RnnState
    ) -> tuple[Float[Tensor, "R T D"], Float[Tensor, "R L H T S"], RnnState]:
        embedded = self.embedding(tokens)
        masks = [sequence_mask(state.layers[:, 0, 0, None], self.dropout, self.training) for _ in self.layers]
        if not self.d_feed:
            return self._run(embedded, source, state, masks)
        features, weights = [], []
        for t in range(tokens.shape[1]):
            inputs = torch.cat([embedded[:, t : t + 1], state.feed[:, None].to(embedded.dtype)], -1)
            feature, weight, state = self._run(inputs, source, state, masks)
            features.append(feature)
            weights.append(weight)
        return torch.cat(features, 1), torch.cat(weights, 3), state

    def _run(
        self, inputs: Float[Tensor, "R T E"], source: Source, state: RnnState, masks: list[Tensor | None]
    ) -> tuple[Float[Tensor, "R T D"], Float[Tensor, "R L H T S"], RnnState]:
        """All T positions at once: layer 1, attention, the layers above, output."""
        query, after = self.layers[0](inputs, state.layers[:, 0])
        states = [after]
        context, weights = self._attend(query, source)
        hidden = drop(query, masks[0])
        for depth in range(1, len(self.layers)):
            outputs, after = self.layers[depth](torch.cat([hidden, context], -1), state.layers[:, depth])
            states.append(after)
            hidden = drop(hidden + outputs, masks[depth])
        features = self.tanh(self.combine(torch.cat([context, hidden], -1)))
        feed = features[:, -1] if self.d_feed else state.feed
        return features, weights, RnnState(torch.stack(states, 1), feed)

    def _attend(
        self, query: Float[Tensor, "R T D"], source: Source
    ) -> tuple[Float[Tensor, "R T C"], Float[Tensor, "R L H T S"]]:
        """Contexts, and attention weights if `source.wants_weights`."""
        rows, length, _ = query.shape
        nothing = query.new_zeros(rows, 0, 1, length, source.mask.shape[1])
        if self.attention is None:
            final = source.values[:, 0, 0]  # [B, 1, D]
            return final.expand(-1, rows // len(final) * length, -1).reshape(rows, length, -1), nothing
        context, weights = cross_attend(self.attention, query, source, 0)
        return context, weights[:, None] if source.wants_weights else nothing


def flat_select(states: Float[Tensor, "B S D"], rows: Int[Tensor, " N"]) -> Float[Tensor, "N D"]:
    """Rows of the flattened [B * S, D]. Indexing both axes would be slow, especially in the backward pass."""
    return states.flatten(0, 1).index_select(0, rows)
