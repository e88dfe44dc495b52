"""How does the close of a month look over HTTP?"""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal

from pydantic import Field

from api.schemas import Answer

_TOTALS = {"USD": {"list_cost": "0.0056", "effective_cost": "0.0056", "billed_cost": "0.0056"}}


class CloseBody(Answer):
    """Which month is closed, and what is left open in it on purpose."""

    month: str = Field(description="YYYY-MM", pattern=r"^[12][0-9]{3}-(0[1-9]|1[0-2])$", examples=["2026-07"])
    accept: list[Literal["pending_settlement", "unpriced", "exceptions", "no_charges"]] = Field(
        default=[], description="what may stay open, or that nothing was charged", examples=[["unpriced"]]
    )
    note: str = Field(default="", max_length=1000, pattern=r"^[^\x00]*$", examples=["signed off by finance"])
    dry_run: bool = Field(default=False, description="refuse what a close would refuse; close nothing")


class ClosedMonth(Answer):
    """What was noted of a month when it was closed; `tokencogs check` compares it for ever after."""

    month: date = Field(description="its first day", examples=["2026-07-01"])
    closed_at: datetime
    closed_by: str = Field(examples=["key:a1B2c3D4"])
    totals: dict[str, dict[str, str]] = Field(description="currency, then measure, exact", examples=[_TOTALS])
    coverage: dict[str, int] = Field(
        description="events by charge status, and open exceptions", examples=[{"priced": 2, "exceptions": 0}]
    )
    accepted: list[str] = Field(description="kinds that were left open on purpose")
    note: str


class LateLine(Answer):
    """What came for a closed month later, by the month that it is booked in."""

    month: date = Field(description="the closed month, its first day", examples=["2026-07-01"])
    booking_period: date = Field(description="the month in which it is booked", examples=["2026-08-01"])
    billing_currency: str = Field(examples=["USD"])
    events: int = Field(description="calls, less those taken back", examples=[3])
    effective_cost: str = Field(description="exact; below 0 where more was taken back than came", examples=["0.0084"])


class LateLines(Answer):
    lines: list[LateLine] = Field(description="by month, booking period and currency; none: nothing came later")


class ClosedMonths(Answer):
    months: list[ClosedMonth] = Field(description="the earliest first")
