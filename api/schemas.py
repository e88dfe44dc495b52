"""Which shapes do answers and JSON bodies have? Names are those of the domain; money is a plain decimal string."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Money = Annotated[str, Field(pattern=r"^-?\d+(\.\d+)?$", examples=["0.00125"])]
"""Currency units as a plain decimal, never with an exponent."""

UnitPrice = Annotated[str, Field(pattern=r"^-?\d+(\.\d+)?$", examples=["2.5"])]


class Answer(BaseModel):
    """What every answer and body has in common: no field beyond those named."""

    model_config = ConfigDict(extra="forbid")


class Problem(Answer):
    """Every error: the class of what went wrong, and the field and value at fault where there is one."""

    error: str = Field(examples=["InvalidInput"])
    field: str | None = Field(examples=["tz"])
    value: str | None = Field(examples=["Mars/Olympus"])
    message: str = Field(examples=["tz='Mars/Olympus': is no IANA time zone"])


class ConflictRow(Answer):
    """An event whose id is known with another body; the first stays."""

    index: int = Field(description="position in the body, from 0")
    event_id: str
    reason: str


class RejectedRow(Answer):
    """A row that was not kept."""

    index: int = Field(description="position in the body, from 0")
    event_id: str | None
    field: str
    value: str | None
    reason: str


class IngestAnswer(Answer):
    """What became of the rows of a body: accepted + duplicates + conflicts + rejected = rows sent."""

    accepted: int
    duplicates: int
    conflicts: list[ConflictRow]
    rejected: list[RejectedRow]

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "example": {
                "accepted": 1,
                "duplicates": 0,
                "conflicts": [],
                "rejected": [
                    {
                        "index": 1,
                        "event_id": "req-2",
                        "field": "usage.output_tokens",
                        "value": "-5",
                        "reason": "Expected `int` >= 0",
                    }
                ],
            }
        },
    )


class VoidBody(Answer):
    """Why an event is undone."""

    reason: str = Field(min_length=1, max_length=1000, pattern=r"^[^\x00]*$", examples=["logged twice under two ids"])


class Corrected(Answer):
    """The newest revision of an event, and the ledger lines that it reversed."""

    event_id: str = Field(examples=["req-1"])
    revision: int = Field(examples=[1])
    status: str = Field(examples=["void"])
    reversed_charge_ids: list[str] = Field(examples=[["req-1:0"]])


class Component(Answer):
    """One token class of a charge; prices are per million tokens, per thousand for counted things."""

    model_config = ConfigDict(extra="allow")

    token_class: str = Field(examples=["uncached_input"])
    quantity: int = Field(examples=[1000])
    list_unit_price: UnitPrice
    effective_unit_price: UnitPrice
    effective_cost: Money


class Charge(Answer):
    """What an event costs and by which price; costs are null where it is not priced, and `reason` then says why."""

    model_config = ConfigDict(extra="allow")

    event_id: str = Field(examples=["req-1"])
    status: str = Field(examples=["priced"])
    billing_currency: str | None = Field(examples=["USD"])
    list_cost: Money | None
    contracted_cost: Money | None
    effective_cost: Money | None
    billed_cost: Money | None
    components: list[Component]
    sku_price_id: str | None = Field(examples=["0f3a5c7788990011"])
    effective_from: str | None = Field(examples=["2024-08-06T00:00:00Z"])
    basis: str | None = Field(examples=["price_list"])


class ReportParameters(Answer):
    """What can be asked of a report; an unknown name is refused."""

    start: str = Field(alias="from", description="first day in `tz`, or moment with offset", examples=["2026-02-01"])
    end: str = Field(alias="to", description="first day or moment after it", examples=["2026-03-01"])
    tz: str | None = Field(
        default=None, description="IANA zone; default: the tenant's reporting zone", examples=["UTC"]
    )
    group_by: str | None = Field(default=None, description="names with commas between; default: the report's own")
    limit: int | None = Field(default=None, description="at most this many detail rows; totals stay whole")
    currency: str | None = Field(
        default=None,
        description="ISO 4217 code: all amounts in this currency, each day at its own rate; default: a block a billing currency",
        examples=["EUR"],
    )
    filter: list[str] = Field(
        default=[],
        description="`name:value`, as often as wanted, where the report filters; `name:` chooses usage without it",
        examples=[["model:gpt-4o"]],
    )
    format: Literal["json", "csv", "html", "xlsx"] = "json"


class ReportEntry(Answer):
    """One report that can be asked for."""

    name: str = Field(examples=["cost-of-revenue"])
    description: str
    group_by: list[str] = Field(examples=[["month", "seller", "model"]])
    filters: list[str] = Field(description="names of its filters", examples=[["model"]])
    converts: bool = Field(description="whether it can be asked for in one currency")


class ReportList(Answer):
    reports: list[ReportEntry]


class PlanBody(Answer):
    """A plan's name on reports; the key is in the path."""

    display_name: str | None = Field(default=None, description="default: the key", examples=["Pro"])
    kind: str | None = Field(
        default=None, description="flat, per_seat, usage, credits, free or trial; default: flat", examples=["per_seat"]
    )
    acquisition_cost: str | None = Field(
        default=None, description="what winning one subscriber costs; plain decimal", examples=["120.00"]
    )


class Plan(Answer):
    plan: str = Field(examples=["pro"])
    display_name: str = Field(examples=["Pro"])
    kind: str = Field(examples=["flat"])
    acquisition_cost: Money | None


class PlanList(Answer):
    plans: list[Plan]


class SubscriptionBody(Answer):
    """What one user pays for one plan, from which reporting day until which; the key is in the path."""

    plan: str = Field(examples=["pro"])
    user_id: str = Field(examples=["user-17"])
    account_id: str | None = None
    monthly_price: str = Field(description="plain decimal; a JSON number is refused", examples=["20.00"])
    billing_currency: str | None = Field(default=None, description="default: the tenant's")
    starts_on: str = Field(examples=["2026-02-10"])
    ends_on: str | None = Field(default=None, description="first day that earns nothing; null: still running")
    quantity: int = Field(default=1, description="seats, each at the price")
    interval_months: int = Field(default=1, description="months paid at once")
    comped: bool = Field(default=False, description="used, never paid")
    trial_until: str | None = Field(default=None, description="first day that is paid for; null: the first day is")
    revenue_from: str = Field(
        default="price", description="price: monthly_price; plan: its dated price; lines: invoices alone"
    )


class Subscription(Answer):
    subscription_id: str = Field(examples=["sub-17"])
    plan: str = Field(examples=["pro"])
    user_id: str = Field(examples=["user-17"])
    account_id: str | None
    monthly_price: Money
    billing_currency: str = Field(examples=["USD"])
    starts_on: str = Field(examples=["2026-02-10"])
    ends_on: str | None
    quantity: int = Field(examples=[1])
    interval_months: int = Field(examples=[1])
    comped: bool = Field(examples=[False])
    trial_until: str | None
    revenue_from: str = Field(examples=["price"])


class SubscriptionList(Answer):
    subscriptions: list[Subscription]


class Health(Answer):
    status: str = Field(examples=["ok"])
