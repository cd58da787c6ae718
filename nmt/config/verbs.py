"""Schema of the keys that stand at the root of each verb's configuration; sections are in config.py."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class TrainRoot:
    """nmt train, nmt prepare."""

    name: str | None
    runs_dir: str
    cache_dir: str
    seed: int
    resume: str | None
    resume_with: str | list[str]
    init_from: str | None
    trust: list[str]


@dataclass(frozen=True)
class StoredRoot:
    """What a run folder keeps of it."""

    name: str
    runs_dir: str
    cache_dir: str
    seed: int
    init_from: str | None


@dataclass(frozen=True)
class CompareRoot(TrainRoot):
    """nmt compare."""

    split: Literal["test", "dev"]
    output: str | None


@dataclass(frozen=True)
class TuneRoot(TrainRoot):
    """nmt tune."""

    trials: int
    startup: int


@dataclass(frozen=True)
class UseRoot:
    """Every verb that uses finished models."""

    trust: list[str]
    device: Literal["auto", "cpu", "cuda"]
    precision: Literal["auto", "fp32", "bf16", "int8"]
    threads: int | None


@dataclass(frozen=True)
class ModelRoot(UseRoot):
    """Every verb that uses one."""

    model: str


@dataclass(frozen=True)
class TranslationRoot(UseRoot):
    """Every verb that translates."""

    shortlist: bool | Literal["auto"]
    long_lines: Literal["split", "truncate"]


@dataclass(frozen=True)
class EvaluateRoot(TranslationRoot):
    """nmt evaluate."""

    model: str | list[str]
    src: str | None
    ref: str | list[str] | None
    test_set: str | None
    split: Literal["train", "dev", "test"]
    output: str | None
    intervals: bool
    compare_with: str | list[str] | None
    gold: str | None
    gold_units: Literal["words", "tokens"] | None
    gold_reverse: bool
    cache_dir: str


@dataclass(frozen=True)
class TranslateRoot(TranslationRoot):
    """nmt translate."""

    model: str | list[str]
    input: str | list[str] | None
    output: str | None
    format: Literal["text", "jsonl"]
    n_best: int | None
    alignments: bool
    buffer: int


@dataclass(frozen=True)
class VisualiseRoot(TranslationRoot):
    """nmt visualise."""

    model: str
    input: str | list[str] | None
    tgt: str | None
    tgt_text: str | list[str] | None
    output: str | None
    format: Literal["png", "svg", "html"]
    layer: int | None
    head: int | None


@dataclass(frozen=True)
class AlignRoot(ModelRoot):
    """nmt align."""

    src: str
    tgt: str
    output: str | None
    units: Literal["words", "tokens"]
    rule: Literal["argmax", "threshold"]
    threshold: float | None
    layer: int | None
    head: int | None
    reverse_model: str | None
    symmetrise: Literal["intersection", "union", "grow-diag-final-and"] | None


@dataclass(frozen=True)
class InteractiveRoot(TranslationRoot):
    """nmt interactive."""

    model: str | list[str]
    history: str | None


@dataclass(frozen=True)
class ShortlistRoot(ModelRoot):
    """nmt shortlist."""

    best: int
    frequent: int
    sentences: int | None
    cache_dir: str


@dataclass(frozen=True)
class AttentionsRoot:
    """nmt attentions."""

    d_query: int
    d_memory: int
    format: Literal["text", "markdown"]


@dataclass(frozen=True)
class StatusRoot:
    """nmt status."""

    model: str


@dataclass(frozen=True)
class DoctorRoot:
    """nmt doctor."""

    self_test: bool
    runs_dir: str
    cache_dir: str
    device: Literal["auto", "cpu", "cuda"]
    threads: int | None


ROOTS: dict[str, type] = {
    "prepare": TrainRoot,
    "train": TrainRoot,
    "evaluate": EvaluateRoot,
    "translate": TranslateRoot,
    "visualise": VisualiseRoot,
    "align": AlignRoot,
    "interactive": InteractiveRoot,
    "shortlist": ShortlistRoot,
    "compare": CompareRoot,
    "tune": TuneRoot,
    "attentions": AttentionsRoot,
    "status": StatusRoot,
    "doctor": DoctorRoot,
}
