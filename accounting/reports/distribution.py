"""How uneven are amounts: percentiles, Lorenz curve, Gini, shares of the heaviest, and the curve of cumulative profit? Pure."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from accounting.errors import InvalidInput

TOPS = (1, 5, 10)
PERCENTILES = (50, 90, 95, 99)


def nearest_rank(ascending: Sequence[int], percent: int) -> int:
    """The smallest value that at least `percent` of all values do not exceed: an amount that somebody has, never between two."""
    if not ascending or not 0 < percent <= 100:
        raise InvalidInput("percent", percent, f"from 1 to 100 of at least one value; there are {len(ascending)}")
    return ascending[rank(len(ascending), percent) - 1]


def rank(count: int, percent: int) -> int:
    """percent of count, rounded up, from 1."""
    return max(-(-count * percent // 100), 1)


def gini(ascending: Sequence[int]) -> Fraction | None:
    """Gini coefficient of amounts that are not negative: 0 all equal, near 1 one has all; None where they add up to 0.

    G = 2 * sum(i * x_i) / (n * sum(x)) - (n + 1) / n, i the place from 1 in ascending order.
    """
    count, whole = len(ascending), sum(ascending)
    if not whole or (ascending and ascending[0] < 0):
        return None
    weighted = sum(place * amount for place, amount in enumerate(ascending, start=1))
    return Fraction(2 * weighted, count * whole) - Fraction(count + 1, count)


def top_share(ascending: Sequence[int], percent: int) -> Fraction | None:
    """Part of the sum that the heaviest `percent` have, their number rounded up; None where the sum is 0."""
    whole = sum(ascending)
    return Fraction(sum(ascending[-rank(len(ascending), percent) :]), whole) if whole else None


def cumulative_shares(values: Sequence[int], counts: Sequence[int]) -> list[Fraction | None]:
    """Sum of the first `count` values, as a part of the whole sum, for each of the counts; None where the whole is 0.

    With amounts ascending it is the Lorenz curve; with margins descending the heavy-user curve, which rises above 1 where some lose money.
    """
    whole = sum(values)
    if not whole:
        return [None] * len(counts)
    sums = [0, *accumulate(values)]
    return [Fraction(sums[count], whole) for count in counts]
