"""Which shape has the answer to "who am I"?"""

from __future__ import annotations

from pydantic import Field

from api.schemas import Answer


class Period(Answer):
    """A named period [from, to) of reporting days."""

    name: str = Field(examples=["2026-10"])
    label: str = Field(examples=["October 2026"])
    start: str = Field(serialization_alias="from", examples=["2026-10-01"])
    end: str = Field(serialization_alias="to", examples=["2026-11-01"])


class Me(Answer):
    """The holder of a key, and what its tenant has figures for."""

    tenant: str = Field(examples=["acme"])
    display_name: str = Field(examples=["Acme"])
    scope: str = Field(examples=["viewer"])
    reaches: list[str] = Field(description="scopes that this one includes", examples=[["viewer", "analyst"]])
    key_id: str = Field(examples=["a1B2c3D4"])
    reporting_tz: str = Field(examples=["UTC"])
    billing_currency: str = Field(examples=["USD"])
    billing_currencies: list[str] = Field(description="currencies of booked usage", examples=[["USD"]])
    convertible: list[str] = Field(description="currencies that reports can be asked for in", examples=[["EUR", "USD"]])
    today: str = Field(description="the reporting day now", examples=["2026-11-30"])
    first_day: str | None = Field(description="first reporting day with usage; null: none yet", examples=["2026-10-01"])
    last_day: str | None = Field(description="last reporting day with usage", examples=["2026-10-31"])
    periods: list[Period] = Field(
        description="the newest month with usage first; then other months, quarters and the days around today"
    )
