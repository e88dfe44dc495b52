"""How sure are a plan's estimates? Percentile intervals from subscribers drawn again with replacement.

Amounts are taken to 10^-6 currency units as whole numbers here, as an interval is an estimate; the estimates themselves are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from accounting.reports.distribution import PERCENTILES, TOPS, rank
from accounting.reports.subscribers import UNITS, Subscriber, Unit

SEED = 20_260_101
FEWEST = 20
"""With fewer subscribers no interval is given: they would say more about who is there than about the plan."""
LEVEL = 95
_MANY, _FEW_DRAWS, _DRAWS = 5_000, 200, 1_000
_MICRO = 10**12
_NEVER, _ALWAYS = -1, np.iinfo(np.int64).max

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Interval:
    """A 95 % interval. Attributes: low, high: None: unbounded, or not to be computed in these draws; draws: how often."""

    low: float | None
    high: float | None
    draws: int


def intervals(subscribers: Sequence[Subscriber], seed: int = SEED) -> dict[str, Interval]:
    """Estimate -> interval; empty with fewer than FEWEST subscribers.

    Names: margin_pct, loss_making_pct, net_revenue_mean, cost_mean, cost_p50, cost_p90, cost_p95, cost_p99 (10^-6 units), gini,
    top_1_pct, top_5_pct, top_10_pct, and by unit break_even_*, cap_95_*, cap_99_* (units of use).
    """
    count = len(subscribers)
    if count < FEWEST:
        return {}
    statistics = _statistics(subscribers)
    found: dict[str, list[float]] = {name: [] for name in statistics}
    for times in _drawn(count, seed):
        for name, statistic in statistics.items():
            found[name].append(statistic(times))
    return {name: _interval(np.array(values)) for name, values in found.items()}


def mean_intervals(rows: Sequence[Sequence[int]], seed: int = SEED) -> list[Interval]:
    """Interval of the mean of each column, 10^-6 units; amounts are whole numbers of 10^-18. Empty with fewer than FEWEST rows."""
    if len(rows) < FEWEST:
        return []
    amounts = np.array([_micro(row) for row in rows])
    found = np.array([times @ amounts for times in _drawn(len(rows), seed)]) / len(rows)
    return [_between(column) for column in found.T]


def _drawn(count: int, seed: int) -> Iterator[Ints]:
    """Draw after draw, how often each of `count` is in it."""
    rng = np.random.default_rng(seed)
    for _ in range(_DRAWS if count <= _MANY else _FEW_DRAWS):
        yield np.bincount(rng.integers(0, count, count), minlength=count).astype(np.int64)


def _statistics(subscribers: Sequence[Subscriber]) -> dict[str, Callable[[Ints], float]]:
    net, cost, fees = (_micro([getattr(one, name) for one in subscribers]) for name in ("net", "cost", "fees"))
    pays = np.array([not one.unpaid for one in subscribers])
    lost = np.array([one.margin < 0 for one in subscribers])
    order = np.argsort(cost, kind="stable")
    ascending = cost[order]
    result: dict[str, Callable[[Ints], float]] = {
        "margin_pct": lambda times: _ratio(100 * int(times @ (net - cost - fees)), int(times @ net)),
        "loss_making_pct": lambda times: 100 * int(times @ lost) / int(times.sum()),
        "net_revenue_mean": lambda times: int(times @ net) / int(times.sum()),
        "cost_mean": lambda times: int(times @ cost) / int(times.sum()),
        "gini": lambda times: _gini(ascending, times[order]),
    }
    for percent in PERCENTILES:
        result[f"cost_p{percent}"] = _quantile(ascending, order, percent)
    for top in TOPS:
        result[f"top_{top}_pct"] = _top(ascending[::-1], order[::-1], top)
    for unit in UNITS:
        use = np.array([one.use(unit) for one in subscribers], dtype=np.int64)
        result[f"break_even_{unit}"] = _break_even(net - fees, cost, use, pays)
        bears = np.array([_bears(one, unit) for one in subscribers], dtype=np.int64)
        best_first = np.argsort(-bears, kind="stable")
        best_first = best_first[pays[best_first]]
        for percent in (95, 99):
            result[f"cap_{percent}_{unit}"] = _cap(bears[best_first], best_first, percent)
    return result


def _bears(one: Subscriber, unit: Unit) -> int:
    bears = one.bears(unit)
    return int(_ALWAYS) if bears is None else bears


def _quantile(ascending: Ints, order: npt.NDArray[np.intp], percent: int) -> Callable[[Ints], float]:
    def of(times: Ints) -> float:
        sums = np.cumsum(times[order])
        return float(ascending[np.searchsorted(sums, -(-int(sums[-1]) * percent // 100))])

    return of


def _top(descending: Ints, order: npt.NDArray[np.intp], percent: int) -> Callable[[Ints], float]:
    def of(times: Ints) -> float:
        drawn = times[order]
        left = np.maximum(rank(int(drawn.sum()), percent) - (np.cumsum(drawn) - drawn), 0)
        return _ratio(100 * int(np.minimum(drawn, left) @ descending), int(drawn @ descending))

    return of


def _break_even(budget: Ints, cost: Ints, use: Ints, pays: npt.NDArray[np.bool_]) -> Callable[[Ints], float]:
    def of(times: Ints) -> float:
        payers = int(times @ pays)
        return _ratio(int(times @ (budget * pays)) * int(times @ use), payers * int(times @ cost))

    return of


def _cap(bears: Ints, best_first: npt.NDArray[np.intp], percent: int) -> Callable[[Ints], float]:
    def of(times: Ints) -> float:
        sums = np.cumsum(times[best_first])
        if not sums.size or not sums[-1]:
            return float("nan")
        worst = int(bears[np.searchsorted(sums, -(-int(sums[-1]) * percent // 100))])
        return float("inf") if worst == _ALWAYS else float(worst)

    return of


def _gini(ascending: Ints, times: Ints) -> float:
    count, whole = int(times.sum()), int(times @ ascending)
    if not whole:
        return float("nan")
    before = np.cumsum(times) - times
    # Places of equal values are consecutive; their sum is times * before + times * (times + 1) / 2.
    places = times * before + times * (times + 1) // 2
    # Elementwise and not a dot product: BLAS's threads wait for each other longer than this takes.
    weighted = float((places * ascending.astype(np.float64)).sum())
    return 2 * weighted / (count * whole) - (count + 1) / count


def _ratio(numerator: int, denominator: int) -> float:
    return numerator / denominator if denominator else float("nan")


def _interval(values: npt.NDArray[np.float64]) -> Interval:
    if np.isnan(values).any() or (values == _NEVER).any():
        return Interval(None, None, len(values))
    return _between(values)


def _between(values: npt.NDArray[np.float64]) -> Interval:
    tail = (100 - LEVEL) / 2
    ordered = np.sort(values)
    low, high = (
        _bound(float(ordered[min(int(len(ordered) * share / 100), len(ordered) - 1)])) for share in (tail, 100 - tail)
    )
    return Interval(low, high, len(values))


def _bound(edge: float) -> float | None:
    return None if np.isinf(edge) else edge


def _micro(amounts: Sequence[int]) -> Ints:
    return np.array([amount // _MICRO for amount in amounts], dtype=np.int64)
