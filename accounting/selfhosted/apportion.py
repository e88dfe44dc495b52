"""How is an amount split over many weights, exactly? Largest remainder like `money.split`, on columns.

An exact quota is total * weight / pool, products of up to 2^120. Its floor is found by a float estimate, which is off by at most one, and
the remainder total * weight - floor * pool in wrapping 64-bit arithmetic, which is right because it is small. What is too large for that
is worked out in Python's integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from accounting.errors import MoneyError
from accounting.selfhosted.arrays import Ints

_WEIGHT_LIMIT, _POOL_LIMIT, _AMOUNT_LIMIT = 1 << 50, 1 << 61, 1 << 62


def apportion(total: int, weights: Ints, ids: npt.NDArray[Any], row: Ints | None = None) -> npt.NDArray[Any]:
    """Parts of `total` in proportion to `weights` (not negative, not all 0); they add up to it exactly. Ties to the smaller id.

    `row`: which of the ids each weight has; None: one each, in order. Returns int64, or Python integers (dtype object) where a part
    may leave int64. A negative total is split by its magnitude.
    """
    pool = sum(_sums(weights)) if weights.size else 0
    if weights.size and int(weights.min()) < 0:
        raise MoneyError("weights", int(weights.min()), "weights are not negative")
    if pool == 0:
        raise MoneyError("weights", pool, f"nothing to share {total} by: the weights add up to 0")
    magnitude = abs(total)
    whole, rest = divmod(magnitude, pool)
    largest = int(weights.max())
    if largest < _WEIGHT_LIMIT and pool < _POOL_LIMIT and (whole + 1) * largest < _AMOUNT_LIMIT:
        floors, remainders = _quotas(whole, rest, weights, pool)
        parts: npt.NDArray[Any] = floors
    else:
        pairs = [divmod(magnitude * weight, pool) for weight in weights.tolist()]
        parts = np.array([floor for floor, _ in pairs], dtype=object)
        remainders = np.array([remainder for _, remainder in pairs], dtype=object)
    left = magnitude - sum(int(part) for part in _sums(parts))
    parts[_largest(remainders, left, ids, row)] += 1
    return parts if total >= 0 else -parts


def split_signed(total: int, weights: Sequence[int], pool: int) -> list[int]:
    """Parts of `total` by weights of either sign that add up to `pool`: floors, then one unit each to the largest remainders.

    For the terms of a bill, of which the gap may be negative. Ties to the earlier term.
    """
    if sum(weights) != pool or pool <= 0:
        raise MoneyError("weights", list(weights), f"terms that add up to {pool} are expected")
    pairs = [divmod(total * weight, pool) for weight in weights]
    parts = [floor for floor, _ in pairs]
    for at in sorted(range(len(parts)), key=lambda at: -pairs[at][1])[: total - sum(parts)]:
        parts[at] += 1
    return parts


def _quotas(whole: int, rest: int, weights: Ints, pool: int) -> tuple[Ints, Ints]:
    """Floors and remainders of (whole * pool + rest) * weight / pool."""
    guess = (weights * (rest / pool)).astype(np.int64)
    remainders = weights * np.int64(rest) - guess * np.int64(
        pool
    )  # Wraps, and comes back: the true value is within two pools.
    low, high = remainders < 0, remainders >= pool
    guess += high.astype(np.int64) - low
    remainders += pool * (low.astype(np.int64) - high)
    return guess + whole * weights, remainders


def _sums(parts: npt.NDArray[Any]) -> list[Any]:
    """Sums that can't wrap: the halves of 32 bits apart."""
    if parts.dtype == object:
        return [parts.sum()]
    return [int((parts >> 32).sum()) << 32, int((parts & 0xFFFFFFFF).sum())]


def _largest(remainders: npt.NDArray[Any], left: int, ids: npt.NDArray[Any], row: Ints | None) -> Ints:
    """Places of the `left` largest remainders; among equal ones those of the smallest ids."""
    if left == 0:
        return np.zeros(0, np.int64)
    edge = np.partition(remainders, remainders.size - left)[remainders.size - left]
    above, equal = np.flatnonzero(remainders > edge), np.flatnonzero(remainders == edge)
    missing = left - above.size
    if missing < equal.size:
        tied = ids[equal if row is None else row[equal]]
        equal = equal[np.argsort(tied, kind="stable")[:missing]]
    return np.concatenate([above, equal])
