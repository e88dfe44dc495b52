"""Which device is this, and how fast does it copy?"""

from __future__ import annotations

import platform
import time
from typing import Any

import torch


def about(device: torch.device) -> dict[str, Any]:
    """Names and versions that a figure is worth nothing without."""
    result: dict[str, Any] = {"torch": torch.__version__, "device": str(device), "machine": platform.machine()}
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        result |= {
            "name": properties.name,
            "memory_bytes": properties.total_memory,
            "processors": properties.multi_processor_count,
            "capability": list(torch.cuda.get_device_capability(device)),
            "cuda": torch.version.cuda,
        }
    return result


def synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def copy_bandwidth(device: torch.device, num_bytes: int, repeats: int = 10) -> float:
    """GB/s of a copy of `num_bytes`, bytes read and written counted; the best of `repeats`."""
    source = torch.ones(num_bytes // 4, dtype=torch.float32, device=device)
    target = torch.empty_like(source)
    best = float("inf")
    for _ in range(repeats):
        synchronise(device)
        begun = time.perf_counter()
        target.copy_(source)
        synchronise(device)
        best = min(best, time.perf_counter() - begun)
    return 2 * source.numel() * 4 / best / 1e9
