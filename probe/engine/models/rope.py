"""By which angles are queries and keys turned at each position?"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from probe.engine.models.config import RopeConfig, yarn_mscale


class Rope:
    """Cosines and sines of all positions, made once. Halves are rotated against each other (x1, x2), not pairs."""

    def __init__(
        self, config: RopeConfig, dim: int, max_positions: int, dtype: torch.dtype, device: torch.device
    ) -> None:
        frequencies, factor = inverse_frequencies(config, dim)
        angles = torch.outer(torch.arange(max_positions, dtype=torch.float32), frequencies)
        self.cos = (angles.cos() * factor).to(device, dtype)
        self.sin = (angles.sin() * factor).to(device, dtype)

    def at(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """positions [T] to cos and sin [T, 1, dim / 2]."""
        return self.cos[positions].unsqueeze(1), self.sin[positions].unsqueeze(1)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x [T, heads, dim] turned by its token's angles."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def inverse_frequencies(config: RopeConfig, dim: int) -> tuple[Tensor, float]:
    """[dim / 2] and the factor of cos and sin. Sources: RoFormer; Llama 3.1's smoothed scaling; YaRN, arXiv:2309.00071."""
    plain = 1.0 / (config.rope_theta ** (torch.arange(0, dim, 2, dtype=torch.float32) / dim))
    if config.rope_type == "linear":
        return plain / config.factor, 1.0
    if config.rope_type == "llama3":
        return _llama3(config, plain), 1.0
    if config.rope_type == "yarn":
        return _yarn(config, plain, dim)
    return plain, 1.0


def _llama3(config: RopeConfig, plain: Tensor) -> Tensor:
    """Long waves are stretched, short ones stay, those between are blended."""
    low, high = config.low_freq_factor, config.high_freq_factor
    turns = config.original_max_position_embeddings * plain / (2 * math.pi)
    keep = ((turns - low) / (high - low)).clamp(0, 1)
    return (1 - keep) * plain / config.factor + keep * plain


def _yarn(config: RopeConfig, plain: Tensor, dim: int) -> tuple[Tensor, float]:
    def dimension_of(turns: float) -> float:
        return (
            dim
            * math.log(config.original_max_position_embeddings / (turns * 2 * math.pi))
            / (2 * math.log(config.rope_theta))
        )

    low, high = dimension_of(config.beta_fast), dimension_of(config.beta_slow)
    if config.truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    if low == high:
        high += 0.001
    stretch = ((torch.arange(dim // 2, dtype=torch.float32) - low) / (high - low)).clamp(0, 1)
    factor = config.attention_factor
    if factor is None and config.mscale and config.mscale_all_dim:
        factor = yarn_mscale(config.factor, config.mscale) / yarn_mscale(config.factor, config.mscale_all_dim)
    return stretch * plain / config.factor + (1 - stretch) * plain, yarn_mscale(
        config.factor
    ) if factor is None else factor
