"""How this processor multiplies 8-bit integers.

Processors without native products of them (VNNI, AMX) add pairs of products in 16 bits. There, inputs are rounded to 7
bits, so that no sum is too large. (Khudia et al. 2021, "FBGEMM: enabling high-performance low-precision deep learning
inference")
"""

import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple, TypeAlias

import torch
from jaxtyping import Float, Int8
from torch import Tensor
from torch.nn import functional

from nmt.machine.device import has_fbgemm, multiplies_int8

LARGEST_INT8, LARGEST_INT7 = 127, 63
ZERO_OF_INT7, ZERO_OF_INT8 = 64, 128  # the libraries' inputs have no sign
FEW_ROWS = 16  # up to so many, FBGEMM is faster than oneDNN, which takes longer to begin

# whole numbers from -`largest` to `largest` -> these @ (scale * weight)ᵀ
Product: TypeAlias = Callable[[Float[Tensor, "R D"]], Float[Tensor, "R V"]]
Prepared: TypeAlias = Callable[[Int8[Tensor, "V D"], Float[Tensor, " V"]], Product]  # weight and scale -> product


class Kernel(NamedTuple):
    """How 8-bit integers are multiplied."""

    largest: int  # of the inputs
    plain: Prepared
    pack: Prepared | None  # None: no library


def kernel() -> Kernel:
    """The one for this processor."""
    native, fbgemm = multiplies_int8(), has_fbgemm()
    if fbgemm:
        let_torch_warn_unseen()
    if native:
        return Kernel(LARGEST_INT8, by_torch, by_both if fbgemm else None)
    return Kernel(LARGEST_INT7, in_float32, partial(by_fbgemm, zero=ZERO_OF_INT7) if fbgemm else None)


def by_torch(weight: Int8[Tensor, "V D"], scale: Float[Tensor, " V"]) -> Product:
    """As integers; the product reorders the weights each time."""
    if weight.shape[1] == 1:  # torch 2.13 gives wrong sums there
        return in_float32(weight, scale)
    return lambda whole: torch._int_mm(whole.to(torch.int8), weight.t()).float().mul_(scale)


def by_both(weight: Int8[Tensor, "V D"], scale: Float[Tensor, " V"]) -> Product:
    """A few rows by FBGEMM, many by oneDNN: the same bits."""
    few = cache(partial(by_fbgemm, weight, scale, ZERO_OF_INT8))  # each packs the weights when it is needed
    many = cache(partial(by_onednn, weight, scale))
    return lambda whole: (few() if len(whole) <= FEW_ROWS else many())(whole)


def by_onednn(weight: Int8[Tensor, "V D"], scale: Float[Tensor, " V"]) -> Product:
    """As integers, with weights in the order that oneDNN multiplies.

    128 is added to the inputs, and the library subtracts its share from the sums: VNNI multiplies only unsigned inputs
    (by signed weights). Signed ones would go through plain loops where there is no AMX, thousands of times as slow.
    """
    packed = torch.ops.onednn.qlinear_prepack(weight, None)
    zeros = torch.zeros(len(weight), dtype=torch.int64)

    def product(whole: Float[Tensor, "R D"]) -> Float[Tensor, "R V"]:
        unsigned = (whole + ZERO_OF_INT8).to(torch.uint8)
        found: Tensor = torch.ops.onednn.qlinear_pointwise(
            unsigned, 1.0, ZERO_OF_INT8, packed, scale, zeros, None, 1.0, 0, torch.float32, "none", [], ""
        )
        return found

    return product


def in_float32(weight: Int8[Tensor, "V D"], scale: Float[Tensor, " V"]) -> Product:
    """As float32, which is exact for sums below 2²⁴: of 2,000 products of 7 bits by 8."""
    weight = weight.float()
    return lambda whole: functional.linear(whole, weight).mul_(scale)


def by_fbgemm(weight: Int8[Tensor, "V D"], scale: Float[Tensor, " V"], zero: int) -> Product:
    """As integers, with weights in the order of FBGEMM, which AVX2 and VNNI multiply; `zero` is above all inputs."""
    packed = torch.ops.quantized.linear_prepack(with_scale(weight, scale), None)

    def product(whole: Float[Tensor, "R D"]) -> Float[Tensor, "R V"]:
        found: Tensor = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32(whole, 1.0, zero, packed)
        return found

    return product


def with_scale(weight: Int8[Tensor, "V D"], scale: Float[Tensor, " V"]) -> Tensor:
    """The tensor of torch that holds integers and the factor of each row."""
    return torch._make_per_channel_quantized_tensor(weight, scale, torch.zeros(len(weight), dtype=torch.int64), axis=0)


@cache
def let_torch_warn_unseen() -> None:
    """Makes such a tensor, since torch warns once in a process that they may be removed one day."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with_scale(torch.zeros(1, 1, dtype=torch.int8), torch.ones(1))
