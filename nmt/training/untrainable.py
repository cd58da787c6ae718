"""Refuses a configuration that cannot be trained, before any work."""

import torch
from torch import nn

from nmt.config.run import RunConfig
from nmt.errors import ConfigError
from nmt.machine.device import choose_device, choose_dtype
from nmt.model.build import build_outline
from nmt.training.optim import Schedule

GIVE_DEV = "give data.dev.src and data.dev.tgt, or a larger data.dev_size"


def refuse_untrainable(config: RunConfig) -> None:
    """Refuses a configuration that cannot be trained, before any work.

    Builds every part once, without memory for its weights and without the real vocabulary.
    """
    build_outline(config, src_vocab=8, tgt_vocab=8)
    with torch.device("meta"):
        config.optimizer([nn.Parameter(torch.zeros(1))])
    ends = [end for end in (config.train.max_updates, config.train.max_epochs) if end is not None]
    schedule = config.schedule(min(ends, default=None))
    choose_dtype(config.train.precision, choose_device(config.train.device))
    if not config.data.has_dev:
        refuse_without_dev(config, schedule)


def refuse_without_dev(config: RunConfig, schedule: Schedule) -> None:
    """Refuses settings that wait for dev scores, for a run without dev sentences."""
    if config.train.patience is not None:
        raise ConfigError(
            f"train.patience is {config.train.patience}, but there are no dev sentences to decide by; "
            f"set train.patience=null, or {GIVE_DEV}"
        )
    if schedule.needs_dev:
        raise ConfigError(f"schedule=plateau waits for dev losses, but there are no dev sentences; {GIVE_DEV}")
