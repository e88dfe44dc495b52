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
        if bias is not None and bias.dtype != weight.dtype:
            raise LinearError(f"{name}: a bias of {weight.dtype} is expected, got {bias.dtype}")
        self.weight_bytes = bytes_of(weight, bias)
        self.bias = None if bias is None else bias.contiguous()
        self._panels = calls.panels(weight)

    def __call__(self, x: Tensor) -> Tensor:
        return calls.product(self._checked(x), self._panels, self.bias, self.out_features)

    def _checked(self, x: Tensor) -> Tensor:
        """The kernel is given an address: what else stood there would become numbers."""
        if x.dtype != torch.bfloat16 or x.shape[1:] != (self.in_features,):
            raise LinearError(
                f"{self.name}: tokens of bf16 by {self.in_features} are expected, got {tuple(x.shape)} of {x.dtype}"
            )
        return x

    def gated(self, x: Tensor) -> Tensor:
        if self.out_features % (2 * pool.COLUMNS):
            return super().gated(x)
        return calls.product(self._checked(x), self._panels, self.bias, self.out_features, gated=True)

    def stored_weight(self) -> Tensor:
        rows = self._panels.transpose(1, 2).reshape(-1, self.in_features // 2)
        return rows[: self.out_features].contiguous().view(torch.bfloat16).float()
