"""Which shapes do the dated rules of a tenant have: lines of purposes, and where account revenue goes?"""

from __future__ import annotations

from pydantic import Field

from api.schemas import Answer


class PurposeBody(Answer):
    """On which line of the statement the cost of a purpose stands from a day on."""

    purpose: str = Field(
        description="production, free, trial, eval, internal, training, pool_idle, pool_gap or unused_capacity",
        examples=["free"],
    )
    statement_line: str = Field(
        description="cost_of_revenue, research_and_development, sales_and_marketing or internal",
        examples=["cost_of_revenue"],
    )
    effective_from: str = Field(description="first reporting day", examples=["2026-07-01"])


class PurposeRow(PurposeBody):
    own: bool = Field(
        description="false: the default of all tenants, which an own row of an earlier or the same day replaces"
    )


class PurposeList(Answer):
    purposes: list[PurposeRow]


class AccountRuleBody(Answer):
    """Where revenue that names an account and no user goes from a day on."""

    rule: str = Field(
        description="account: it stays on the account's row; seats: equally among the account's users; use: by their requests",
        examples=["use"],
    )
    effective_from: str = Field(description="first reporting day", examples=["2026-07-01"])


class AccountRuleList(Answer):
    rules: list[AccountRuleBody] = Field(description="by day; before the first one revenue stays on the account's row")
