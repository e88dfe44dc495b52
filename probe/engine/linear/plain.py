"""How is a dense weight multiplied without preparation? By `F.linear`: cuBLAS on a GPU, oneDNN or MKL on a CPU."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from probe.engine.linear.base import LinearBackend, bytes_of


class PlainLinear(LinearBackend):
    """Any floating dtype on any device; the weight is kept as given."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None, name: str = "") -> None:
        super().__init__(weight, bias, name)
        self.weight = weight
        self.weight_bytes = bytes_of(weight, bias)

    def __call__(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight, self.bias)

    def stored_weight(self) -> Tensor:
        return self.weight.float()
