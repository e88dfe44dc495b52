"""What would each tariff ask for a pool's requests? Rated by the price layer, as if they had been bought at one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from accounting.errors import InvalidInput
from accounting.money import MINOR_SCALE, exact_sum
from accounting.pricing.book import PriceBook
from accounting.pricing.layout import Ints
from accounting.pricing.rate import Rated, RateInput, rate
from accounting.pricing.reasons import REASONS
from accounting.selfhosted.rates import us
from accounting.selfhosted.workload import Workload

NO_CACHE_PRICE = "no_price_for_class:cache_read"
FRESH = "cached tokens at the price of fresh ones: the seller has none of its own"
OTHER_CURRENCY = "priced in {currency}"
_UNIT: int = 10**MINOR_SCALE


@dataclass(frozen=True)
class Offer:
    """One seller's model. Attributes: name: `seller/model`. fresh: cached tokens are priced as fresh input."""

    seller: str
    model: str
    fresh: bool = False

    @property
    def name(self) -> str:
        return f"{self.seller}/{self.model}"


def offers(book: PriceBook, model: str, named: Sequence[str], at: datetime) -> list[Offer]:
    """Offers that have a price just before `at`: of every seller that knows `model`, by its whole name or what follows its last slash, and
    those named as `seller/model`, priced or not. Raises InvalidInput for a name without a seller of the list."""
    sellers = sorted({row.seller for row in book.rows})
    names = dict.fromkeys((model, model.rsplit("/", 1)[-1]))
    asked = [Offer(seller, known) for seller in sellers for known in names]
    for name in named:
        seller, _, rest = name.partition("/")
        if seller not in sellers or not rest:
            raise InvalidInput("filter", f"model:{name}", "SELLER/MODEL is expected, the seller one of the price list")
        asked.append(Offer(seller, rest))
    if not asked:
        return []
    one = np.ones(len(asked), np.int64)
    reasons = [
        REASONS[code]
        for code in _rated(book, asked, np.arange(len(asked), dtype=np.int32), one, one, one, at).reason.tolist()
    ]
    found: dict[tuple[str, str], Offer] = {}
    for offer, reason in zip(asked, reasons, strict=True):
        key = (offer.seller, offer.model.rsplit("/", 1)[-1].lower())
        if reason in ("", NO_CACHE_PRICE) or offer.name in named:
            found.setdefault(key, Offer(offer.seller, offer.model, fresh=reason == NO_CACHE_PRICE))
    return list(found.values())


@dataclass(frozen=True)
class Quotes:
    """What offers ask for a whole workload. Attributes: cost: in the currency asked for, by name; None: not to be had. why: the reason."""

    cost: Mapping[str, Fraction | None]
    why: Mapping[str, str]


def quotes(book: PriceBook, found: Sequence[Offer], work: Workload, currency: str, at: datetime) -> Quotes:
    """Every request is rated by every offer: thresholds make costs of single requests unequal."""
    cost: dict[str, Fraction | None] = {}
    why: dict[str, str] = {}
    for offer in found:
        cached = np.zeros(len(work), np.int64) if offer.fresh else work.cached_tokens
        new = work.context_tokens - cached
        rated = _rated(book, [offer], np.zeros(len(work), np.int32), new, cached, work.output_tokens, at)
        refused = [REASONS[code] for code in np.unique(rated.reason).tolist() if code]
        priced_in = sorted(one for one in rated.currency.unique().to_pylist() if one is not None)
        cost[offer.name] = None
        if refused:
            why[offer.name] = ", ".join(refused)
        elif priced_in != [currency]:
            why[offer.name] = OTHER_CURRENCY.format(currency=", ".join(priced_in))
        else:
            cost[offer.name] = Fraction(exact_sum(rated.contracted_cost), _UNIT)
            if offer.fresh:
                why[offer.name] = FRESH
    return Quotes(cost, why)


def _rated(
    book: PriceBook,
    of: Sequence[Offer],
    which: npt.NDArray[np.int32],
    new: Ints,
    cached: Ints,
    output: Ints,
    at: datetime,
) -> Rated:
    """`which`: of each request, the place of its offer in `of`."""
    count = len(which)
    seller, model = (
        pa.DictionaryArray.from_arrays(pa.array(which), pa.array(names, pa.string()))
        for names in ([offer.seller for offer in of], [offer.model for offer in of])
    )
    return rate(
        book,
        RateInput(
            provider=seller,
            model=model,
            service_tier=pa.nulls(count, pa.string()),
            batch=None,
            occurred_at=np.full(count, us(at - timedelta(microseconds=1)), np.int64),
            quantities={"uncached_input_tokens": new, "cache_read_tokens": cached, "output_tokens": output},
        ),
    )
