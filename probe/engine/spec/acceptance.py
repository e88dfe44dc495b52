"""How many tokens does a step give at a stated acceptance?"""

from __future__ import annotations


def expected_tokens_per_step(alpha: float, k: int) -> float:
    """(1 - alpha^(k + 1)) / (1 - alpha): tokens a step emits if each draft is kept with probability alpha (Leviathan, eq. 1)."""
    if not 0.0 <= alpha <= 1.0:
        raise ValueError(f"alpha: {alpha} is not in [0, 1]")
    if k < 0:
        raise ValueError(f"k: {k} is negative")
    return k + 1.0 if alpha == 1.0 else (1 - alpha ** (k + 1)) / (1 - alpha)
