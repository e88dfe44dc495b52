"""How does a CPU multiply any number of tokens by a dense weight? By a kernel of our own (`../native`), from the layout that it reads."""

from __future__ import annotations

import torch
from torch import Tensor

from probe.engine.linear.base import LinearBackend, LinearError, bytes_of
from probe.engine.native import calls, pool


def fits(weight: Tensor) -> bool:
    """Whether the kernel can take this weight [out, in]: bf16 on a CPU with numba, columns in pairs."""
    return pool.takes(weight) and weight.shape[1] % 2 == 0


class PanelLinear(LinearBackend):
    """bf16 on a CPU; `fits(weight)` must hold. A token gets the same bits with whomever it comes."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None, name: str = "") -> None:
        super().__init__(weight, bias, name)
        if not fits(weight):
            raise LinearError(
                f"{name}: panels need bf16 on a CPU, numba and an even number of columns, "
                f"got {weight.dtype} on {weight.device}, {self.in_features} columns"
            )
        self.weight_bytes = bytes_of(weight, bias)
        self.bias = None if bias is None else bias.contiguous()
        self._panels = calls.panels(weight)

    def __call__(self, x: Tensor) -> Tensor:
        return calls.product(x, self._panels, self.bias, self.out_features)

    def gated(self, x: Tensor) -> Tensor:
        if self.out_features % (2 * calls.COLUMNS):
            return super().gated(x)
        return calls.product(x, self._panels, self.bias, self.out_features, gated=True)

    def stored_weight(self) -> Tensor:
        rows = self._panels.transpose(1, 2).reshape(-1, self.in_features // 2)
        return rows[: self.out_features].contiguous().view(torch.bfloat16).float()
