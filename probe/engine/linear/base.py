"""What is a linear backend? A weight laid out for one kernel, and the call that multiplies tokens by it."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor
from torch.nn import functional

from probe.engine.errors import ProbeError
from probe.engine.native import calls, pool


class LinearError(ProbeError):
    """A weight that a backend can't hold, or a backend that this device can't run; names the weight and the value."""


class LinearBackend(ABC):
    """A weight held by one backend: `linear(x) -> x @ weight.T + bias`.

    Attributes:
        name: the weight's name in the model, for errors and ledgers.
        in_features, out_features: sizes of the matrix.
        weight_bytes: bytes that one call reads, scales and zero points included.
        dtype: of what goes in and comes out.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, name: str) -> None:
        if weight.dim() != 2:
            raise LinearError(f"{name or 'weight'}: a linear weight has 2 dimensions, got {tuple(weight.shape)}")
        self.name = name
        self.out_features, self.in_features = weight.shape
        self.dtype = weight.dtype
        self.bias = bias
        self.weight_bytes = 0

    @abstractmethod
    def __call__(self, x: Tensor) -> Tensor:
        """`x` (tokens, in_features) -> (tokens, out_features), in `x`'s dtype."""

    def gated(self, x: Tensor) -> Tensor:
        """SwiGLU of a product whose first half of outputs are the gates: (tokens, out_features / 2)."""
        both = self(x)
        if pool.takes(both) and both.shape[1] % (2 * calls.WIDTH) == 0:
            return calls.gate(both)
        gate, up = both.chunk(2, dim=-1)
        return functional.silu(gate) * up

    @abstractmethod
    def stored_weight(self) -> Tensor:
        """The weight as this backend knows it, dequantised: (out_features, in_features) in fp32."""

    def _with_bias(self, y: Tensor) -> Tensor:
        return y if self.bias is None else y + self.bias


def bytes_of(*tensors: Tensor | None) -> int:
    """Bytes that the given dense tensors hold together."""
    return sum(t.numel() * t.element_size() for t in tensors if t is not None)


def symmetric_rows(values: Tensor, largest: float) -> tuple[Tensor, Tensor]:
    """Scales each row of `values` (rows, columns) so that its largest magnitude becomes `largest`.

    Returns the scaled fp32 values and the scales (rows, 1). A row of zeros gets scale 1, so that it stays zero.
    """
    rows = values.float()
    peak = rows.abs().amax(dim=-1, keepdim=True)
    scale = torch.where(peak > 0, peak / largest, torch.ones_like(peak))
    return rows / scale, scale
