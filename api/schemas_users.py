"""Which shapes do answers about single users have?"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from api.schemas import Answer, Money


class DaysOfUser(Answer):
    """One user's days in one currency; each list has an entry a day of `days`."""

    user_id: str = Field(examples=["user-17"])
    billing_currency: str = Field(examples=["USD"])
    effective_cost: list[Money | None] = Field(description="0 without usage, null where nothing of it is priced")
    events: list[int]


class UserDays(Answer):
    """Users by day; one without requests has no entry."""

    days: list[str] = Field(description="reporting days of the period", examples=[["2026-02-01", "2026-02-02"]])
    users: list[DaysOfUser]


class Spent(Answer):
    """What one user's requests of one kind cost."""

    feature: str | None
    model: str
    purpose: str = Field(examples=["production"])
    billing_currency: str = Field(examples=["USD"])
    effective_cost: Money | None = Field(description="null where nothing of it is priced")
    events: int
    unpriced_events: int
    pending_events: int
    tokens: int


class OneUser(Answer):
    """One user of a period."""

    user_id: str = Field(examples=["user-17"])
    margin: list[dict[str, Any]] = Field(description="the user's rows of the report `margin`, one a billing currency")
    spent: list[Spent] = Field(description="by feature, model and purpose, dearest first")
