"""Layers in 8-bit integers beside the same in floating point."""

import copy
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from helpers.models import random_batch, small_model
from helpers.processes import finished
from helpers.small_runs import make_run, sentences
from helpers.small_transformers import model_of
from torch import nn
from torch.nn import functional

from nmt.data.batch import make_batch
from nmt.errors import ConfigError
from nmt.machine.device import choose_int8, has_fbgemm, multiplies_int8
from nmt.model.output_layer import Output
from nmt.model.seq2seq import Seq2Seq
from nmt.search import int8_kernels
from nmt.search.int8 import Int8Linear, Int8Lstm, Int8Product, rounded, tanh, with_int8_decoder
from nmt.search.int8_kernels import FEW_ROWS, LARGEST_INT7, LARGEST_INT8, Prepared, Product, kernel
from nmt.search.steering import UNSTEERED
from nmt.translation.translator import Translator

CPU = torch.device("cpu")


def layer(seed: int, d: int = 48, vocab: int = 301) -> Output:
    torch.manual_seed(seed)
    output = Output(d, vocab)
    with torch.no_grad():
        output.weight.mul_(torch.rand(vocab, 1) * 10)  # rows of very different size
        output.weight[7] = 0
    return output


def int8(output: Output) -> Int8Linear:
    return Int8Linear(output.weight, output.bias)


def features(seed: int, rows: int = 20, d: int = 48) -> torch.Tensor:
    torch.manual_seed(seed + 100)
    return torch.randn(rows, d) * torch.rand(rows, 1) * 5


@pytest.mark.parametrize("largest", [LARGEST_INT7, LARGEST_INT8])
@pytest.mark.parametrize("seed", range(4))
def test_rounding_is_to_the_nearest_step(seed: int, largest: int) -> None:
    rows = features(seed)
    rows[3] = 0
    whole, scale = rounded(rows, largest)
    assert torch.equal(whole, whole.round())
    assert ((whole * scale - rows).abs() <= scale / 2 * (1 + 1e-5)).all()
    others = [row for row in range(len(rows)) if row != 3]
    assert (whole[others].abs().amax(1) == largest).all(), "a row does not use its whole range"


