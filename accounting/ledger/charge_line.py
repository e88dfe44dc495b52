"""What is a ledger line that settlement appends?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection

from accounting.tenant import TenantContext


@dataclass(frozen=True, kw_only=True)
class NewCharge:
    """A ledger line that a settler yields.

    Attributes:
        charge_id: the same for the same subject, policy and part of it, in every run.
        subject_kind, subject_id, subject_revision: event, pool_hour, contract_month or fee; its key; of an event its revision.
        charge_period_start: UTC, the quarter hour it was incurred in; booking_period: first day of the month it is booked in.
        category, class_: FOCUS; class_ is None or Correction. supersedes: charge_id of the line it corrects.
        charge_status: priced, unpriced or pending_settlement.
        events ... output_tokens: signed counts. list_cost ... billed_cost: currency units, None where not priced.
        direct_cost, fully_loaded_cost: the other two bases of a line of a pool, whose effective cost is attributed; None elsewhere.
        basis, policy, quality, sku_price_id, list_sku_price_id, reason: what made the cost.
        details: JSON of the derivation of a pool's line.
    """

    charge_id: str
    subject_kind: str
    subject_id: str
    charge_period_start: datetime
    booking_period: date
    category: str
    charge_status: str
    seller: str
    model: str
    purpose: str
    billing_currency: str
    basis: str
    subject_revision: int | None = None
    class_: str | None = None
    supersedes: str | None = None
    account_id: str | None = None
    user_id: str | None = None
    feature: str | None = None
    deployment: str | None = None
    events: int = 0
    uncached_input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    list_cost: Decimal | None = None
    contracted_cost: Decimal | None = None
    effective_cost: Decimal | None = None
    billed_cost: Decimal | None = None
    policy: str | None = None
    quality: str | None = None
    sku_price_id: int | None = None
    list_sku_price_id: int | None = None
    reason: str | None = None
    direct_cost: Decimal | None = None
    fully_loaded_cost: Decimal | None = None
    details: dict[str, Any] | None = None


Settler = Callable[[Connection, TenantContext], Iterable[NewCharge]]
"""Yields the lines that bring the ledger to what it should be; lines already there are left out when they are appended."""
