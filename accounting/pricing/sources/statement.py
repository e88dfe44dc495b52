"""What does a source state, and what of it can't be held? The form in which every reader answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from accounting.errors import MoneyError
from accounting.money import parse_amount
from accounting.pricing.genai_prices_keys import unit_price
from accounting.pricing.tariff import Alias, Tariff, fallbacks_for
from accounting.usage.classes import PRICED_CLASSES, UNIT_CLASSES


@dataclass
class SourceFindings:
    """What of a source was not taken over as it is, by name.

    Attributes:
        keys: price key that is not held -> number of models that state it.
        withheld: (model, class or `*`, why) of classes left without a price.
        models: model -> why nothing of it is held.
        names: name -> why it is no name of one model.
        free: models whose every token price is 0: such a row holds only once a person approves it.
    """

    keys: Counter[str] = field(default_factory=Counter)
    withheld: set[tuple[str, str, str]] = field(default_factory=set)
    models: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    free: set[str] = field(default_factory=set)

    def to_json(self) -> dict[str, object]:
        return {
            "keys": {key: models for key, models in sorted(self.keys.items()) if models},
            "withheld": [list(one) for one in sorted(self.withheld)],
            "models": dict(sorted(self.models.items())),
            "names": dict(sorted(self.names.items())),
            "free": sorted(self.free),
        }


@dataclass(frozen=True)
class Statement:
    """One reading of a source.

    Attributes:
        source: its short name, one of data/price_sources.csv.
        source_version: what the source calls this version.
        rows: list rows; without `effective_from` where the source does not date them.
        whole: whether the source states all its prices each time.
    """

    source: str
    source_version: str
    rows: Sequence[Tariff]
    aliases: Sequence[Alias]
    findings: SourceFindings
    whole: bool = True


@dataclass
class ClassPrices:
    """Prices of one row while it is put together: class -> decimal text per million tokens or thousand units."""

    model: str
    findings: SourceFindings
    prices: dict[str, int] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    withheld: set[str] = field(default_factory=set)

    def state(self, token_class: str, text: str, key: str) -> None:
        """Takes a price over; one with more digits than the scale, or another one for the same class, withholds the class."""
        try:
            price = unit_price(token_class, parse(text))
        except MoneyError as error:
            self.withhold(token_class, f"{key}={text}: {error.reason}")
            return
        if self.prices.setdefault(token_class, price) != price:
            self.withhold(token_class, f"{key}={text}: another key states {self.texts[token_class]}")
            return
        self.texts.setdefault(token_class, text)

    def withhold(self, token_class: str, why: str) -> None:
        """Leaves a class without any price, `*` all of them."""
        self.findings.withheld.add((self.model, token_class, why))
        self.withheld |= set(PRICED_CLASSES) if token_class == "*" else {token_class}

    @property
    def held(self) -> dict[str, int]:
        return {name: price for name, price in self.prices.items() if name not in self.withheld}

    def row(self, **conditions: object) -> Tariff | None:
        """The row, None where no token price is left."""
        prices = self.held
        if not any(name not in UNIT_CLASSES for name in prices):
            return None
        return Tariff(
            model=self.model,
            prices=prices,
            fallbacks=fallbacks_for(prices, frozenset(self.withheld)),
            price_texts={name: text for name, text in self.texts.items() if name in prices},
            **conditions,  # type: ignore[arg-type]
        )


def parse(text: str) -> Decimal:
    """Exactly what the text says. Raises MoneyError."""
    return parse_amount(text, "price")


def is_free(row: Tariff) -> bool:
    """Whether all its token prices are 0, which some tables write for a price they do not know."""
    return not any(price for name, price in row.prices.items() if name not in UNIT_CLASSES)
