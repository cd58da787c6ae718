"""The weights that a run starts with."""

import torch

from nmt.config.run import RunConfig
from nmt.data.tokenizer import TokenizerPair
from nmt.model.build import build_model
from nmt.model.seq2seq import Seq2Seq


def random_model(config: RunConfig, tokenizers: TokenizerPair) -> Seq2Seq:
    """A new model for these vocabularies, whose random weights the seed decides."""
    torch.manual_seed(config.seed)
    model = build_model(config, tokenizers.src.vocab_size, tokenizers.tgt.vocab_size)
    if (bound := config.train.init_range) is not None:
        draw_weights(model, bound)
    return model


@torch.no_grad()
def draw_weights(model: Seq2Seq, bound: float) -> None:
    """Draws every matrix uniformly from ±`bound` (Luong et al. 2015, §4.1); vectors, such as biases, stay the same."""
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.uniform_(-bound, bound)
