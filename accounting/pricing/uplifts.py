"""Which rows do uplifts for a region or residency come to? A multiplier on named classes becomes dated rows of that region."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal

from accounting.errors import InvalidInput
from accounting.money import PRICE_SCALE, exact_product, format_plain, format_scaled, parse_amount, round_unit_price
from accounting.pricing.data_files import table
from accounting.pricing.tariff import Tariff
from accounting.usage.classes import PRICED_CLASSES, UNIT_CLASSES

TOKENS = "tokens"
"""Stands for all classes that are priced per million tokens."""
TOKEN_CLASSES = frozenset(PRICED_CLASSES) - frozenset(UNIT_CLASSES)


@dataclass(frozen=True)
class Uplift:
    """What a region costs more (or less) than the base rows of a model say.

    Attributes:
        region: as data/regions.csv names it.
        token_classes: whose prices are multiplied; the others keep theirs in the region too.
        multiplier: decimal text; "1.1" is 10 % more.
        effective_from, effective_until: UTC, half-open; None: as long as the base row.
        checked_on: when someone compared it with the seller's page; None where the source does not say.
    """

    seller: str
    model: str
    region: str
    token_classes: frozenset[str]
    multiplier: str
    effective_from: datetime | None
    effective_until: datetime | None
    source: str
    checked_on: date | None

    def __post_init__(self) -> None:
        if parse_amount(self.multiplier, "multiplier") <= 0:
            raise InvalidInput(
                "multiplier", self.multiplier, f"{self.seller}/{self.model}: a factor above 0 is expected"
            )
        if unknown := sorted(self.token_classes - set(PRICED_CLASSES)):
            raise InvalidInput("token_classes", unknown[0], f"{self.seller}/{self.model}: no priced class")


def stated_uplifts() -> list[Uplift]:
    """The uplifts of data/uplifts.csv."""
    return [
        Uplift(
            seller=row["seller"],
            model=row["model"],
            region=row["region"],
            token_classes=_classes(row["token_classes"]),
            multiplier=row["multiplier"],
            effective_from=_midnight(row["effective_from"]),
            effective_until=_midnight(row["effective_until"]),
            source=row["source"],
            checked_on=date.fromisoformat(row["checked_on"]),
        )
        for row in table("uplifts.csv")
    ]


def uplifted(rows: Sequence[Tariff], uplifts: Iterable[Uplift]) -> list[Tariff]:
    """The rows, and for each uplift a row of its region beside every base row of its model, at whatever tier, threshold and time of day.

    Prices are rounded half to even once, to 9 decimals; their unrounded text is kept. A model of which the rows state prices for
    the region themselves is left as it is.
    """
    of_model: dict[tuple[str, str], list[Tariff]] = {}
    for row in rows:
        of_model.setdefault((row.seller, row.model), []).append(row)
    made = list(rows)
    for uplift in uplifts:
        base = of_model.get((uplift.seller, uplift.model), [])
        if not any(row.region == uplift.region for row in base):
            made += [at for row in base if row.region is None and (at := _at_region(row, uplift)) is not None]
    return made


def _at_region(row: Tariff, uplift: Uplift) -> Tariff | None:
    starts = [moment for moment in (row.effective_from, uplift.effective_from) if moment is not None]
    ends = [moment for moment in (row.effective_until, uplift.effective_until) if moment is not None]
    start, end = max(starts, default=None), min(ends, default=None)
    if start is not None and end is not None and end <= start:
        return None
    prices, texts = multiplied_prices(row, uplift.token_classes, uplift.multiplier)
    return replace(
        row,
        region=uplift.region,
        prices=prices,
        price_texts=texts,
        effective_from=start,
        effective_until=end,
        checked_on=uplift.checked_on,
    )


def multiplied_prices(
    row: Tariff, token_classes: frozenset[str], multiplier: str
) -> tuple[dict[str, int], dict[str, str]]:
    """A row's prices, those of the named classes times the multiplier, rounded half to even once, and their unrounded texts."""
    prices, texts = dict(row.prices), dict(row.price_texts)
    for token_class in token_classes & row.prices.keys():
        step, scale = (1_000, PRICE_SCALE + 3) if token_class in UNIT_CLASSES else (1, PRICE_SCALE)
        price = exact_product([Decimal(format_scaled(row.prices[token_class], scale)), Decimal(multiplier)])
        prices[token_class], texts[token_class] = round_unit_price(price, token_class) * step, format_plain(price)
    return prices, texts


def _classes(text: str) -> frozenset[str]:
    named = set(text.split())
    if TOKENS in named:
        named |= TOKEN_CLASSES
    return frozenset(named - {TOKENS})


def _midnight(day: str) -> datetime | None:
    return datetime.combine(date.fromisoformat(day), time(0), UTC) if day else None
