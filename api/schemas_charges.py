"""Which shape have single lines of the ledger over HTTP?"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from api.schemas import Answer, Money


class ChargeParameters(Answer):
    """Which lines are wanted; an unknown name is refused."""

    start: str = Field(alias="from", description="first day in `tz`, or moment with offset", examples=["2026-02-01"])
    end: str = Field(alias="to", description="first day or moment after it", examples=["2026-03-01"])
    tz: str | None = Field(
        default=None, description="IANA zone; default: the tenant's reporting zone", examples=["UTC"]
    )
    filter: list[str] = Field(
        default=[],
        description="`name:value`, as often as wanted; `name:` chooses lines without it",
        examples=[["model:gpt-4o"]],
    )
    order: Literal["cost", "time"] = Field(default="cost", description="cost: dearest first; time: newest first")
    limit: int = Field(default=100, ge=1, le=1000, description="lines of a page")
    cursor: str | None = Field(default=None, description="`next` of the page before")


class ChargeLine(Answer):
    """One ledger line; costs are null where unknown. Corrections and settlement are lines of their own."""

    charge_id: str = Field(examples=["req-1:0"])
    subject_kind: str = Field(description="event, pool_hour, contract_month or fee", examples=["event"])
    subject_id: str = Field(examples=["req-1"])
    occurred_at: str = Field(examples=["2026-02-10T09:30:00Z"])
    charge_status: str = Field(examples=["priced"])
    category: str = Field(examples=["Usage"])
    class_: str | None = Field(alias="class", description="null or Correction")
    supersedes: str | None
    seller: str = Field(examples=["openai"])
    model: str = Field(examples=["gpt-4o"])
    purpose: str = Field(examples=["production"])
    user_id: str | None
    account_id: str | None
    feature: str | None
    deployment: str | None
    events: int
    uncached_input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    list_cost: Money | None
    contracted_cost: Money | None
    effective_cost: Money | None
    billed_cost: Money | None
    billing_currency: str = Field(examples=["USD"])
    basis: str = Field(examples=["price_list"])
    policy: str | None
    quality: str | None
    reason: str | None = Field(description="why there is no cost, or why the line was made")


class ChargePage(Answer):
    charges: list[ChargeLine]
    next: str | None = Field(description="cursor of the next page; null on the last")
