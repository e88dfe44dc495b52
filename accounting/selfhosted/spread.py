"""How does an imported amount become hours: which of them does its period touch, and what does each cost?

An amount of one hour, or of a part of one, is that hour's. One of a longer period (a day, a month) is split over its hours by the
GPU-time that the pool's schedule has in them, in whole units of 10^-18 by largest remainder, ties to the earlier hour. Amounts of one
pool and period are added exactly and rounded once, half to even. Hours of such a period without GPU-time cost nothing: what an earlier
import of it gave them is in the others now.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from accounting.money import LINE_SCALE, split
from accounting.selfhosted.pool import HOUR_US
from accounting.selfhosted.schedule import Scheduled, within

NOT_SCHEDULED = "not_scheduled"
NEGATIVE = "negative"
_UNIT: int = 10**LINE_SCALE


@dataclass(frozen=True)
class ImportedCost:
    """One amount of a biller's file.

    Attributes:
        pool_id: whom it is for; of unused capacity, the commitment's id.
        start_us, end_us: microseconds since 1970, half-open.
        amount: currency units; may be negative, as corrections are.
        gpu_us: GPU-microseconds where the file says; None: not said.
        label: the biller's own resource, or "".
        line: where it stands in the file, from 1.
    """

    pool_id: str
    start_us: int
    end_us: int
    amount: Fraction
    gpu_us: int | None
    label: str
    line: int


@dataclass(frozen=True)
class HourCost:
    """What an hour of a pool cost. Attributes: amount: units of 10^-18; parts: by label, adding up to it; gpu_us: None where unknown;
    empty: named by a longer period alone, which has no GPU-time in it."""

    pool_id: str
    hour_us: int
    amount: int
    gpu_us: int | None
    parts: dict[str, int]
    empty: bool = False


@dataclass(frozen=True)
class Unplaced:
    """Amounts that no hour could take. Attributes: reason: not_scheduled (a longer period without any GPU-hour to split it by), or
    negative (an hour below 0); lines: of the file."""

    pool_id: str
    start_us: int
    reason: str
    amount: Fraction
    lines: tuple[int, ...]


def spread(costs: Iterable[ImportedCost], scheduled: Sequence[Scheduled]) -> tuple[list[HourCost], list[Unplaced]]:
    """Hours of pools, in order, and what has no place. `scheduled`: stretches of the pools over all periods."""
    groups: dict[tuple[str, int, int, str], list[ImportedCost]] = defaultdict(list)
    for one in costs:
        groups[one.pool_id, one.start_us, one.end_us, one.label].append(one)
    by_pool: dict[str, list[Scheduled]] = defaultdict(list)
    for stretch in scheduled:
        by_pool[stretch.pool_id].append(stretch)
    parts: dict[tuple[str, int], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    said: dict[tuple[str, int], list[int | None]] = defaultdict(list)
    lines: dict[tuple[str, int], list[int]] = defaultdict(list)
    named: set[tuple[str, int]] = set()
    unplaced: list[Unplaced] = []
    for (pool_id, start, end, label), rows in sorted(groups.items()):
        total = sum((row.amount for row in rows), Fraction(0))
        shares = _shares(round(total * _UNIT), start, end, by_pool[pool_id])
        if shares is None:
            unplaced.append(Unplaced(pool_id, start, NOT_SCHEDULED, total, tuple(row.line for row in rows)))
            continue
        named |= {(pool_id, hour) for hour in shares}
        for hour, units in shares.items():
            if units is None:
                continue
            parts[pool_id, hour][label] += units
            lines[pool_id, hour] += [row.line for row in rows]
            said[pool_id, hour] += [row.gpu_us if len(shares) == 1 else None for row in rows]
    hours = []
    for (pool_id, hour), labels in sorted(parts.items()):
        amount, known = sum(labels.values()), said[pool_id, hour]
        if amount < 0:
            numbers = tuple(sorted(set(lines[pool_id, hour])))
            unplaced.append(Unplaced(pool_id, hour, NEGATIVE, Fraction(amount, _UNIT), numbers))
            continue
        stated = None if None in known else sum(one for one in known if one is not None)
        gpu_us = _scheduled_us(by_pool[pool_id], hour) if stated is None else stated
        hours.append(HourCost(pool_id, hour, amount, gpu_us, dict(labels)))
    hours += [HourCost(pool_id, hour, 0, 0, {}, empty=True) for pool_id, hour in sorted(named - parts.keys())]
    return hours, unplaced


def _shares(units: int, start: int, end: int, scheduled: Sequence[Scheduled]) -> dict[int, int | None] | None:
    """Hour -> its units, None of one without GPU-time; None where nothing says how to split a longer period."""
    first = start - start % HOUR_US
    if end <= first + HOUR_US:
        return {first: units}
    hours = range(first, end, HOUR_US)
    weights = [
        sum(one.gpu_us for one in within(scheduled, max(hour, start), min(hour + HOUR_US, end))) for hour in hours
    ]
    if not sum(weights):
        return None
    shares = split(units, weights, [f"{place:09d}" for place in range(len(weights))])
    return {hour: share if weight else None for hour, share, weight in zip(hours, shares, weights, strict=True)}


def _scheduled_us(scheduled: Sequence[Scheduled], hour: int) -> int | None:
    """What the schedule has of an hour; None where it has nothing, or a stretch whose GPUs nobody knows."""
    there = within(scheduled, hour, hour + HOUR_US)
    return sum(one.gpu_us for one in there) if there and all(one.gpus is not None for one in there) else None
