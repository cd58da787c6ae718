"""The configuration of a run: one frozen object, stored in the run folder, for all code that trains or loads it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Annotated, Any, ClassVar, Literal

from nmt.config.check import convert, read, refuse_keys, show
from nmt.config.keys import Folder, Section, Seed, hints_of
from nmt.config.parts import DECODERS, ENCODERS, LAYERS, OPTIMIZERS, SCHEDULES, SCORES, Group, Part, read_part
from nmt.config.sections import DataConfig, ModelConfig, SearchConfig, TokenizerConfig, TrainConfig
from nmt.errors import ConfigError

MODEL_SECTIONS = ("model", "encoder", "decoder", "attention", "tokenizer")  # weights and vocabularies depend on them
CacheDir = Annotated[
    Folder, "folder for prepared corpora; null = $XDG_CACHE_HOME/nmt, or ~/.cache/nmt if that is not set"
]
PARTS: dict[str, Group] = {
    "encoder": ENCODERS, "decoder": DECODERS, "optimizer": OPTIMIZERS, "schedule": SCHEDULES,
}  # fmt: skip


@dataclass(frozen=True)
class AttentionConfig(Section):
    """One attention score, or a layer of several; and the settings that every attention has."""

    WHERE: ClassVar[str] = "attention"

    part: Part | None  # None: no attention (class: null)
    several: bool  # is the part a layer that makes the scores of its heads itself?
    normaliser: Annotated[
        Literal["softmax", "sparsemax", "entmax15"],
        "turns scores into weights: softmax; or sparsemax or entmax15, which give exactly 0 to much of the source",
    ]


@dataclass(frozen=True)
class RunConfig(Section):
    """The configuration that a run folder stores."""

    name: Annotated[
        Folder, "folder of the run inside runs_dir; null = made from the experiment, the words you type and the seed"
    ]
    runs_dir: Annotated[Folder, "where runs are kept"]
    cache_dir: CacheDir
    seed: Annotated[Seed, "decides every random choice"]
    init_from: Annotated[
        Folder | None, "folder of a run whose weights and tokenizers to start from (fine-tuning); null = a new model"
    ]
    data: DataConfig
    tokenizer: TokenizerConfig
    model: ModelConfig
    encoder: Part
    decoder: Part
    attention: AttentionConfig
    optimizer: Part
    schedule: Part
    search: SearchConfig
    train: TrainConfig

    def refuse(self) -> None:
        if self.model.tie == "all" and not self.tokenizer.joint:
            raise ConfigError(
                "model.tie is all, but tokenizer.joint is false: two vocabularies cannot share one table; "
                "set tokenizer.joint=true or model.tie=target"
            )
        if self.attention.part is None and self.search.coverage_penalty:
            raise ConfigError(
                f"search.coverage_penalty={self.search.coverage_penalty} is about attention, and the model has none, "
                "attention=none; set search.coverage_penalty=0"
            )

    def plain(self) -> dict[str, Any]:
        """The configuration as plain data, which `read_run_config` reads."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


def read_run_config(values: Mapping[str, Any], trust: Sequence[str] | None) -> RunConfig:
    """The configuration from plain data, with every section checked; `trust` as for `read_part`."""
    hints = hints_of(RunConfig)
    refuse_keys(values, list(hints), list(hints), "")
    found: dict[str, Any] = {}
    for name, hint in hints.items():
        if name in PARTS:
            found[name] = read_part(values[name], name, PARTS[name], trust)
        elif name == "attention":
            found[name] = read_attention(values[name], trust)
        else:
            found[name] = convert(values[name], hint, name)
    return RunConfig(**found)


def read_attention(section: Any, trust: Sequence[str] | None) -> AttentionConfig:
    """The attention that a section describes."""
    if not isinstance(section, Mapping):
        raise ConfigError(f"attention={show(section)} is not a section; type attention=general")
    own = {key: value for key, value in section.items() if key != "normaliser"}
    common = {key: value for key, value in section.items() if key == "normaliser"}
    LAYERS.load()
    several = own.get("class") in list(LAYERS.members) or "score" in own  # no hashing: a stored class may be a list
    part = None
    if "class" not in own or own["class"] is not None:
        part = read_part(own, "attention", LAYERS if several else SCORES, trust)
    chosen = read(AttentionConfig, {"part": part, "several": several, **common}, "attention")
    changed = [key for key in own if key != "class"] + ["normaliser"] * (chosen.normaliser != "softmax")
    if part is None and changed:
        raise ConfigError(f"attention.{changed[0]} is set, but attention=none has no parameters; remove it")
    return chosen


def _plain(value: Any) -> Any:
    """A value of the configuration as plain data."""
    if isinstance(value, Part):
        return value.plain()
    if isinstance(value, AttentionConfig):
        own = {"class": None} if value.part is None else value.part.plain()
        return own | {"normaliser": value.normaliser}
    return asdict(value) if isinstance(value, Section) else value
