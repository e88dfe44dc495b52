"""Which shapes do prices, terms and invoice lines have?"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from api.schemas import Answer, Money


class PlanPriceBody(Answer):
    """What a plan costs from a day on; with a unit, what use it includes and what lies beyond."""

    price: str = Field(description="plain decimal, for interval_months of one seat", examples=["30.00"])
    effective_from: str = Field(examples=["2026-04-01"])
    interval_months: int = Field(default=1, examples=[1])
    unit: str | None = Field(
        default=None, description="requests or tokens; null: nothing is metered", examples=["requests"]
    )
    included_units: int = Field(default=0, description="free in each calendar month", examples=[1000])
    unit_price: str | None = Field(default=None, description="for unit_per units beyond", examples=["0.02"])
    unit_per: int = Field(default=1, examples=[1])


class PlanPrice(Answer):
    plan: str = Field(examples=["pro"])
    interval_months: int
    effective_from: str = Field(examples=["2026-04-01"])
    price: Money
    billing_currency: str = Field(examples=["USD"])
    unit: str | None
    included_units: int | None
    unit_price: Money | None
    unit_per: int | None


class PlanPriceList(Answer):
    prices: list[PlanPrice]


class TermBody(Answer):
    """Days on which a subscription is paused or discounted, half-open."""

    kind: str = Field(description="pause or coupon", examples=["coupon"])
    starts_on: str = Field(examples=["2026-04-01"])
    ends_on: str | None = Field(default=None, examples=["2026-07-01"])
    percent_off: str | None = Field(default=None, description="of the price; plain decimal", examples=["20"])
    amount_off: str | None = Field(default=None, description="off a month's price; plain decimal")


class Term(Answer):
    subscription_id: str = Field(examples=["sub-17"])
    term_id: str = Field(examples=["spring"])
    kind: str = Field(examples=["coupon"])
    starts_on: str
    ends_on: str | None
    percent_off: str | None
    amount_off: str | None


class RevenueLineBody(Answer):
    """One invoice line, discount, refund or payment fee, net of tax; days are reporting days, periods half-open."""

    line_id: str = Field(examples=["inv-7-1"])
    kind: str = Field(
        description="subscription, proration, usage, one_off, credits, discount, refund or payment_fee",
        examples=["subscription"],
    )
    amount: str = Field(description="plain decimal; discounts and refunds negative", examples=["30.00"])
    currency: str = Field(examples=["USD"])
    booked_on: str = Field(examples=["2026-04-01"])
    starts_on: str | None = Field(default=None, examples=["2026-04-01"])
    ends_on: str | None = Field(default=None, examples=["2026-05-01"])
    recognition: str | None = Field(default=None, description="day, second; packs: use, use_and_breakage")
    units: str | None = None
    unit: str | None = None
    invoice_id: str | None = None
    refers_to: str | None = Field(default=None, description="the line a refund is of")
    customer_id: str | None = None
    subscription_id: str | None = None
    user_id: str | None = Field(default=None, examples=["user-17"])
    account_id: str | None = None
    plan: str | None = None


class RevenueLine(Answer):
    """A line as it was booked; moments are RFC 3339."""

    line_id: str
    source: str
    kind: str
    amount: Money
    billing_currency: str
    booked_at: str
    starts_at: str | None
    ends_at: str | None
    recognition: str
    units: int | None
    unit: str | None
    invoice_id: str | None
    refers_to: str | None
    customer_id: str | None
    subscription_id: str | None
    user_id: str | None
    account_id: str | None
    plan: str | None


class RevenueLineList(Answer):
    lines: list[RevenueLine]


class RejectedLine(Answer):
    line: int = Field(description="place in what was sent, from 1")
    field: str
    value: Any
    reason: str


class RevenueAnswer(Answer):
    """What became of the lines sent."""

    accepted: int = Field(examples=[2])
    duplicates: int = Field(examples=[0])
    conflicts: list[str] = Field(description="known with another content; what is known stays")
    rejected: list[RejectedLine]
    skipped: dict[str, int] = Field(description="reason -> objects that book nothing")
    unmatched: list[str] = Field(description="new lines that name neither a user nor an account; they are kept")


class CustomerBody(Answer):
    """Which user or account a payment system's customer is."""

    user_id: str | None = Field(default=None, examples=["user-17"])
    account_id: str | None = None


class Customer(CustomerBody):
    customer_id: str = Field(examples=["cus_17"])
