"""The model: embed, encode, decode, project to the vocabulary."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from nmt.data.batch import Batch
from nmt.model.dropout import drop, kept, sequence_mask
from nmt.model.interfaces import Decoder, Encoder, Memory, Source, State
from nmt.model.output_layer import OutputLayer


class Embedding(nn.Module):
    """Token vectors, with per-sequence dropout on their features and word dropout on whole tokens (training only)."""

    def __init__(self, vocab_size: int, d_embed: int, dropout: float, word_dropout: float) -> None:
        super().__init__()
        self.table = nn.Embedding(vocab_size, d_embed)
        nn.init.normal_(self.table.weight, std=d_embed**-0.5)
        self.dropout = dropout
        self.word_dropout = word_dropout

    def forward(self, tokens: Int[Tensor, "R T"]) -> Float[Tensor, "R T E"]:
        embedded: Tensor = self.table(tokens)
        if self.training and self.word_dropout:
            embedded = embedded * kept(embedded[:, :, :1], 1.0 - self.word_dropout)
        return drop(embedded, sequence_mask(embedded, self.dropout, self.training))


class Seq2Seq(nn.Module):
    """Encoder–decoder. `output` maps features to logits."""

    def __init__(self, embedding: Embedding, encoder: Encoder, decoder: Decoder, output: OutputLayer) -> None:
        super().__init__()
        self.embedding = embedding
        self.encoder = encoder
        self.decoder = decoder
        self.output = output

    @property
    def max_length(self) -> int | None:
        """The most tokens that a translation can have, eos not counted; None: any number."""
        return self.decoder.max_length

    def forward(self, batch: Batch) -> Float[Tensor, "N D"]:
        """Features of the N real target positions, sentence by sentence (teacher forcing)."""
        source, state = self.start(batch.src, batch.src_mask, wants_weights=False)
        features, _, _ = self.decoder(batch.tgt_in, source, state)
        return features.flatten(0, 1).index_select(0, batch.real())

    def encode(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> Memory:
        """The encoder's memory of the source sentences."""
        return self.encoder(self.embedding(src), src_mask)

    def start(
        self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"], wants_weights: bool
    ) -> tuple[Source, State]:
        """The source and first state for decoding; `wants_weights`: must decoding give attention weights?"""
        return self.decoder.start(self.encode(src, src_mask), wants_weights)

    def step(
        self, tokens: Int[Tensor, "R T"], source: Source, state: State
    ) -> tuple[Float[Tensor, "R V"], Float[Tensor, "R L H T S"], State]:
        """Log-probabilities (nats, float32) of the token after the last one given, attention weights, new state."""
        features, weights, state = self.decoder(tokens, source, state)
        logits = self.output(features[:, -1]).float()
        return torch.log_softmax(logits, -1, out=logits), weights, state

    def attention(self, batch: Batch) -> Float[Tensor, "B L H T S"]:
        """The attention weights behind the given targets."""
        return self._read(batch)[1]

    def forced(self, batch: Batch) -> tuple[Float[Tensor, "B T"], Float[Tensor, "B L H T S"]]:
        """The log-probability of each token of the given targets (nats, 0 on padding), and the attention weights."""
        features, weights = self._read(batch)
        real = batch.real()
        logits = self.output(features.flatten(0, 1)[real]).float()
        chosen = -functional.cross_entropy(logits, batch.tgt_out.flatten()[real], reduction="none")
        log_probs = chosen.new_zeros(batch.tgt_out.shape).masked_scatter(batch.tgt_mask, chosen)
        return log_probs, weights

    def _read(self, batch: Batch) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B L H T S"]]:
        """Features and attention weights of all target positions (teacher forcing)."""
        source, state = self.start(batch.src, batch.src_mask, wants_weights=True)
        features, weights, _ = self.decoder(batch.tgt_in, source, state)
        return features, weights


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Turns dropout off inside; afterwards, even after an error, restores the mode that the model was in."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)
