"""How are products done in eight-bit floats? e4m3 weights and tokens, scaled by row, on Hopper and newer."""

from __future__ import annotations

import torch
from torch import Tensor

from probe.engine.linear.base import LinearBackend, LinearError, bytes_of, symmetric_rows

LARGEST = 448.0  # the largest finite e4m3 value
HOPPER = (9, 0)
MULTIPLE = 16  # the CUDA kernel takes matrices whose sides divide by it


def require_fp8(device: torch.device, name: str = "fp8") -> None:
    """Raises LinearError where the device has no fp8 products. A CPU runs them, slowly: for tests, not for measurement."""
    if device.type == "cpu":
        return
    capability = torch.cuda.get_device_capability(device) if device.type == "cuda" else None
    if capability is None or capability < HOPPER:
        raise LinearError(f"{name}: fp8 with scales by row needs compute capability 9.0, {device} has {capability}")


class Fp8Linear(LinearBackend):
    """e4m3 weights by output row and e4m3 tokens by token (dynamic); sums in fp32."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None, name: str = "") -> None:
        super().__init__(weight, bias, name)
        require_fp8(weight.device, name)
        if weight.device.type == "cuda" and (self.in_features % MULTIPLE or self.out_features % MULTIPLE):
            raise LinearError(f"{name}: fp8 needs sides divisible by {MULTIPLE}, got {tuple(weight.shape)}")
        scaled, scale = symmetric_rows(weight, LARGEST)
        self.codes = scaled.to(torch.float8_e4m3fn).contiguous()
        self.scale = scale.squeeze(1)[None, :].contiguous()
        self.weight_bytes = bytes_of(self.codes, self.scale, bias)

    def __call__(self, x: Tensor) -> Tensor:
        scaled, x_scale = symmetric_rows(x, LARGEST)
        tokens = scaled.to(torch.float8_e4m3fn)
        y = torch._scaled_mm(tokens, self.codes.t(), scale_a=x_scale, scale_b=self.scale, out_dtype=torch.bfloat16)
        return self._with_bias(y.to(x.dtype))

    def stored_weight(self) -> Tensor:
        return self.codes.float() * self.scale.squeeze(0)[:, None]
