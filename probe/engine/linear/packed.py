"""How does a CPU stream a dense weight fastest? Reordered once into oneDNN's own blocked layout.

`F.linear` reorders the weight in every call; at one token that costs as much as the product itself.
"""

from __future__ import annotations

import torch
from torch import Tensor

from probe.engine.linear.base import LinearBackend, LinearError, bytes_of


def packing_available() -> bool:
    """Whether this build of torch and this processor multiply packed bf16 weights."""
    return bool(torch._C._has_mkldnn and torch.ops.mkldnn._is_mkldnn_bf16_supported())


class PackedLinear(LinearBackend):
    """bf16 or fp32 on a CPU.

    The packed layout has been asked for one token; oneDNN takes the same layout for any number of tokens.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None = None, name: str = "") -> None:
        super().__init__(weight, bias, name)
        if weight.device.type != "cpu" or not packing_available():
            raise LinearError(f"{name}: packed weights need a CPU with oneDNN and bf16, got device {weight.device}")
        self.weight_bytes = bytes_of(weight, bias)
        # The kernel reads a bias as if it were contiguous, whatever its strides.
        self.bias = None if bias is None else bias.contiguous()
        self._packed = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), 1)

    def __call__(self, x: Tensor) -> Tensor:
        y: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._packed, self.bias, "none", [], "")
        return y

    def stored_weight(self) -> Tensor:
        dense: Tensor = self._packed.to_dense()
        return dense.float()
