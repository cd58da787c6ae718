"""What `nmt tune` is asked for: the space, the words of every trial, and the configuration that they make."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt.config.compose import composed, known_keys, loader, settled, untouched, without_hydra
from nmt.config.overrides import parse, readable
from nmt.errors import ConfigError
from nmt.tune.space import Choices, Range, read_space, word

OWN = ("trials", "startup", "space", "name", "runs_dir")  # words that are not the trials' own
NOT_HERE = ("resume", "resume_with", "init_from")


@dataclass(frozen=True)
class Plan:
    """What was typed."""

    folder: Path
    space: list[Choices | Range]
    words: list[str]  # of every trial
    config_dir: str | None
    trials: int
    startup: int
    seed: int
    metric: str  # bleu or loss, as train.metric

    def config(self, chosen: Mapping[str, Any], name: str) -> dict[str, Any]:
        """The configuration of a trial's run."""
        own = [word(key, value) for key, value in chosen.items()]
        words = [*self.words, *own, f"name={name}", readable(f"runs_dir={self.folder}", sweep=False)]
        with loader(self.config_dir):
            before = untouched("train")
            config = composed("train", words, before)
            return settled("train", without_hydra(config), config.hydra, known_keys(before))[0]


def planned(verb: str, typed: list[str], config_dir: str | None) -> Plan:
    """The plan of a command line, checked as far as it can be without a study."""
    with loader(config_dir):
        before = untouched(verb)
        config = composed(verb, typed, before)
        settings, _ = settled(verb, without_hydra(config), config.hydra, known_keys(before))
    for key in NOT_HERE:
        if settings[key]:
            raise ConfigError(f"{key} is for nmt train; leave it out: every trial is a new run")
    for key, least in (("trials", 0), ("startup", 1)):
        if settings[key] < least:
            raise ConfigError(f"{key}={settings[key]} is not possible; give {least} or more")
    data = settings["data"]
    if data["dev"]["src"] is None and data["dev"]["files"] is None and not data["dev_size"]:
        raise ConfigError("data.dev_size=0 leaves no dev sentences to choose settings by; give some, or data.dev.…")
    space = read_space(settings["space"])
    own = {override.key_or_group: each for each in typed for override in [parse(each)]}
    for each in space:
        if each.key in own:
            raise ConfigError(f"{own[each.key]} is typed, but the space varies {each.key}; leave one of them out")
    words = [each for key, each in own.items() if key.split(".")[0] not in OWN]
    folder = Path(settings["runs_dir"]).expanduser() / "studies" / settings["name"]
    metric = settings["train"]["metric"]
    return Plan(folder, space, words, config_dir, settings["trials"], settings["startup"], settings["seed"], metric)
