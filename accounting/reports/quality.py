"""What of a period's usage and revenue is not certain: without price, waiting, contradictory, late, estimated, unmatched?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Engine, text

from accounting.ledger.pending import estimates
from accounting.reports.base import Column, Footer, Node, Report, Row
from accounting.reports.coverage import read_coverage
from accounting.reports.exact import ZERO, minus, total
from accounting.reports.query import ReportQuery
from accounting.reports.reconcile import control
from accounting.revenue.lines import OWNED_LINES
from accounting.storage.engine import read_only
from accounting.storage.pools import statements
from accounting.tenant import TenantContext

NAME = "quality"
DESCRIPTION = "What is not certain: unpriced, pending, contradictory, late, estimated, unmatched; each with what to do"
GROUP_BY: tuple[str, ...] = ()
COLUMNS = (
    Column("row", "text", table=False),
    Column("billing_currency", "text"),
    Column("check", "text"),
    Column("events", "count"),
    Column("booked_amount", "money"),
    Column("estimate", "money"),
    Column("share", "percent"),
    Column("meaning", "text"),
)
NOTES = {
    "unpriced": "no price is known; in no total until one is assigned",
    "usage_missing": "the body carries no usage at all; in no total",
    "pending_settlement": "waits for the bill of its pool; in no total",
    "pending_estimate": "of what waits, what it is likely to cost by its pool's newest bill; in no total",
    "excepted": "contradicts itself; in no total until replayed or dismissed",
    "conflicts": "another body came under a known id; the first stays booked",
    "findings": "booked, but worth a look",
    "late": "booked in another month than it was incurred in, as that was closed or over; cost of it",
    "estimated": "cost of own machines whose shares rest on estimated times",
    "unmatched_revenue": "invoice lines that name neither a user nor an account; revenue of nobody",
}
_WITHOUT_COST = ("unpriced", "usage_missing", "pending_settlement", "excepted")
# By quarter hours: bookings go by UTC months, and the noon of a reporting day may lie in another one than its first hours.
_LATE = text(
    """
    SELECT billing_currency, sum(events)::bigint AS events, sum(effective_cost) AS amount FROM rollup_15m
    WHERE tenant = :tenant AND bucket >= :since AND bucket < :until
      AND booking_period <> (date_trunc('month', bucket AT TIME ZONE 'UTC'))::date
    GROUP BY 1 ORDER BY 1
    """
)
_ESTIMATED = text(
    """
    SELECT billing_currency, sum(events)::bigint AS events, sum(effective_cost) AS amount FROM charges
    WHERE tenant = :tenant AND quality = 'estimated' AND charge_period_start >= :since AND charge_period_start < :until
    GROUP BY 1 ORDER BY 1
    """
)
_UNMATCHED = text(
    f"""
    SELECT billing_currency, count(*) AS events, sum(amount) AS amount
    FROM ({OWNED_LINES} AND l.booked_at >= :since AND l.booked_at < :until) AS line
    WHERE user_id IS NULL AND account_id IS NULL AND kind <> 'payment_fee' GROUP BY 1 ORDER BY 1
    """
)
_OPEN = text(
    """
    SELECT kind, count(*) AS events FROM exceptions
    WHERE tenant = :tenant AND resolved_at IS NULL AND kind <> 'contradiction'
      AND coalesce(occurred_at, received_at) >= :since AND coalesce(occurred_at, received_at) < :until
    GROUP BY 1 ORDER BY 1
    """
)


def quality(engine: Engine, context: TenantContext, query: ReportQuery) -> Report:
    """One row a check and, where it has amounts, a currency; `events` counts calls, or invoice lines of unmatched_revenue.

    `share` is of all calls of the period, in percent. Amounts of what has no cost are None; `estimate` is in no total, and None where no
    waiting call has one. Late, estimated and unmatched_revenue are
    booked and in all totals. Periods are of any zone.
    """
    query.check_group_by(GROUP_BY)
    asked = {"tenant": context.tenant, "since": query.since, "until": query.until}
    with read_only(engine, context.tenant) as connection:
        covered = read_coverage(connection, context, query)
        opened = {row.kind: row.events for row in connection.execute(_OPEN, asked)}
        amounts = {
            "late": connection.execute(_LATE, asked).all(),
            "estimated": connection.execute(_ESTIMATED, asked).all(),
            "unmatched_revenue": connection.execute(_UNMATCHED, asked).all(),
        }
        feet = _ledger(connection, context, query)
        waiting = estimates(connection, context, list(statements(connection)), period=(query.since, query.until))
    shares = {row["status"]: row for row in covered}
    rows = [_row(name, shares[name]["events"], share=shares[name]["event_share"]) for name in _WITHOUT_COST]
    rows[3:3] = _estimates(waiting.values(), context.billing_currency)
    rows += [_row(name, opened.get(kind, 0)) for name, kind in (("conflicts", "conflict"), ("findings", "finding"))]
    for name, found in amounts.items():
        rows += [_row(name, line.events, line.amount, currency=line.billing_currency) for line in found] or [
            _row(name, 0, ZERO, currency=context.billing_currency)
        ]
    return Report(NAME, query, COLUMNS, tuple(Node(row) for row in rows), covered, feet)


def _row(check: str, events: int, amount: Decimal | None = None, share: Any = None, currency: str = "") -> Row:
    return {
        "row": "detail",
        "billing_currency": currency,
        "check": check,
        "events": events,
        "booked_amount": amount,
        "estimate": None,
        "share": share,
        "meaning": NOTES[check],
    }


def _estimates(pools: Iterable[Mapping[str, Any]], currency: str) -> list[Row]:
    """A row a currency in which something waits; its events are those that have an estimate."""
    found: dict[str, tuple[int, Decimal | None]] = {}
    for one in pools:
        if one["events"] or one["without"]:
            events, amount = found.get(one["billing_currency"], (0, None))
            more = None if one["cost"] is None else Decimal(one["cost"])
            both = amount if more is None else total(part for part in (amount, more) if part is not None)
            found[one["billing_currency"]] = events + one["events"], both
    return [
        _row("pending_estimate", events, currency=name) | {"estimate": amount}
        for name, (events, amount) in sorted((found or {currency: (0, ZERO)}).items())
    ]


def _ledger(connection: Connection, context: TenantContext, query: ReportQuery) -> list[Footer]:
    """The period's ledger total by currency, seen from charge and booking period."""
    found = control(connection, context, query)
    return [
        Footer(
            "booked_elsewhere",
            minus(ZERO, found.booked_elsewhere.get(currency, ZERO)),
            currency,
            "incurred here, booked in other months",
        )
        for currency in sorted(found.incurred)
    ]
