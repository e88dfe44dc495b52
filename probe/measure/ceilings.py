"""How many bytes and operations a second does the device reach at best: what is a measured step to be held against?"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from probe.gpu.device import synchronise

# Nominal bytes a second and dense bf16 operations a second of one device, from the makers' data sheets (without sparsity).
_PEAKS = {
    "H200 NVL": (4.8e12, 835e12),
    "H200": (4.8e12, 989e12),
    "H100 PCIe": (2.0e12, 756e12),
    "H100 NVL": (3.9e12, 835e12),
    "H100": (3.35e12, 989e12),
    "A100-SXM4-80GB": (2.039e12, 312e12),
    "A100 80GB PCIe": (1.935e12, 312e12),
    "A100": (1.555e12, 312e12),
    "L40S": (0.864e12, 362e12),
}


@dataclass(frozen=True)
class Measured:
    """What own tests reached: reading one large array; multiplying large matrices in the model's dtype."""

    measured_bytes_per_second: float
    measured_flops: float


def nominal_peaks(name: str, dtype: str) -> tuple[float, float] | None:
    """(bytes, operations) a second of a GPU by its name; None where it isn't known. float32 has no peak here: kernels may use TF32."""
    if dtype != "bfloat16":
        return None
    return next((peaks for part, peaks in _PEAKS.items() if f" {part}" in f" {name}"), None)  # no GH200 is an H200


def measure_ceilings(device: torch.device, dtype: torch.dtype, megabytes: int = 256, width: int = 1024) -> Measured:
    """The best of several repeats of each: noise only slows. `megabytes` must be larger than any cache."""
    # Summed in float32: in other types torch's sum on a CPU computes more than it reads.
    array = torch.ones(megabytes * 2**20 // 4, dtype=torch.float32, device=device)
    left, right = (torch.randn(width, width, device=device).to(dtype) for _ in range(2))
    return Measured(
        measured_bytes_per_second=megabytes * 2**20 / _best(array.sum, device),
        measured_flops=2.0 * width**3 / _best(lambda: left @ right, device),
    )


def _best(work: Callable[[], Tensor], device: torch.device, repeats: int = 7) -> float:
    work()
    best = float("inf")
    for _ in range(repeats):
        synchronise(device)
        begun = time.perf_counter()
        work()
        synchronise(device)
        best = min(best, time.perf_counter() - begun)
    return best
