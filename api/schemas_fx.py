"""How does an exchange rate look over HTTP?"""

from __future__ import annotations

from pydantic import ConfigDict, Field

from api.schemas import Answer, UnitPrice


class ExchangeRate(Answer):
    """One `from` is `rate` `to`: a rate between two currencies, with all that it was made of."""

    model_config = ConfigDict(extra="forbid", validate_by_alias=True, serialize_by_alias=True)

    from_currency: str = Field(alias="from", examples=["USD"])
    to_currency: str = Field(alias="to", examples=["EUR"])
    date: str = Field(description="the day asked for", examples=["2026-02-14"])
    rate: UnitPrice = Field(description="to 34 digits", examples=["0.8430281571404484909795987186"])
    rate_date: str = Field(description="day of publication", examples=["2026-02-13"])
    from_per_eur: UnitPrice
    to_per_eur: UnitPrice
    rule: str
    source: str
    source_version: str
