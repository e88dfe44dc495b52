"""Which priced class does a price key of genai-prices mean, and what of it can't be held?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from genai_prices.types import ModelPrice, TieredPrices

from accounting.errors import MoneyError, PriceBookError
from accounting.money import parse_unit_price
from accounting.pricing.data_files import OverlayPrice
from accounting.usage.classes import PRICED_CLASSES, UNIT_CLASSES

KeyPrices = Mapping[str, Decimal | TieredPrices]

CLASS_OF_KEY = {
    "input_mtok": "uncached_input",
    "cache_read_mtok": "cache_read",
    "cache_write_mtok": "cache_write",
    "cache_write_5m_mtok": "cache_write_5m",
    "cache_write_1h_mtok": "cache_write_1h",
    "output_mtok": "output",
    "output_reasoning_mtok": "reasoning",
    "input_audio_mtok": "audio_input",
    "cache_audio_read_mtok": "audio_cache_read",
    "output_audio_mtok": "audio_output",
    "input_image_mtok": "image_input",
    "output_image_mtok": "image_output",
    "input_video_mtok": "video_input",
    "web_searches_kcount": "web_search",
    "requests_kcount": "requests",
}

_ALL = frozenset(PRICED_CLASSES)
WITHHELD_BY_KEY = {
    # A tool with its own meter: it is no part of the tokens, which are priced right without it.
    "storage_searches_kcount": frozenset[str](),
    # Part of a class that an event can't tell apart: the class has no single price.
    "cache_image_read_mtok": frozenset({"cache_read"}),
    "output_video_mtok": frozenset({"output"}),
    "output_citation_mtok": frozenset({"output"}),
    # The model's main meter is one that no event carries: nothing of it may look priced.
    "audio_hours": _ALL,
    "input_audio_hours": _ALL,
    "input_mchars": _ALL,
    "input_document_kpages": _ALL,
    "input_annotated_document_kpages": _ALL,
    "input_text_messages_kcount": _ALL,
}
"""Key we can't hold -> classes that stay without a price where it stands. A key in neither table withholds everything."""


@dataclass
class Findings:
    """What of the source could not be taken over as it is, collected during an import.

    Attributes:
        unsupported_keys: price key that no event can carry -> number of models that state it.
        withheld: (seller, model, class, why) of classes left without a price; `*` for all classes.
        normalised: (seller, model, key, text) of prices whose digits beyond the ninth were float noise.
        skipped_variants: (seller, model, condition) of prices under conditions that no event carries.
        unpriced_models: (seller, model) with no price row at all.
    """

    unsupported_keys: Counter[str] = field(default_factory=Counter)
    withheld: set[tuple[str, str, str, str]] = field(default_factory=set)
    normalised: set[tuple[str, str, str, str]] = field(default_factory=set)
    skipped_variants: set[tuple[str, str, str]] = field(default_factory=set)
    unpriced_models: set[tuple[str, str]] = field(default_factory=set)


@dataclass(frozen=True)
class ClassPrices:
    """Prices of one row by class in `Tariff` units, as written, and the classes that must stay without any."""

    prices: dict[str, int]
    texts: dict[str, str]
    withheld: frozenset[str]


def stated(prices: ModelPrice) -> dict[str, Decimal | TieredPrices]:
    """Key -> price, of the keys that a set of prices states."""
    return {key: value for key, value in vars(prices).items() if value is not None}


def thresholds(prices: KeyPrices) -> list[int]:
    """Total-input thresholds of any key, ascending; keys of one model may differ in theirs."""
    found = {tier.start for price in prices.values() if isinstance(price, TieredPrices) for tier in price.tiers}
    if 0 in found:
        raise PriceBookError("a tier that starts at 0 tokens can't be told from the base price")
    return sorted(found)


def price_above(price: Decimal | TieredPrices, threshold: int) -> Decimal:
    """The price of a request just above a threshold (0: the base price)."""
    if not isinstance(price, TieredPrices):
        return price
    reached = [tier for tier in price.tiers if tier.start <= threshold] if threshold else []
    return reached[-1].price if reached else price.base


def class_prices(
    seller: str, model: str, prices: KeyPrices, threshold: int, overlay: Iterable[OverlayPrice], findings: Findings
) -> ClassPrices:
    """The row of one threshold: price keys as classes, completed by the overlay where the source states nothing."""
    found: dict[str, int] = {}
    texts: dict[str, str] = {}
    withheld: set[str] = set()
    for key, value in prices.items():
        price = price_above(value, threshold)
        if key not in CLASS_OF_KEY:
            classes = _withheld_by(key, price, prices, threshold)
            withheld |= classes
            findings.withheld |= {(seller, model, name, key) for name in (("*",) if classes == _ALL else classes)}
            continue
        token_class, text = CLASS_OF_KEY[key], f"{price:f}"
        try:
            found[token_class] = unit_price(token_class, price)
        except MoneyError:
            withheld.add(token_class)
            findings.withheld.add((seller, model, token_class, f"{key}={text}: more than 9 decimals"))
            continue
        texts[token_class] = text
        if -int(price.as_tuple().exponent) > 9:
            findings.normalised.add((seller, model, key, text))
    for entry in overlay:
        if entry.fits(seller, model) and entry.token_class not in found:
            found[entry.token_class] = unit_price(entry.token_class, Decimal(entry.price))
            texts[entry.token_class] = entry.price
    kept = {token_class: price for token_class, price in found.items() if token_class not in withheld}
    return ClassPrices(kept, {name: texts[name] for name in kept}, frozenset(withheld))


def unit_price(token_class: str, price: Decimal) -> int:
    """`Tariff` unit of a price per million tokens, or per thousand of a unit class."""
    return parse_unit_price(price, token_class) * (1_000_000 // UNIT_CLASSES.get(token_class, 1_000_000))


def _withheld_by(key: str, price: Decimal, prices: KeyPrices, threshold: int) -> frozenset[str]:
    if key == "cache_image_read_mtok" and price == price_above(prices["cache_read_mtok"], threshold):
        return frozenset()  # Cached images cost what cached text costs: nothing has to be told apart.
    return WITHHELD_BY_KEY.get(key, _ALL)
