"""How are weights halved? One int8 code a weight and one scale an output row; tokens stay in bf16 or fp32."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from probe.engine.linear.base import LinearBackend, bytes_of, symmetric_rows

LARGEST = 127.0


class Int8Linear(LinearBackend):
    """Weight-only int8, symmetric by row: code = round(w / s), s = max |w| of the row / 127."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None, name: str = "") -> None:
        super().__init__(weight, bias, name)
        scaled, scale = symmetric_rows(weight, LARGEST)
        self.codes = scaled.round().to(torch.int8).contiguous()
        self.scale = scale.squeeze(1).to(weight.dtype)
        self.weight_bytes = bytes_of(self.codes, self.scale, bias)

    def __call__(self, x: Tensor) -> Tensor:
        if x.device.type == "cpu":
            return self._with_bias(torch._weight_int8pack_mm(x, self.codes, self.scale))
        return self._with_bias(functional.linear(x, self.codes.to(x.dtype)) * self.scale)

    def stored_weight(self) -> Tensor:
        return self.codes.float() * self.scale.float()[:, None]
