"""How many bytes and operations a second does the device reach at best: what is a measured step to be held against?"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from probe.engine.linear.factory import dense_linear
from probe.gpu.device import synchronise


@dataclass(frozen=True)
class Measured:
    """What own tests reached: reading one large array; multiplying large matrices in the model's dtype.

    Each by torch and by the engine's own product, whichever is better: a ceiling that an engine passes makes good samples suspicious.
    """

    measured_bytes_per_second: float
    measured_flops: float


def measure_ceilings(device: torch.device, dtype: torch.dtype, megabytes: int = 256, width: int = 1024) -> Measured:
    """The best of several repeats of each: noise only slows. `megabytes` must be larger than any cache."""
    # Summed in float32: in other types torch's sum on a CPU computes more than it reads.
    array = torch.ones(megabytes * 2**20 // 4, dtype=torch.float32, device=device)
    left, right = (torch.randn(width, width, device=device).to(dtype) for _ in range(2))
    size = megabytes * 2**20
    tall = dense_linear(torch.ones(size // (width * dtype.itemsize), width, dtype=dtype, device=device))
    square = dense_linear(right)
    read = min(_best(array.sum, device), _best(lambda: tall(left[:1]), device))
    multiplied = min(_best(lambda: left @ right, device), _best(lambda: square(left), device))
    return Measured(measured_bytes_per_second=size / read, measured_flops=2.0 * width**3 / multiplied)


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