@pytest.mark.parametrize("seed", range(4))
def test_sums_of_rounded_factors_are_exact(seed: int) -> None:
    output, given = layer(seed), features(seed)
    (weight, weight_scale), (whole, scale) = rounded(output.weight.detach(), 127), rounded(given, kernel().largest)
    exact = (whole.double() * scale) @ (weight.double() * weight_scale).T + output.bias.double()
    torch.testing.assert_close(int8(output)(given).double(), exact, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_what_rounding_changes_is_within_its_bound(seed: int) -> None:
    output, given = layer(seed), features(seed)
    steps = given.abs().amax(1, keepdim=True) / (2 * kernel().largest)
    weight_steps = output.weight.abs().amax(1) / 254
    bound = steps * output.weight.abs().sum(1) + given.abs().sum(1, keepdim=True) * weight_steps
    bound = bound + steps * weight_steps * given.shape[1]
    plain = functional.linear(given, output.weight, output.bias)
    assert ((int8(output)(given) - plain).abs() <= bound * 1.01 + 1e-5).all()


def test_a_row_does_not_depend_on_the_others() -> None:
    output, given = int8(layer(1)), features(1)
    together = output(given)
    for row in range(len(given)):
        assert torch.equal(output(given[row : row + 1])[0], together[row])


@pytest.mark.parametrize("kind", [lambda output: output, int8], ids=["trained", "int8"])
def test_over_some_pieces_it_is_what_the_whole_is_there(kind: type) -> None:
    output, given = kind(layer(2)), features(2)
    pieces = torch.tensor([0, 1, 2, 3, 9, 7, 300])
    torch.testing.assert_close(output.over(pieces)(given), output(given)[:, pieces])


@pytest.mark.skipif(not multiplies_int8(), reason="needs VNNI or AMX")
@pytest.mark.parametrize("d", [1, 2, 333, 2000])
def test_packed_products_are_exact(d: int) -> None:
    torch.manual_seed(d)
    rows, vocab = FEW_ROWS + int(torch.randint(1, 90, ())), int(torch.randint(1, 400, ()))
    weight = torch.randint(-127, 128, (vocab, d), dtype=torch.int8)
    weight[0], scale = 127, torch.rand(vocab)  # the largest sums there are
    product = Int8Product(weight, scale, torch.zeros(vocab), pays_from=1)
    given = torch.randint(-127, 128, (rows, d)).float()
    given[0], given[-1] = 127, -127
    assert product.packed is not None
    exact = (given.double() @ weight.double().T).float() * scale
    for some in (given, given[:FEW_ROWS], given[:1]):
        assert torch.equal(product.packed(some), exact[: len(some)])
        assert torch.equal(product.plain(some), exact[: len(some)])


@pytest.mark.skipif(not (multiplies_int8() and has_fbgemm()), reason="needs VNNI or AMX, and FBGEMM")
@pytest.mark.parametrize("pays_from", [1, 64])
def test_weights_are_packed_by_the_libraries_that_multiply_them(
    pays_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed: list[str] = []

    def noting(name: str) -> Prepared:
        original: Prepared = getattr(int8_kernels, name)

        def prepared(*weights: Any, **options: Any) -> Product:
            packed.append(name)
            return original(*weights, **options)

        return prepared

    for name in ("by_fbgemm", "by_onednn"):
        monkeypatch.setattr(int8_kernels, name, noting(name))
    product = Int8Product(torch.ones(9, 8, dtype=torch.int8), torch.ones(9), torch.zeros(9), pays_from)
    for rows in (64, FEW_ROWS, FEW_ROWS + 1, 64):
        product(torch.ones(rows, 8))
    assert packed == (["by_fbgemm", "by_onednn"] if pays_from == 1 else ["by_onednn"])


@pytest.mark.slow
@pytest.mark.skipif(not multiplies_int8(), reason="needs VNNI or AMX")
def test_packed_products_never_go_through_plain_loops() -> None:
    lines = (
        "import torch",
        "from nmt.search.int8_kernels import by_onednn",
        "product = by_onednn(torch.ones(300, 64, dtype=torch.int8), torch.ones(300))",
        "for rows in (1, 17, 80): product(torch.ones(rows, 64))",
    )
    said = finished(["env", "ONEDNN_VERBOSE=1", sys.executable, "-c", "\n".join(lines)]).stdout
    products = [line for line in said.splitlines() if ",exec,cpu,matmul," in line]
    assert len(products) == 3
    assert not [line for line in products if ",ref" in line]


@pytest.mark.skipif(not has_fbgemm(), reason="needs AVX2 and FBGEMM")
@pytest.mark.parametrize("seed", range(4))
def test_fbgemm_gives_the_same_bits_as_products_in_float32(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt.search.int8_kernels.multiplies_int8", lambda: False)
    torch.manual_seed(seed)
    rows, d, vocab = (int(torch.randint(1, most, ())) for most in (90, 2000, 400))
    weight = torch.randint(-127, 128, (vocab, d), dtype=torch.int8)
    weight[0], scale = 127, torch.rand(vocab)  # the largest sums there are
    product = Int8Product(weight, scale, torch.randn(vocab), pays_from=1)
    given = torch.randint(-63, 64, (rows, d)).float()
    given[0] = 63
    assert product.packed is not None
    assert torch.equal(product.packed(given), product.plain(given))
    exact = (given.double() @ weight.double().T) * scale.double()
    torch.testing.assert_close(product.plain(given).double(), exact, rtol=1e-6, atol=0)


def test_without_a_library_the_products_are_those_of_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    output, given = layer(4), features(4)
    monkeypatch.setattr("nmt.search.int8_kernels.multiplies_int8", lambda: False)
    with_library = int8(output)(given)
    monkeypatch.setattr("nmt.search.int8_kernels.has_fbgemm", lambda: False)
    alone = int8(output)
    assert alone.product.packed is None
    torch.testing.assert_close(alone(given), with_library, rtol=1e-6, atol=1e-5)


def test_auto_multiplies_integers_where_that_is_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    for capabilities, engines, is_fast in (
        ({"avx512_vnni": True}, [], True),
        ({"amx_int8": True}, [], True),
        ({"avx2": True}, ["fbgemm"], True),
        ({"avx2": True}, ["qnnpack"], False),
        ({}, ["fbgemm"], False),
    ):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda found=capabilities: found)
        monkeypatch.setattr(torch.backends, "quantized", SimpleNamespace(supported_engines=engines))
        assert choose_int8("auto", CPU) == is_fast
        assert choose_int8("int8", CPU)
        assert not choose_int8("bf16", CPU)
        assert not choose_int8("fp32", CPU)
        assert not choose_int8("auto", torch.device("cuda"))
    with pytest.raises(ConfigError, match=r"precision is int8, .* device is a GPU; set precision=bf16"):
        choose_int8("int8", torch.device("cuda"))


def test_a_translator_in_integers_scores_nearly_as_in_full(tmp_path: Path) -> None:
    run, texts = make_run(tmp_path / "run", "general"), sentences(12, seed=3)
    plain = Translator.load(run, device="cpu", precision="fp32")
    whole = Translator.load(run, device="cpu", precision="int8")
    assert isinstance(whole.step_model, Seq2Seq)
    assert isinstance(whole.step_model.output, Int8Linear)
    assert any(isinstance(module, Int8Lstm) for module in whole.step_model.modules())
    assert "int8" in whole.precision
    assert plain.precision == "fp32"
    given = [translation.text for translation in plain.translate(texts)]
    assert whole.forced_scores(texts, given) == pytest.approx(plain.forced_scores(texts, given), rel=0.02, abs=0.2)
    ids = whole.tokenizers.src.encode_batch(texts)
    found = [
        hypotheses[0] for hypotheses in whole.search(make_batch(ids, [[] for _ in ids]), whole.settings, UNSTEERED)
    ]
    forced, _ = whole.forced(ids, [best.tokens for best in found])
    assert forced == pytest.approx([best.log_prob for best in found], rel=1e-2, abs=0.05)
    with torch.no_grad():
        stepped, _ = whole.step_model.forced(make_batch(ids, [best.tokens for best in found]))
    assert stepped.sum(1).tolist() == pytest.approx([best.log_prob for best in found], rel=1e-2, abs=0.05)


def test_bfloat16_is_multiplied_as_what_it_stands_for() -> None:
    output, given = int8(layer(3)), features(3).bfloat16()
    logits = output(given)
    assert logits.dtype == torch.float32
    assert torch.equal(logits, output(given.float()))


@pytest.mark.parametrize("seed", range(3))
def test_the_lstm_is_torchs_to_rounding_and_goes_on_where_it_stopped(seed: int) -> None:
    torch.manual_seed(seed)
    lstm = torch.nn.LSTM(12, 20, batch_first=True)
    inputs, hidden, cell = torch.randn(7, 6, 12), torch.randn(7, 20).tanh(), torch.randn(7, 20)
    state = torch.stack([hidden, cell], 1)
    whole = Int8Lstm(lstm)
    plain, after = lstm(inputs, (hidden[None], cell[None]))
    outputs, states = whole(inputs, state)
    for found, wanted in ((outputs, plain), (states[:, 0], after[0][0]), (states[:, 1], after[1][0])):
        torch.testing.assert_close(found, wanted, atol=0.02, rtol=0)
        assert not torch.equal(found, wanted)
    first, between = whole(inputs[:, :2], state)
    second, end = whole(inputs[:, 2:], between)
    torch.testing.assert_close(torch.cat([first, second], 1), outputs, atol=1e-6, rtol=0)
    torch.testing.assert_close(end, states, atol=1e-6, rtol=0)


def test_a_layer_without_bias_takes_any_number_of_axes() -> None:
    torch.manual_seed(5)
    linear = torch.nn.Linear(48, 30, bias=False)
    given = features(5).view(4, 5, 48)
    found = Int8Linear(linear.weight, None)(given)
    torch.testing.assert_close(found, linear(given), atol=0.05 * float(given.abs().max()), rtol=0)
    torch.testing.assert_close(found.flatten(0, 1), Int8Linear(linear.weight, None)(given.flatten(0, 1)))


def test_tanh_is_torchs_to_rounding() -> None:
    x = torch.linspace(-30, 30, 1001)
    torch.testing.assert_close(tanh(x), x.tanh(), atol=3e-7, rtol=0)


@pytest.mark.parametrize(
    "model",
    [
        lambda: small_model("general", layers=2),
        lambda: small_model("additive", input_feeding=True),
        lambda: small_model("general", cell="gru"),
        lambda: model_of(decoder="transformer"),
    ],
    ids=["layers", "feeding", "gru", "transformer"],
)
def test_every_decoder_can_be_rounded(model: Callable[[], Seq2Seq]) -> None:
    plain, batch = model(), random_batch(3)
    whole = with_int8_decoder(plain)
    with torch.no_grad():
        wanted, found = plain.forced(batch)[0], whole.forced(batch)[0]
        assert torch.equal(plain.forced(batch)[0], wanted), "the model itself was changed"
    assert not torch.equal(found, wanted)
    assert (found - wanted).abs().mean() < 0.1 * wanted.std()
    inner = whole.decoder.decoder  # type: ignore[union-attr,attr-defined]
    assert nn.LSTM not in {type(module) for module in inner.modules()}
    assert not any(isinstance(child, nn.Linear) for child in inner.children())
    assert isinstance(whole.output, Int8Linear)


def test_after_an_encoder_in_bfloat16_the_decoder_computes_in_float32() -> None:
    plain, batch = small_model("general"), random_batch(3)
    with torch.no_grad():
        wanted = with_int8_decoder(plain).forced(batch)[0]
        found = with_int8_decoder(plain.bfloat16()).forced(batch)[0]
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, wanted, atol=0.2, rtol=0.02)


def test_an_lstm_in_bfloat16_is_rounded_from_float32() -> None:
    torch.manual_seed(0)
    half = nn.LSTM(5, 7, batch_first=True).bfloat16()
    found, expected = Int8Lstm(half), Int8Lstm(copy.deepcopy(half).float())
    for name in ("inputs", "recurrent"):
        for key in ("weight", "scale", "bias"):
            mine, wanted = (getattr(getattr(layer, name), key) for layer in (found, expected))
            assert mine.dtype == wanted.dtype
            assert torch.equal(mine, wanted)
