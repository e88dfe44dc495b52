"""What did an hour of each pool cost by its schedule, and what did held capacity cost that nobody was scheduled on?

bill of an hour = sum over replicas of GPUs x part of the hour x the rate in force then. What held capacity (reserved, owned) costs in the
hour is whole units, shared by GPU-time among the pools and the part not scheduled; all else is exact until the pool's hour is rounded,
once, half to even. Units left over go to the largest remainders, ties to the smaller id, the unused part last. So a term's hours, used
and unused, add up to its amount.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm

from accounting.money import split
from accounting.selfhosted.pool import HOUR_US
from accounting.selfhosted.rates import GpuRate, Held, versions
from accounting.selfhosted.schedule import Scheduled, within

NO_RATE = "no_rate"
RATE_NOT_IN_FORCE = "rate_not_in_force"
OVERCOMMITTED = "rate_overcommitted"
POOL_NOT_IN_FORCE = "pool_not_in_force"
OTHER_CURRENCY = "other_currency"


@dataclass(frozen=True)
class Part:
    """What one rate adds to a bill. Attributes: gpu_us: GPU-microseconds; amount: units of 10^-18."""

    rate_id: str
    kind: str
    gpu_us: int
    amount: int


@dataclass(frozen=True)
class PoolBill:
    """One hour of a pool. Attributes: amount: units of 10^-18, the sum of its parts; gpu_us: GPU-microseconds scheduled."""

    pool_id: str
    hour_us: int
    amount: int
    billing_currency: str
    gpu_us: int
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Unused:
    """Held capacity that no pool was scheduled on in an hour."""

    rate_id: str
    hour_us: int
    amount: int
    billing_currency: str
    gpu_us: int


@dataclass(frozen=True)
class Missing:
    """A pool hour whose cost is not known: no bill, never 0. Attributes: detail: the rate, replica or currency it is about."""

    pool_id: str
    hour_us: int
    reason: str
    detail: str


@dataclass(frozen=True)
class HourBills:
    bills: list[PoolBill]
    unused: list[Unused]
    missing: list[Missing]


@dataclass
class _Hour:
    """What is known of one hour so far, by (pool, rate). Attributes: held: units; running: exact; gpu_us: GPU-microseconds."""

    start_us: int
    currencies: Mapping[str, str]
    held: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    running: dict[tuple[str, str], Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    gpu_us: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    missing: dict[str, Missing] = field(default_factory=dict)
    unused: list[Unused] = field(default_factory=list)

    def miss(self, pool_id: str, reason: str, detail: str) -> None:
        """The first reason of a pool stays."""
        self.missing.setdefault(pool_id, Missing(pool_id, self.start_us, reason, detail))


def bill_hour(
    hour_us: int,
    scheduled: Iterable[Scheduled],
    rates: Mapping[str, Sequence[GpuRate]],
    currencies: Mapping[str, str],
) -> HourBills:
    """The bills of the hour that begins at `hour_us`.

    Args:
        scheduled: stretches of all pools; held capacity is shared, so none may be left out.
        rates: rate_id -> its versions in force, in any order.
        currencies: pool -> currency of its bills.
    """
    stretches = within(scheduled, hour_us, hour_us + HOUR_US)
    dated = {rate_id: versions(rates[rate_id]) for rate_id in sorted(rates)}
    hour = _Hour(hour_us, currencies)
    for one in stretches:
        _note_unknown(hour, one, dated)
    for rate_id, held in dated.items():
        _charge(hour, rate_id, held, [one for one in stretches if one.rate_id == rate_id and one.gpus is not None])
    kinds = {rate_id: held[0].rate.kind for rate_id, held in dated.items() if held}
    bills = [
        _bill(hour, pool_id, kinds) for pool_id in sorted({one.pool_id for one in stretches} - hour.missing.keys())
    ]
    return HourBills(bills, hour.unused, [hour.missing[pool_id] for pool_id in sorted(hour.missing)])


def _note_unknown(hour: _Hour, one: Scheduled, dated: Mapping[str, Sequence[Held]]) -> None:
    """Why the cost of a stretch is not known, where it is not."""
    if one.gpus is None:
        hour.miss(one.pool_id, POOL_NOT_IN_FORCE, one.replica)
        return
    if one.rate_id is None:
        hour.miss(one.pool_id, NO_RATE, one.replica)
        return
    at = one.start_us
    for version in dated.get(one.rate_id, ()):
        if version.start_us <= at and (version.end_us is None or version.end_us > at):
            at = one.end_us if version.end_us is None else version.end_us
    if at < one.end_us:
        hour.miss(one.pool_id, RATE_NOT_IN_FORCE, one.rate_id)


def _charge(hour: _Hour, rate_id: str, dated: Sequence[Held], ours: Sequence[Scheduled]) -> None:
    """Adds what one rate costs in the hour, version by version."""
    left_us, left_amount = 0, 0
    for version in dated:
        start = max(version.start_us, hour.start_us)
        stop = min(version.end_us or hour.start_us + HOUR_US, hour.start_us + HOUR_US)
        if start >= stop:
            continue
        rate, there = version.rate, within(ours, start, stop)
        by_pool: dict[str, int] = defaultdict(int)
        for one in there:
            by_pool[one.pool_id] += one.gpu_us
        for pool_id, gpu_us in by_pool.items():
            hour.gpu_us[pool_id, rate_id] += gpu_us
            hour.running[pool_id, rate_id] += rate.running() * gpu_us / HOUR_US
            if rate.billing_currency != hour.currencies[pool_id]:
                hour.miss(pool_id, OTHER_CURRENCY, rate.billing_currency)
        if not rate.held:
            continue
        if _overcommitted(rate.gpus, there):
            for pool_id in by_pool:
                hour.miss(pool_id, OVERCOMMITTED, rate_id)
            continue
        idle_us = rate.gpus * (stop - start) - sum(by_pool.values())
        *shares, idle = _split(rate.held_until(stop) - rate.held_until(start), by_pool, idle_us)
        left_us, left_amount = left_us + idle_us, left_amount + idle
        for pool_id, units in zip(sorted(by_pool), shares, strict=True):
            hour.held[pool_id, rate_id] += units
    if left_us:
        hour.unused.append(Unused(rate_id, hour.start_us, left_amount, dated[0].rate.billing_currency, left_us))


def _bill(hour: _Hour, pool_id: str, kinds: Mapping[str, str]) -> PoolBill:
    mine = sorted(rate_id for pool, rate_id in hour.gpu_us if pool == pool_id)
    spread = _rounded([hour.running[pool_id, rate_id] for rate_id in mine], mine)
    parts = tuple(
        Part(rate_id, kinds[rate_id], hour.gpu_us[pool_id, rate_id], hour.held[pool_id, rate_id] + units)
        for rate_id, units in zip(mine, spread, strict=True)
    )
    amount, gpu_us = sum(part.amount for part in parts), sum(part.gpu_us for part in parts)
    return PoolBill(pool_id, hour.start_us, amount, hour.currencies[pool_id], gpu_us, parts)


def _overcommitted(gpus: int, there: Sequence[Scheduled]) -> bool:
    """Whether more GPUs are scheduled at some instant than there are."""
    return any(
        sum(other.gpus or 0 for other in there if other.start_us <= one.start_us < other.end_us) > gpus for one in there
    )


def _split(total: int, by_pool: Mapping[str, int], idle_us: int) -> list[int]:
    """Units of held capacity by pool in order of their ids, and last the unused part."""
    weights = [*(by_pool[pool_id] for pool_id in sorted(by_pool)), idle_us]
    return split(total, weights, [f"{place:09d}" for place in range(len(weights))])


def _rounded(amounts: Sequence[Fraction], ids: Sequence[str]) -> list[int]:
    """The sum rounded once, half to even, and each amount's part of it."""
    total = sum(amounts, Fraction(0))
    if not total:
        return [0] * len(amounts)
    scale = lcm(*(amount.denominator for amount in amounts))
    return split(round(total), [int(amount * scale) for amount in amounts], ids)
