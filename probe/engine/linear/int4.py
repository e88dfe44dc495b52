"""How are weights quartered? Four-bit codes with a scale and a zero point for each group of inputs."""

from __future__ import annotations

import torch
from torch import Tensor

from probe.engine.linear.base import LinearBackend, LinearError, bytes_of

GROUPS = (32, 64, 128, 256)
LEVELS = 15
MIDDLE = 8  # the kernels compute (code - 8) * scale + zero
OUTPUT_MULTIPLE = 16


class Int4Linear(LinearBackend):
    """Weight-only int4, asymmetric by group of `group_size` inputs.

    Needs out_features divisible by 16 and in_features divisible by the group size; otherwise LinearError.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None = None, name: str = "", group_size: int = 32) -> None:
        super().__init__(weight, bias, name)
        self.group_size = group_size
        self._check_shape()
        if weight.device.type == "cuda" and weight.dtype != torch.bfloat16:
            raise LinearError(f"{name}: int4 on CUDA takes bfloat16, got {weight.dtype}")
        codes, self.scale, self.zero = _groups(weight, group_size)
        self._scales_and_zeros = torch.stack([self.scale.T, self.zero.T], dim=2).contiguous()
        self._packed = _pack(codes)
        self.weight_bytes = bytes_of(self._packed, self._scales_and_zeros, bias)
        self._on_cpu = weight.device.type == "cpu"

    def __call__(self, x: Tensor) -> Tensor:
        multiply = torch._weight_int4pack_mm_for_cpu if self._on_cpu else torch._weight_int4pack_mm
        return self._with_bias(multiply(x, self._packed, self.group_size, self._scales_and_zeros))

    def stored_weight(self) -> Tensor:
        """By the kernel itself: the identity matrix gives back each column, so the packing is part of the answer."""
        eye = torch.eye(self.in_features, dtype=self.dtype, device=self.scale.device)
        multiply = torch._weight_int4pack_mm_for_cpu if self._on_cpu else torch._weight_int4pack_mm
        return multiply(eye, self._packed, self.group_size, self._scales_and_zeros).T.float()

    def _check_shape(self) -> None:
        if self.group_size not in GROUPS:
            raise LinearError(f"{self.name}: group_size must be one of {GROUPS}, got {self.group_size}")
        if self.in_features % self.group_size:
            raise LinearError(f"{self.name}: in_features {self.in_features} is no multiple of group {self.group_size}")
        if self.out_features % OUTPUT_MULTIPLE:
            raise LinearError(f"{self.name}: out_features {self.out_features} is no multiple of {OUTPUT_MULTIPLE}")


def _groups(weight: Tensor, group_size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Codes (out, in) int32 of 0..15, scales and zeros (out, groups) in the weight's dtype.

    Codes are taken against the scale and zero as they are stored, so that their rounding doesn't add an error.
    """
    rows, columns = weight.shape
    grouped = weight.float().view(rows, columns // group_size, group_size)
    low, high = grouped.amin(dim=2), grouped.amax(dim=2)
    step = torch.where(high > low, (high - low) / LEVELS, torch.ones_like(low))
    scale = step.to(weight.dtype)
    zero = (low + MIDDLE * step).to(weight.dtype)
    offset = zero.float() - MIDDLE * scale.float()
    codes = ((grouped - offset[..., None]) / scale.float()[..., None]).round().clamp(0, LEVELS)
    return codes.to(torch.int32).view(rows, columns), scale, zero


def _pack(codes: Tensor) -> Tensor:
    if codes.device.type == "cpu":
        return torch._convert_weight_to_int4pack_for_cpu(codes, 1)
    pairs = (codes[:, ::2] << 4 | codes[:, 1::2]).to(torch.uint8)
    return torch._convert_weight_to_int4pack(pairs, inner_tiles(codes.shape[1]))


def inner_tiles(columns: int) -> int:
    """Tiles of 16 inputs that the CUDA kernel reads at once, 8, 4 or 2: the most that `columns`, a multiple of 32, divides into."""
    return next(tiles for tiles in (8, 4, 2) if columns % (16 * tiles) == 0)
