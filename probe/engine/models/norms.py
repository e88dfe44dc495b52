"""How is a token normed? By RMS (arXiv:1910.07467), on a CPU by a kernel that adds what is still to be added in the same pass."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from probe.engine.native import calls, pool


def norm_of_sum(x: Tensor, delta: Tensor | None, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """x + delta [T, width], and its RMS norm times weight [width]."""
    if pool.takes(x) and x.shape[1] % calls.WIDTH == 0:
        return calls.norm_of_sum(x, delta, weight, eps)
    x = x if delta is None else x + delta
    return x, functional.rms_norm(x, x.shape[-1:], weight, eps)
