"""Which shapes do derivations of costs have? Money is a plain decimal string; unknown is null."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from api.schemas import Answer, Money, UnitPrice
from api.schemas_explain_pool import Estimate, ExplainedPoolHour


class ExplainedCosts(Answer):
    """FOCUS's four costs, null where unknown."""

    list_cost: Money | None
    contracted_cost: Money | None
    effective_cost: Money | None
    billed_cost: Money | None


class Outcome(ExplainedCosts):
    """What the event costs, corrections included."""

    status: str = Field(examples=["priced"])
    reason: str | None = Field(description="why there is no cost", examples=["unknown_model"])
    basis: str = Field(examples=["price_list"])
    billing_currency: str = Field(examples=["USD"])
    reported_cost_usd: Money | None


class Matched(Answer):
    """How the logged names became the price list's."""

    provider: str = Field(examples=["openai"])
    seller: str = Field(examples=["openai"])
    logged_model: str = Field(examples=["gpt-5.4-2026-03-05"])
    priced_model: str | None = Field(examples=["gpt-5.4"])
    how: str | None = Field(description="exact, without date, or alias", examples=["without date"])


class ExplainedPrice(Answer):
    """A price row: its conditions, its dates, and who stated it when."""

    sku_price_id: str = Field(examples=["0f3a5c7788990011"])
    layer: str = Field(description="list or contract", examples=["list"])
    derived_from: str | None = Field(description="the list row that a contract's rule changed")
    seller: str
    model: str
    service_tier: str = Field(examples=["default"])
    surface: str | None
    region: str | None
    currency: str = Field(examples=["USD"])
    above_tokens: int | None = Field(examples=[200000])
    operator: str | None = Field(examples=[">"])
    decided_by: str | None = Field(description="which tokens decide the threshold", examples=["total_input"])
    window_start: str | None
    window_end: str | None
    effective_from: str | None = Field(examples=["2026-03-13T00:00:00Z"])
    effective_until: str | None
    source: str = Field(examples=["genai-prices"])
    source_version: str
    checked_on: str | None
    recorded_at: str | None
    created_by: str | None
    approved_by: str | None


class ExplainedConditions(Answer):
    """What of the event decided among the rows of its model."""

    service_tier: str
    surface: str | None
    region: str | None
    deciding_tokens: int
    threshold: str | None = Field(examples=["total_input 300000 > 200000"])


class ExplainedComponent(Answer):
    """One token class: quantity times price, by list and by contract."""

    token_class: str = Field(examples=["uncached_input"])
    quantity: int
    list_unit_price: UnitPrice | None
    list_cost: Money | None
    contracted_unit_price: UnitPrice
    contracted_cost: Money
    fallback: str | None = Field(description="the class whose price stands in for a missing one")


class ExplainedLine(ExplainedCosts):
    """One ledger line of the event."""

    charge_id: str = Field(examples=["req-1:0"])
    class_: str | None = Field(alias="class", description="null or Correction")
    supersedes: str | None
    charge_status: str
    reason: str | None
    run_id: str | None
    recorded_at: str | None
    sku_price_id: str | None
    billing_currency: str


class ExplainedSettlement(ExplainedCosts):
    """What a contract made of all of the day's usage of this user and model; the event is a part of it."""

    subject_id: str
    policy: str = Field(examples=["volume_tier:bulk"])
    reason: str = Field(examples=["tier"])
    category: str = Field(examples=["Usage"])
    charge_period_start: str


class Explanation(Answer):
    """The whole derivation of an event's cost."""

    event: dict[str, Any] = Field(description="the event as logged")
    outcome: Outcome
    matched: Matched
    conditions: ExplainedConditions | None
    list_price: ExplainedPrice | None
    contracted_price: ExplainedPrice | None
    components: list[ExplainedComponent]
    lines: list[ExplainedLine]
    settlement: list[ExplainedSettlement]
    pools: list[ExplainedPoolHour] = Field(description="a part each pool hour that charged the event")
    estimate: Estimate | None = Field(description="while the event waits for its pool's hour")
