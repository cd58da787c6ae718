"""The weights that a run starts with: random ones, or those of another run."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import nn

from nmt.config.changes import Changes
from nmt.config.identity import model_changes, refuse_other_tokenizer
from nmt.config.run import MODEL_SECTIONS, RunConfig
from nmt.data.tokenizer import TokenizerPair
from nmt.errors import CheckpointError, ConfigError
from nmt.model.build import build_model
from nmt.model.seq2seq import Seq2Seq
from nmt.runs.folder import read_run, refuse_unfitting


def random_model(config: RunConfig, tokenizers: TokenizerPair) -> Seq2Seq:
    """A new model for these vocabularies, whose random weights the seed decides."""
    torch.manual_seed(config.seed)
    model = build_model(config, tokenizers.src.vocab_size, tokenizers.tgt.vocab_size)
    if (bound := config.train.init_range) is not None:
        draw_weights(model, bound)
    return model


@torch.no_grad()
def draw_weights(model: Seq2Seq, bound: float) -> None:
    """Draws all matrices, and the biases of linear layers and RNNs, uniformly from ±`bound` (Luong et al. 2015, §4.1).

    So the forget gates of an LSTM start half open, not open (docs/recipe.md, "The first updates").
    """
    layers = [module for module in model.modules() if isinstance(module, nn.Linear | nn.RNNBase)]
    theirs = {id(parameter) for layer in layers for parameter in layer.parameters(recurse=False)}
    for parameter in model.parameters():
        if parameter.dim() > 1 or id(parameter) in theirs:
            parameter.uniform_(-bound, bound)


def config_from(
    folder: Path, config: RunConfig, changes: Changes, trust: Sequence[str]
) -> tuple[RunConfig, RunConfig, TokenizerPair]:
    """The configuration of a run that starts from the weights of the run in `folder`, and that run's own.

    The `changes` to the model apply on top of that run's settings. Refuses changes that do not fit its weights or its
    tokenizers, the third of the result.
    """
    stored, tokenizers = read_run(folder, trust)
    same = replace(config, **{section: getattr(stored, section) for section in MODEL_SECTIONS})
    changed = changes.over(same, trust, MODEL_SECTIONS)
    refuse_other_tokenizer(stored, changed, f"init_from={folder}")
    refuse_other_model(folder / "model.safetensors", stored, changed, tokenizers)
    return changed, stored, tokenizers


def refuse_other_model(path: Path, stored: RunConfig, config: RunConfig, tokenizers: TokenizerPair) -> None:
    """Refuses a `config` whose model does not fit the weights in `path`, which the `stored` configuration made."""
    try:
        refuse_unfitting(config, tokenizers, path)
    except CheckpointError:
        changes = model_changes(stored, config)
        if not changes:
            raise
        raise ConfigError(
            f"{path} has weights of other names or sizes than a model with {', '.join(changes)}; "
            "leave that out, or train a new model"
        ) from None
