"""How are products done in integers? Weights and tokens both in int8, the tokens' scales found in each call."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from probe.engine.linear.base import LinearBackend, LinearError, bytes_of, symmetric_rows

LARGEST = 127.0
CUDA_ROWS = 32  # the CUDA kernel refuses 16 rows or fewer
MULTIPLE = 8  # and matrices whose sides don't divide by it


class W8A8Linear(LinearBackend):
    """int8 weights by row, int8 tokens by token (dynamic), int32 sums: y = (q_x @ q_w.T) * s_x * s_w."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None, name: str = "") -> None:
        super().__init__(weight, bias, name)
        if weight.device.type == "cuda" and (self.in_features % MULTIPLE or self.out_features % MULTIPLE):
            raise LinearError(f"{name}: w8a8 on CUDA needs sides divisible by {MULTIPLE}, got {tuple(weight.shape)}")
        scaled, scale = symmetric_rows(weight, LARGEST)
        self.codes = scaled.round().to(torch.int8).contiguous()
        self.scale = scale.squeeze(1)
        self.weight_bytes = bytes_of(self.codes, self.scale, bias)

    def __call__(self, x: Tensor) -> Tensor:
        scaled, x_scale = symmetric_rows(x, LARGEST)
        sums = _int_product(scaled.round().to(torch.int8), self.codes)
        return self._with_bias((sums.float() * x_scale * self.scale).to(x.dtype))

    def stored_weight(self) -> Tensor:
        return self.codes.float() * self.scale[:, None]


def _int_product(tokens: Tensor, codes: Tensor) -> Tensor:
    """`tokens` (n, in) int8 times `codes` (out, in) int8 -> (n, out) int32, exact."""
    count = tokens.shape[0]
    if tokens.device.type != "cuda" or count >= CUDA_ROWS:
        return torch._int_mm(tokens, codes.t())
    padded = functional.pad(tokens, (0, 0, 0, CUDA_ROWS - count))
    return torch._int_mm(padded, codes.t())[:count]
