"""The configuration that all processes of a training share."""

from collections.abc import Sequence
from dataclasses import replace

from nmt.config.identity import ANYWHERE, differences
from nmt.config.run import RunConfig, read_run_config
from nmt.errors import ConfigError
from nmt.machine.peers import Peers


def agreed(config: RunConfig, trust: Sequence[str], peers: Peers) -> RunConfig:
    """The configuration, which all processes must share; only `train.parts` is taken from the first process."""
    if peers.count == 1:
        return config
    first, *others = [read_run_config(each, trust) for each in peers.gathered(config.plain())]
    for rank, other in enumerate(others, 1):
        for key, (here, there) in differences(first, other).items():
            if key not in (*ANYWHERE, "train.parts"):
                raise ConfigError(
                    f"{key} is {here} in process 0 and {there} in process {rank}; start all with the same words"
                )
    return replace(config, train=replace(config.train, parts=first.train.parts))
