"""Which shape does an answer about the impact of prices have? Money is a plain decimal string; unknown is null."""

from __future__ import annotations

from pydantic import Field

from api.schemas import Answer, Money


class ImpactCosts(Answer):
    """Cost of the affected events as booked, and under the prices asked about."""

    billing_currency: str = Field(examples=["USD"])
    events: int
    cost_now: Money
    cost_then: Money
    difference: Money
    difference_percent: str | None = Field(description="of the cost now; null where that is 0", examples=["-12.5"])


class ImpactLine(ImpactCosts):
    feature: str | None = Field(examples=["chat"])
    plan: str = Field(description="`none` without a subscription, `several` with more than one", examples=["pro"])


class ImpactAnswer(Answer):
    """What would change, by feature and plan, largest difference first."""

    since: str = Field(alias="from", examples=["2026-10-01T00:00:00Z"])
    until: str = Field(alias="to", examples=["2026-10-31T00:00:00Z"])
    events_read: int
    events_affected: int
    events_unpriced: int = Field(description="affected events without a cost on either side")
    lines: list[ImpactLine]
    totals: list[ImpactCosts]
    warnings: list[str] = Field(description="what the figures assume")
