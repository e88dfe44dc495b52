"""Which linear backend does a run use? The one named, or the fastest exact one of the device and dtype."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from probe.engine.interfaces import LinearFactory
from probe.engine.linear.base import LinearBackend, LinearError
from probe.engine.linear.fp8 import Fp8Linear, require_fp8
from probe.engine.linear.int4 import Int4Linear
from probe.engine.linear.int8 import Int8Linear
from probe.engine.linear.packed import PackedLinear, packing_available
from probe.engine.linear.panels import PanelLinear, fits
from probe.engine.linear.plain import PlainLinear
from probe.engine.linear.w8a8 import W8A8Linear

QUANTISED: dict[str, Callable[[Tensor, Tensor | None, str], LinearBackend]] = {
    "int8": Int8Linear,
    "int4": Int4Linear,
    "w8a8": W8A8Linear,
    "fp8": Fp8Linear,
}
WEIGHTS = ("none", *QUANTISED)


def linear_factory(quantization: str = "none", device: str | torch.device = "cpu") -> LinearFactory:
    """The factory of one run. `quantization` is one of WEIGHTS; "none" keeps each weight's own dtype.

    Dense bf16 weights on a CPU lie as its fastest kernel reads them; everything else dense is plain. A quantised run keeps
    the output head and MoE routers dense, as published checkpoints do: a wrong expert costs more than the bytes save.

    Errors: LinearError for an unknown name, or a device without the kernel.
    """
    if quantization not in WEIGHTS:
        raise LinearError(f"quantization must be one of {', '.join(WEIGHTS)}, got {quantization!r}")
    if quantization == "fp8":
        require_fp8(torch.device(device))

    def make(weight: Tensor, bias: Tensor | None = None, name: str = "") -> LinearBackend:
        if quantization == "none" or kept_dense(name):
            return dense_linear(weight, bias, name)
        return QUANTISED[quantization](weight, bias, name)

    return make


def dense_linear(weight: Tensor, bias: Tensor | None = None, name: str = "") -> LinearBackend:
    """bf16 on a CPU: in panels where numba is, else packed where oneDNN can; else plain. fp32 stays plain: there packing changes sums and
    gains little."""
    if fits(weight):
        return PanelLinear(weight, bias, name)
    if weight.device.type == "cpu" and weight.dtype == torch.bfloat16 and packing_available():
        return PackedLinear(weight, bias, name)
    return PlainLinear(weight, bias, name)


def kept_dense(name: str) -> bool:
    """Whether a weight of this name stays in its dtype in a quantised run."""
    return name.endswith(("lm_head", "lm_head.weight", "router", "router.weight", "mlp.gate", "mlp.gate.weight"))
