"""What does a GPU-hour cost, and since when: on demand, spot, reserved for a term, or owned?

Formulas: README.md, "GPU-hours". Capacity that is held (reserved or owned) costs whether it is scheduled or not; the rest costs only
while it is scheduled. Money here is whole units of 10^-18 of the currency (`money.LINE_SCALE`), exact as fractions until it is booked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Literal, get_args

from accounting.errors import InvalidInput, MoneyError
from accounting.money import LINE_SCALE
from accounting.pricing.currency_codes import currency_code
from accounting.selfhosted.pool import HOUR_US
from accounting.selfhosted.pool_settings import MOST_GPUS, interval, named, whole

Kind = Literal["on_demand", "spot", "reserved", "owned"]
HOURS_A_YEAR = 8_760
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNIT: int = 10**LINE_SCALE
_NEEDS: dict[str, tuple[str, ...]] = {
    "on_demand": ("price_per_hour",),
    "spot": ("price_per_hour",),
    "reserved": ("amount",),
    "owned": ("amount", "life_years", "power_kw", "pue", "electricity_per_kwh", "hosting_per_hour"),
}
AMOUNTS = ("price_per_hour", *_NEEDS["owned"])
"""The fields that hold exact decimals."""


@dataclass(frozen=True)
class GpuRate:
    """A dated price of GPU time. Every figure is for all of `gpus` together.

    Attributes:
        rate_id: names the series; a later `effective_from` of the same id is its next price.
        effective_from, effective_until: half-open. reserved: the term; owned: in service.
        gpus: how many the figures are for; of held capacity, how many there are.
        price_per_hour: on_demand and spot.
        amount: reserved: for the whole term, amortised straight line over it. owned: purchase price, straight line over life_years.
        life_years: years of 8,760 hours; afterwards nothing is left to depreciate.
        power_kw, pue, electricity_per_kwh: drawn while scheduled: kW x PUE x price of a kWh.
        hosting_per_hour: whether scheduled or not.
        source, checked_on: who says so, and when it was last seen.
    """

    rate_id: str
    kind: Kind
    gpu: str
    billing_currency: str
    effective_from: datetime
    effective_until: datetime | None = None
    gpus: int = 1
    price_per_hour: Decimal | None = None
    amount: Decimal | None = None
    life_years: Decimal | None = None
    power_kw: Decimal | None = None
    pue: Decimal | None = None
    electricity_per_kwh: Decimal | None = None
    hosting_per_hour: Decimal | None = None
    source: str = ""
    checked_on: date | None = None

    def __post_init__(self) -> None:
        named("rate_id", self.rate_id)
        named("gpu", self.gpu)
        if self.kind not in get_args(Kind):
            raise InvalidInput("kind", self.kind, f"one of {', '.join(get_args(Kind))} is expected")
        currency_code(self.billing_currency, "billing_currency")
        interval(self.effective_from, self.effective_until)
        whole("gpus", self.gpus, MOST_GPUS)
        for name in AMOUNTS:
            self._check(name, getattr(self, name))
        if self.kind == "reserved" and self.effective_until is None:
            raise InvalidInput("effective_until", None, "a reserved term has an end")
        for name, least in (("life_years", 0), ("pue", 1)):
            value = getattr(self, name)
            if value is not None and (value < least or value == 0):
                raise InvalidInput(name, str(value), "years above 0 are expected" if least == 0 else "is 1 or more")

    def _check(self, name: str, value: Decimal | None) -> None:
        needed = name in _NEEDS[self.kind]
        if needed != (value is not None):
            said = None if value is None else str(value)
            raise InvalidInput(
                name, said, f"{'is needed for' if needed else 'says nothing of'} a rate of kind {self.kind}"
            )
        if value is None:
            return
        if not isinstance(value, Decimal) or not value.is_finite() or value < 0:
            raise MoneyError(name, value, "a finite decimal, not negative, is expected")

    @property
    def held(self) -> bool:
        """Whether it costs also while nothing is scheduled on it."""
        return self.kind in ("reserved", "owned")

    def running(self) -> Fraction:
        """Units that one GPU costs for one scheduled hour, beside its part of what is held."""
        if self.price_per_hour is not None:
            return Fraction(self.price_per_hour) * _UNIT / self.gpus
        if self.power_kw is not None and self.pue is not None and self.electricity_per_kwh is not None:
            kwh = Fraction(self.power_kw) * Fraction(self.pue)
            return kwh * Fraction(self.electricity_per_kwh) * _UNIT / self.gpus
        return Fraction(0)

    def held_until(self, at_us: int) -> int:
        """Whole units that the held capacity cost from its beginning to a moment: the running total is rounded, half to even, so that
        the hours of a term add up to its amount exactly."""
        start = us(self.effective_from)
        end = at_us if self.effective_until is None else min(at_us, us(self.effective_until))
        passed = max(end - start, 0)
        total = Fraction(0)
        if self.amount is not None:
            total += Fraction(self.amount) * min(Fraction(passed, self._term_us()), Fraction(1))
        if self.hosting_per_hour is not None:
            total += Fraction(self.hosting_per_hour) * Fraction(passed, HOUR_US)
        return round(total * _UNIT)

    def _term_us(self) -> Fraction:
        if self.life_years is not None:
            return Fraction(self.life_years) * HOURS_A_YEAR * HOUR_US
        assert self.effective_until is not None
        return Fraction(us(self.effective_until) - us(self.effective_from))

    def per_gpu_hour(self) -> Fraction:
        """Currency units of one scheduled GPU-hour while it depreciates; what a person compares."""
        held = Fraction(0)
        if self.amount is not None:
            held += Fraction(self.amount) * HOUR_US / self._term_us()
        if self.hosting_per_hour is not None:
            held += Fraction(self.hosting_per_hour)
        return held / self.gpus + self.running() / _UNIT

    def same_terms(self, other: GpuRate) -> bool:
        """Equal but for who says so and when it was seen."""
        return all(
            getattr(self, one.name) == getattr(other, one.name)
            for one in fields(self)
            if one.name not in ("source", "checked_on")
        )


@dataclass(frozen=True)
class Held:
    """The stretch of time in which one version of a rate holds. Attributes: start_us, end_us: half-open; end None: open."""

    rate: GpuRate
    start_us: int
    end_us: int | None


def versions(rates: Sequence[GpuRate]) -> list[Held]:
    """When each version of one rate holds: to its end, or to the next version's beginning."""
    ordered = sorted(rates, key=lambda rate: rate.effective_from)
    found = []
    for at, rate in enumerate(ordered):
        ends = [] if rate.effective_until is None else [us(rate.effective_until)]
        if at + 1 < len(ordered):
            ends.append(us(ordered[at + 1].effective_from))
        found.append(Held(rate, us(rate.effective_from), min(ends, default=None)))
    return found


def us(moment: datetime) -> int:
    """Microseconds since 1970 in UTC."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def moment(at_us: int) -> datetime:
    """The moment of microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=at_us)
