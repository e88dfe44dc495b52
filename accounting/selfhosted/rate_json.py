"""How does a rate look as JSON, and which rate does a JSON object state? Amounts are decimal text, moments RFC 3339."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from accounting.errors import InvalidInput
from accounting.money import format_plain, format_scaled, parse_amount
from accounting.selfhosted.rates import AMOUNTS, GpuRate

_SHOWN_DECIMALS = 9
_PLAIN = ("rate_id", "kind", "gpu", "billing_currency", "source")


def terms_json(rate: GpuRate) -> dict[str, Any]:
    """What a rate costs, without its name and dates; what it does not say is left out."""
    amounts = {name: getattr(rate, name) for name in AMOUNTS}
    return {"gpus": rate.gpus} | {name: format_plain(value) for name, value in amounts.items() if value is not None}


def rate_of(
    terms: Mapping[str, Any],
    *,
    rate_id: str,
    kind: str,
    gpu: str,
    billing_currency: str,
    effective_from: datetime,
    effective_until: datetime | None = None,
    source: str = "",
    checked_on: date | None = None,
) -> GpuRate:
    """The rate of such terms. Raises InvalidInput naming field and value; a term that is not known is refused by name."""
    for name in terms:
        if name != "gpus" and name not in AMOUNTS:
            raise InvalidInput(name, terms[name], f"is no term of a rate; known are gpus, {', '.join(AMOUNTS)}")
    amounts: dict[str, Decimal] = {
        name: parse_amount(value, name) for name, value in terms.items() if name != "gpus" and value is not None
    }
    return GpuRate(
        rate_id=rate_id,
        kind=kind,  # type: ignore[arg-type]  # checked by the class, which names the value
        gpu=gpu,
        billing_currency=billing_currency,
        effective_from=effective_from,
        effective_until=effective_until,
        gpus=terms.get("gpus", 1),
        source=source,
        checked_on=checked_on,
        **amounts,
    )


def rate_to_json(rate: GpuRate) -> dict[str, Any]:
    """All of it; `price_per_gpu_hour`: of one scheduled GPU-hour, rounded to 9 decimals, to be looked at and never booked."""
    shown: dict[str, Any] = {name: getattr(rate, name) for name in _PLAIN}
    shown |= dict.fromkeys(AMOUNTS) | terms_json(rate)
    for name in ("effective_from", "effective_until"):
        value = getattr(rate, name)
        shown[name] = None if value is None else value.isoformat().replace("+00:00", "Z")
    shown["checked_on"] = None if rate.checked_on is None else rate.checked_on.isoformat()
    rounded: Fraction = rate.per_gpu_hour() * 10**_SHOWN_DECIMALS
    return shown | {"price_per_gpu_hour": format_scaled(round(rounded), _SHOWN_DECIMALS)}
