"""What is one dated price row, and what identifies it?"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import cached_property

from accounting.errors import PriceBookError
from accounting.usage.classes import FALLBACKS, PRICED_CLASSES

DEFAULT_TIER = "default"
DECIDED_BY = ("total_input", "uncached_input", "output", "total")
"""Which tokens of a request may decide a threshold."""

_OPERATORS = (">", ">=")


@dataclass(frozen=True)
class Tariff:
    """All prices of one seller for one model under one set of conditions.

    Attributes:
        seller: who sends the bill, as the price list names it.
        model: the price list's name of the model.
        prices: priced class -> whole number of 10^-15 currency units for one token or one unit. For a token class this is the
            price per million tokens in 10^-9 units; for a unit class the price per thousand in 10^-12 units.
        fallbacks: priced class without a price of its own -> the class of this row whose price it takes. A class in neither
            mapping can't be priced: a quantity of it leaves the event unpriced.
        service_tier: the tier as served: `default`, `batch`, `flex`, `priority`, `fast`, ...
        above_input_tokens, operator: the row applies to a whole request whose total input, cache included, is `operator` this
            many tokens; of several such rows the highest counts. 0 is the base row, which needs no condition.
        decided_by: which tokens are compared with the threshold: `total_input` (cache included), `uncached_input`, `output`, or
            `total`, which is total input and output.
        window_start, window_end: UTC times of day, half-open; the window wraps midnight where the end is not after the start.
            Both None: all day.
        effective_from, effective_until: UTC instants, half-open. `effective_from` None: the source states no start;
            `effective_until` None: still in force.
        currency: ISO 4217.
        tenant: None for a list price.
        surface: the surface (endpoint) it holds on; None: every surface that has no row of its own.
        region: the region or residency it holds for, as data/regions.csv names it; None: every region that has no row of its own.
        derived_from: `sku_price_id` of the list row that a contract's rules made this row from; None for a row stated by itself.
        price_texts: the prices as the source wrote them, by class.
        source, source_version: where the row comes from.
        checked_on: when someone compared it with the seller's page; None where the source does not say.
        created_by, approved_by: who entered the row and who approved it; None where it came with the source.
    """

    seller: str
    model: str
    prices: Mapping[str, int]
    fallbacks: Mapping[str, str] = field(default_factory=dict)
    service_tier: str = DEFAULT_TIER
    above_input_tokens: int = 0
    operator: str = ">"
    window_start: time | None = None
    window_end: time | None = None
    effective_from: datetime | None = None
    effective_until: datetime | None = None
    currency: str = "USD"
    tenant: str | None = None
    surface: str | None = None
    price_texts: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    source_version: str = ""
    checked_on: date | None = None
    region: str | None = None
    decided_by: str = DECIDED_BY[0]
    derived_from: int | None = None
    created_by: str | None = None
    approved_by: str | None = None

    def __post_init__(self) -> None:
        for name in ("prices", "fallbacks", "price_texts"):
            object.__setattr__(self, name, dict(sorted(getattr(self, name).items())))
        if fault := next(_faults(self), None):
            raise PriceBookError(f"tariff of {self.seller} for {self.model}, {self.service_tier}: {fault}")

    @cached_property
    def hash(self) -> str:
        """SHA-256, in hex, of what decides which requests the row prices and at what; the same on every machine.

        Left out are the end of validity, which a successor sets without changing this price, and where the row was read.
        """
        content = {
            "tenant": self.tenant,
            "seller": self.seller,
            "surface": self.surface,
            "model": self.model,
            "service_tier": self.service_tier,
            "above_input_tokens": self.above_input_tokens,
            "operator": self.operator,
            "window": [_text(self.window_start), _text(self.window_end)],
            "effective_from": _text(self.effective_from),
            "currency": self.currency,
            "prices": dict(self.prices),
            "fallbacks": dict(self.fallbacks),
        }
        # Conditions that came later are named only where a row has them, so that ids given before stay what they are.
        if self.region is not None:
            content["region"] = self.region
        if self.decided_by != DECIDED_BY[0]:
            content["decided_by"] = self.decided_by
        return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    @cached_property
    def sku_price_id(self) -> int:
        """The first 63 bits of the hash: fits a signed 64-bit column. 0 is never a row, it stands for none."""
        return int(self.hash[:16], 16) >> 1

    @property
    def sku_price_text(self) -> str:
        """How the id is written outside: 16 hex digits."""
        return format_sku(self.sku_price_id)


@dataclass(frozen=True)
class Alias:
    """An exact name, lower case, under which a seller's model may be logged.

    Attributes:
        model: `Tariff.model` of that seller's rows.
        source: who says that the name means this model.
        checked_on: when that was looked up; None where the source does not say.
    """

    seller: str
    alias: str
    model: str
    source: str
    checked_on: date | None = None
    tenant: str | None = None


def format_sku(sku_price_id: int) -> str:
    """16 hex digits of a price row's id."""
    return format(sku_price_id, "016x")


def fallbacks_for(priced: Mapping[str, int], withheld: frozenset[str] = frozenset()) -> dict[str, str]:
    """Class without a price -> class whose price it takes (accounting/usage/classes.py, FALLBACKS).

    Args:
        priced: classes with a price of their own.
        withheld: classes that must stay without any price, as the source states one that can't be held.
    """
    found: dict[str, str] = {}
    for token_class, candidates in FALLBACKS.items():
        if token_class in priced or token_class in withheld:
            continue
        for candidate in candidates:
            if candidate in withheld:
                break
            if candidate in priced:
                found[token_class] = candidate
                break
    return found


def _faults(row: Tariff) -> Iterator[str]:
    yield from (f"unknown token class {name!r}" for name in (*row.prices, *row.fallbacks) if name not in PRICED_CLASSES)
    if not row.prices:
        yield "no price at all"
    for token_class, price in row.prices.items():
        if isinstance(price, bool) or not isinstance(price, int) or not 0 <= price < 1 << 62:
            yield f"price of {token_class} is {price!r}; a whole number from 0 below 2^62 is expected"
    for token_class, used in row.fallbacks.items():
        if used not in row.prices or token_class in row.prices:
            yield f"fallback {token_class} -> {used}: the first must be without, the second with a price"
    if row.operator not in _OPERATORS or row.above_input_tokens < 0:
        yield f"above_input_tokens {row.operator} {row.above_input_tokens} is no condition"
    if row.decided_by not in DECIDED_BY or (row.decided_by != DECIDED_BY[0] and not row.above_input_tokens):
        yield f"decided_by {row.decided_by!r} is no condition of a row above {row.above_input_tokens} tokens"
    yield from (
        f"{name} is an empty text; None is every one" for name in ("surface", "region") if getattr(row, name) == ""
    )
    if row.derived_from is not None and row.tenant is None:
        yield "a list row is derived from no other"
    if (row.window_start is None) != (row.window_end is None):
        yield "a window needs a start and an end"
    for moment in (row.effective_from, row.effective_until):
        if moment is not None and moment.utcoffset() != timedelta(0):
            yield f"{moment} is not UTC"
    if row.effective_from is not None and row.effective_until is not None and row.effective_until <= row.effective_from:
        yield f"ends at {row.effective_until}, not after its start {row.effective_from}"


def _text(moment: datetime | time | None) -> str | None:
    return None if moment is None else moment.isoformat()
