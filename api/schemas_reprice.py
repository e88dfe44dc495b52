"""Which shapes do questions and answers about re-pricing have? Money is a plain decimal string; unknown is null."""

from __future__ import annotations

from pydantic import Field

from api.schemas import Answer, Money


class RepriceBody(Answer):
    """Which events are rated again, and whether the difference is booked."""

    start: str = Field(
        alias="from", description="first day in the tenant's zone, or moment with offset", examples=["2026-01-01"]
    )
    end: str = Field(alias="to", description="first day or moment after the period", examples=["2026-02-01"])
    where: str = Field(
        default="",
        description="NAME=VALUE with commas between: seller, model, user, account, feature, purpose, status",
        examples=["seller=openai,model=gpt-5.4"],
        max_length=1000,
        pattern=r"^[^\x00]*$",
    )
    apply: bool = Field(default=False, description="append correction charges; otherwise only show what would change")
    run_id: str | None = Field(
        default=None, description="name of the settlement run", max_length=200, pattern=r"^[^\x00]+$"
    )
    limit: int = Field(default=100, ge=1, le=10_000, description="at most this many lines")


class RepriceTotal(Answer):
    """Sums of all changed events of one currency."""

    billing_currency: str = Field(examples=["USD"])
    events: int
    old_list_cost: Money
    old_contracted_cost: Money
    new_list_cost: Money
    new_contracted_cost: Money
    difference: Money


class RepriceLine(Answer):
    """Events of one model, user and cause; old costs are null where there was no price, new ones where there would be none."""

    model: str
    user_id: str | None
    cause: str = Field(
        description="now_priced, back_dated_row, new_row, withdrawn_row, contract or alias", examples=["back_dated_row"]
    )
    billing_currency: str = Field(examples=["USD"])
    events: int
    old_list_cost: Money | None
    old_contracted_cost: Money | None
    new_list_cost: Money | None
    new_contracted_cost: Money | None
    difference: Money


class RepriceChange(Answer):
    """One event that would cost something else."""

    event_id: str
    occurred_at: str
    model: str
    user_id: str | None
    cause: str
    old_status: str
    new_status: str
    old_currency: str
    new_currency: str
    old_contracted_cost: Money | None
    new_contracted_cost: Money | None


class RepriceAnswer(Answer):
    """What would change, or what was booked."""

    since: str = Field(alias="from")
    until: str = Field(alias="to")
    events_read: int
    events_changed: int
    events_still_unpriced: int
    events_refused: int = Field(description="whose new cost no ledger would book; left as they are")
    totals: list[RepriceTotal]
    lines: list[RepriceLine]
    changes: list[RepriceChange] = Field(description="the first events that change, at most 100")
    run_id: str | None = Field(description="settlement run of an applied plan")
    charges: int = Field(description="lines appended")
    events_skipped: int = Field(description="changes that were not applied as their event moved meanwhile")
