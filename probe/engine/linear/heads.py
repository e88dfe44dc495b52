"""How are heads multiplied, each by a weight of its own? In bf16 on a CPU by the kernel of all products, else by torch's batched one."""

from __future__ import annotations

import torch
from torch import Tensor

from probe.engine.linear.base import LinearError, bytes_of
from probe.engine.linear.panels import fits
from probe.engine.native import calls


class HeadsLinear:
    """weight [H, out, in], never quantised: MLA's up-projections, absorbed into queries and outputs.

    Attributes: weight_bytes: bytes that one call reads.
    """

    def __init__(self, weight: Tensor, name: str) -> None:
        self.name = name
        self.heads, self.out_features, self.in_features = weight.shape
        self.weight_bytes = bytes_of(weight)
        self.dtype, self._kernel = weight.dtype, fits(weight[0])
        self._held = torch.cat([calls.panels(one) for one in weight]) if self._kernel else weight.transpose(1, 2)

    def __call__(self, x: Tensor, out: Tensor) -> None:
        """x [T, H, in] to out [T, H, out], which may be a part of wider rows."""
        wanted = (len(x), self.heads, self.in_features), (len(x), self.heads, self.out_features)
        if (
            (x.shape, out.shape) != wanted
            or {x.dtype, out.dtype} != {self.dtype}
            or {x.stride(2), out.stride(2)} != {1}
        ):
            raise LinearError(
                f"{self.name}: {wanted[0]} to {wanted[1]} of {self.dtype}, columns together, is expected, "
                f"got {tuple(x.shape)} of {x.dtype} to {tuple(out.shape)} of {out.dtype}"
            )
        if self._kernel:
            calls.products(x, self._held, out)
        else:
            out.copy_(torch.bmm(x.transpose(0, 1), self._held).transpose(0, 1))
