"""Which dated rows do the conditional prices of one genai-prices model come to?

genai-prices answers "what holds at this moment": of a list of prices the last whose condition is met, then partial overrides of
the request's context. Here the same is asked once for every cell between two dates and two times of day, and equal neighbours
are joined again, so that the rows are half-open in time and no moment has two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import NamedTuple

from genai_prices.types import (
    ConditionalPrice,
    ModelInfo,
    ModelPrice,
    PriceVariant,
    StartDateConstraint,
    TieredPrices,
    TimeOfDateConstraint,
)

from accounting.errors import PriceBookError
from accounting.pricing.genai_prices_keys import Findings, KeyPrices, stated
from accounting.pricing.tariff import DEFAULT_TIER

_LONG_AGO = date(2000, 1, 1)


class Cell(NamedTuple):
    """Prices that hold for one tier from `start` until `end` (None: open), every day between two times (None: all day)."""

    service_tier: str
    start: datetime | None
    end: datetime | None
    window: tuple[time, time] | None
    prices: KeyPrices


def cells(seller: str, model: ModelInfo, findings: Findings, default_only: bool = False) -> Iterator[Cell]:
    """All cells of a model; moments for which the source states no price have none."""
    standard = _conditional(model.prices)
    tiers: dict[str, list[PriceVariant]] = {DEFAULT_TIER: []}
    for variant in [] if default_only else model.price_variants or []:
        tier = _tier_of(variant)
        if tier is None:
            findings.skipped_variants.add((seller, model.id, " ".join(f"{k}={v}" for k, v in variant.when.items())))
        else:
            tiers.setdefault(tier, []).append(variant)
    for tier, variants in tiers.items():
        yield from _tier_cells(tier, standard, variants)


def _conditional(prices: ModelPrice | list[ConditionalPrice]) -> list[ConditionalPrice]:
    return [ConditionalPrice(prices=prices)] if isinstance(prices, ModelPrice) else prices


def _tier_of(variant: PriceVariant) -> str | None:
    """Our service tier of a variant's condition; None where no event carries what it asks for."""
    if len(variant.when) != 1:
        return None
    (key, value) = next(iter(variant.when.items()))
    if (key, value) == ("service_tier", "default"):
        if stated(variant.prices):
            raise PriceBookError("a default tier with prices of its own can't be told from a request without a tier")
        return DEFAULT_TIER
    if key == "service_tier" or (key, value) in (("processing", "batch"), ("speed", "fast")):
        return value
    return None


def _tier_cells(tier: str, standard: Sequence[ConditionalPrice], variants: Sequence[PriceVariant]) -> Iterator[Cell]:
    conditions = [*(entry.constraint for entry in standard), *(entry.constraint for entry in variants)]
    starts = sorted({entry.start_date for entry in conditions if isinstance(entry, StartDateConstraint)})
    times = sorted(
        {_utc(at) for c in conditions if isinstance(c, TimeOfDateConstraint) for at in (c.start_time, c.end_time)}
    )
    days = [_LONG_AGO, *starts]
    spans = [_day_cells(tier, standard, variants, day, times) for day in days]
    at = 0
    while at < len(spans):
        until = at + 1
        while until < len(spans) and spans[until] == spans[at]:
            until += 1
        start = _midnight(days[at]) if at else None
        end = _midnight(days[until]) if until < len(days) else None
        for window, prices in spans[at]:
            yield Cell(tier, start, end, window, prices)
        at = until


def _day_cells(
    tier: str, standard: Sequence[ConditionalPrice], variants: Sequence[PriceVariant], day: date, times: Sequence[time]
) -> list[tuple[tuple[time, time] | None, KeyPrices]]:
    """The windows of one day with their prices, neighbours with equal prices joined, midnight not being a border."""
    windows: list[tuple[time, time, Mapping[str, Decimal | TieredPrices] | None]] = []
    for at, begin in enumerate(times or [time(0)]):
        prices = _in_force(tier, standard, variants, datetime.combine(day, begin, UTC))
        end = times[(at + 1) % len(times)] if times else time(0)
        if windows and windows[-1][2] == prices:
            windows[-1] = (windows[-1][0], end, prices)
        else:
            windows.append((begin, end, prices))
    if len(windows) > 1 and windows[0][2] == windows[-1][2]:
        begin = windows.pop()[0]
        windows[0] = (begin, windows[0][1], windows[0][2])
    if len(windows) == 1:
        return [] if windows[0][2] is None else [(None, windows[0][2])]
    return [((begin, end), prices) for begin, end, prices in windows if prices is not None]


def _in_force(
    tier: str, standard: Sequence[ConditionalPrice], variants: Sequence[PriceVariant], moment: datetime
) -> KeyPrices | None:
    """Prices of a tier at a moment: the last active standard prices, each key overridden by the first active variant."""
    active = [entry for entry in standard if entry.constraint is None or entry.constraint.active(moment)]
    overrides = [entry for entry in variants if entry.constraint is None or entry.constraint.active(moment)]
    if not active or (tier != DEFAULT_TIER and not overrides):
        return None
    prices = stated(active[-1].prices)
    for variant in reversed(overrides):
        prices |= stated(variant.prices)
    return prices


def _utc(at: time) -> time:
    moved = datetime.combine(date(1970, 1, 2), at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC).time()
    if moved.microsecond:
        raise PriceBookError(f"a time of day of whole seconds is expected, not {at}")
    return moved


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(0), UTC)
