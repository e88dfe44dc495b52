"""How does a CPU multiply few tokens by a dense weight at the speed of its memory? By rows, in a kernel of our own; many, by oneDNN.

The weight lies in memory twice, as given and in oneDNN's layout; a call reads one of them.
"""

from __future__ import annotations

import torch
from torch import Tensor

from probe.engine.linear.packed import PackedLinear
from probe.engine.native import calls, pool

_COLUMNS = 64


def streams(weight: Tensor) -> bool:
    """Whether the kernel can take this weight [out, in]: bf16, pairs of rows, columns in whole registers of both sums."""
    rows, columns = weight.shape
    return weight.dtype == torch.bfloat16 and rows % 2 == 0 and columns % _COLUMNS == 0 and pool.available()


class StreamedLinear(PackedLinear):
    """bf16 on a CPU with numba; `streams(weight)` must hold."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None, name: str = "") -> None:
        super().__init__(weight, bias, name)
        self._rows = weight.contiguous()

    def __call__(self, x: Tensor) -> Tensor:
        return calls.product(x, self._rows, self.bias) if self._few(x) else super().__call__(x)

    def gated(self, x: Tensor) -> Tensor:
        return calls.product(x, self._rows, self.bias, gated=True) if self._few(x) else super().gated(x)

    def _few(self, x: Tensor) -> bool:
        return len(x) <= pool.MOST_ROWS and pool.takes(x)
