"""Which numbers a device computes in: bfloat16 only where every layer can."""

import platform
from importlib.metadata import version

import pytest
import torch
from helpers.models import NEEDS_BF16

from nmt.errors import ConfigError
from nmt.machine import device
from nmt.machine.device import choose_device, choose_dtype, computes_bf16, environment

CPU = torch.device("cpu")


def test_bf16_is_refused_where_a_layer_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def unable(*given: object) -> None:
        raise RuntimeError("could not create a primitive descriptor for the LSTM forward propagation primitive")

    monkeypatch.setattr(torch.nn.LSTM, "forward", unable)
    assert not computes_bf16(CPU)
    with pytest.raises(
        ConfigError, match=r"^precision is bf16, but torch has no LSTM in bf16 for this processor \(.+\); set"
    ):
        choose_dtype("bf16", CPU)
    assert choose_dtype("fp32", CPU) == torch.float32


@NEEDS_BF16
def test_bf16_is_taken_where_asked_for() -> None:
    assert choose_dtype("bf16", CPU) == torch.bfloat16


@pytest.mark.parametrize("native", [True, False])
def test_auto_is_bf16_where_the_processor_multiplies_it(native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": native})
    assert choose_dtype("auto", CPU) == (torch.bfloat16 if native else torch.float32)


def test_trying_a_layer_draws_no_random_numbers() -> None:
    before = torch.random.get_rng_state()
    computes_bf16(CPU)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize(
    ("dtype", "has", "suffix"), [("bfloat16", True, " with AMX"), ("bfloat16", False, ""), ("float32", True, "")]
)
def test_all_that_the_bits_depend_on_is_on_record(
    dtype: str, has: bool, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "multiplies_tiles", lambda: has)
    packages = {name: version(name) for name in ("nmt", "sentencepiece", "sacrebleu", "numpy")}
    found = environment(CPU, getattr(torch, dtype))
    assert isinstance(found.pop("entmax"), str)  # which need not be installed
    assert found == packages | {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "device": "cpu",
        "products in": dtype,
        "processor": torch.backends.cpu.get_cpu_capability() + suffix,
    }


def test_a_gpu_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(
        ConfigError, match=r"^device is cuda, but torch finds no GPU here; set device=cpu or device=auto$"
    ):
        choose_device("cuda")
    assert choose_device("auto") == CPU
