"""What became of each pool's bill: direct shares, gap and idle, what is unallocated, and how well was it used?

Read from settled pool hours. bill = direct + gap + idle in every row. Underfill and what nobody logged are parts of direct, unproven work
and efficiency variance parts of the gap. Idle is time with nothing in flight; a negative gap is a curve that predicts more time than
passed, and is shown as it is. Capacity that no pool was scheduled on, and bills that have not settled, stand in sections of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, Engine, text

from accounting.errors import InvalidInput
from accounting.ledger.settlers.pool_booked import BASIS
from accounting.money import from_line
from accounting.reports.base import Column, Footer, Node, Report, Row
from accounting.reports.exact import ZERO, minus, total
from accounting.reports.pool_facts import wanted_pool
from accounting.reports.query import ReportQuery
from accounting.reports.ratios import percent_of, rounded_to
from accounting.reports.sections import Section, SectionedReport
from accounting.storage.engine import read_only
from accounting.storage.pool_bills import gpu_hours, read_bills, read_unused
from accounting.storage.pool_hours import settled_hours
from accounting.storage.pools import statements
from accounting.tenant import TenantContext

NAME = "pool-bill"
DESCRIPTION = "Each pool's bill as direct shares, gap and idle, with underfill, utilisation and calibration, by pool and hour, day or month"
GRAINS = ("hour", "day", "month")
GROUP_BY = ("pool", *GRAINS)
FILTERS = ("pool",)
_TERMS = ("bill", "direct", "gap", "idle", "unallocated_gap", "unallocated_idle", "unproven", "underfill")
_OF_LEDGERS = ("variance", "unlogged")
_COUNTS = ("requests", "charged", "unpriced", "exact", "estimated", "extrapolated")
COLUMNS = (
    Column("row", "text", table=False),
    Column("billing_currency", "text"),
    Column("pool", "text"),
    Column("period", "text"),
    Column("hours", "count"),
    Column("bill", "money", plus=("direct", "gap", "idle")),
    Column("direct", "money"),
    Column("gap", "money"),
    Column("idle", "money"),
    Column("unallocated_gap", "money", table=False),
    Column("unallocated_idle", "money", table=False),
    Column("unproven", "money", table=False),
    Column("ledger_hours", "count", table=False),
    Column("variance", "money", table=False),
    Column("unlogged", "money", table=False),
    Column("underfill", "money"),
    Column("utilisation_pct", "percent"),
    Column("calibration", "number"),
    *(Column(name, "count", table=name == "requests") for name in _COUNTS),
    Column("gap_reason", "text", table=False),
    Column("idle_reason", "text", table=False),
)
_UNUSED = (
    Column("rate", "text"),
    Column("billing_currency", "text"),
    Column("hours", "count"),
    Column("gpu_hours", "number"),
    Column("amount", "money"),
)
_WAITING = (
    Column("pool", "text"),
    Column("billing_currency", "text"),
    Column("hours", "count"),
    Column("amount", "money"),
)
OVER_PREDICTED = "the curve predicts more time than passed; measured over predicted time is the calibration"
UNPROVEN = "in part requests that failed without evidence of steps"
SLOWER = "recorded steps took longer than the curve says (efficiency variance)"
QUICKER = "recorded steps were quicker than the curve says (efficiency variance)"
HOST = "host and scheduler, interference, curve error, rework after preemption"
NO_REQUEST = "no request in flight"
NO_REPLICA = "no replica in service"
# Lines of an event may stand in any quarter of their hour.
_BOOKED = text(
    """
    SELECT billing_currency, coalesce(sum(effective_cost), 0) AS amount FROM charges
    WHERE tenant = :tenant AND basis = :basis AND deployment = ANY(:pools)
      AND charge_period_start >= :since AND charge_period_start < :until
      AND date_bin('1 hour', charge_period_start, timestamptz '2000-01-01 00:00:00+00') = ANY(:hours)
    GROUP BY 1
    """
)


def pool_bill(engine: Engine, context: TenantContext, query: ReportQuery) -> Report:
    """Rows by pool (and hour, day or month) of hours that begin in the period; one total a currency. Sections: unused, unsettled.

    With `limit` the rows left out are one row `remaining`.
    utilisation_pct, underfill: None where R* is not known for one of the hours. variance, unlogged: of the `ledger_hours`, those with a
    step ledger; None without any. Raises InvalidInput for two grains, NotFound for an
    unknown pool.
    """
    query.check_group_by(GROUP_BY)
    grains = [name for name in query.group_by if name in GRAINS]
    if len(grains) > 1:
        raise InvalidInput("group_by", ",".join(grains), "one of hour, day and month at most")
    with read_only(engine, context.tenant) as connection:
        wanted = wanted_pool(query, statements(connection))
        hours = settled_hours(connection, wanted, query.since, query.until)
        bills = read_bills(connection, query.since, query.until, wanted)
        unused = {} if wanted else read_unused(connection, query.since, query.until)
        booked = _booked(connection, context, hours)
    groups: dict[tuple[str, str, str], list[Any]] = {}
    for hour in hours:
        key = (hour.billing_currency, hour.pool_id, _period(hour.hour, grains, query))
        groups.setdefault(key, []).append(hour)
    outline, feet = [], []
    settled = {(hour.pool_id, hour.hour) for hour in hours}
    waiting = [one for key, one in bills.items() if key not in settled]
    for currency in sorted({key[0] for key in groups} | {one.billing_currency for one in waiting}):
        keys = sorted(key for key in groups if key[0] == currency)
        shown = keys[: query.limit]
        details = [Node(_row(*key, groups[key])) for key in shown]
        if left_out := [hour for key in keys[len(shown) :] for hour in groups[key]]:
            details.append(Node(_row(currency, "", "", left_out) | {"row": "remaining"}))
        mine = [hour for hour in hours if hour.billing_currency == currency]
        outline.append(Node(_row(currency, "", "", mine) | {"row": "total"}, tuple(details)))
        billed = from_line(sum(one.amount for one in bills.values() if one.billing_currency == currency))
        left = from_line(sum(one.amount for one in waiting if one.billing_currency == currency))
        feet += _footer(currency, total(hour.bill for hour in mine), billed, left, booked.get(currency, ZERO))
    sections = (
        Section(
            "unused", "Capacity nobody used", _UNUSED, _sums("rate", unused.values()), "Reserved and owned; no pool's."
        ),
        Section("unsettled", "Bills not settled yet", _WAITING, _sums("pool", waiting), "In no row above."),
    )
    return SectionedReport(NAME, query, COLUMNS, tuple(outline), [], feet, sections=sections)


def _row(currency: str, pool: str, period: str, hours: Sequence[Any]) -> Row:
    sums = {name: _sum(hours, name) for name in _TERMS}
    gap, idle, unproven = (sums[name] for name in ("gap", "idle", "unproven"))
    ledgered = [hour for hour in hours if hour.variance is not None]
    recorded = {name: _sum(ledgered, name) if ledgered else None for name in _OF_LEDGERS}
    return {
        "row": "detail",
        "billing_currency": currency,
        "pool": pool or None,
        "period": period or None,
        "hours": len(hours),
        **sums,
        "ledger_hours": len(ledgered),
        **recorded,
        "utilisation_pct": percent_of(_utilisation(hours)),
        "calibration": _calibration(hours),
        **{name: sum(getattr(hour, name) for hour in hours) for name in _COUNTS},
        "gap_reason": _gap_reason(gap, unproven, recorded["variance"]),
        "idle_reason": _idle_reason(idle, hours),
    }


def _sum(hours: Iterable[Any], name: str) -> Decimal | None:
    """None where it is not known for one of the hours."""
    values = [getattr(hour, name) for hour in hours]
    return None if None in values else total(values)


def _utilisation(hours: Sequence[Any]) -> Fraction | None:
    """Of hours together: weighted by their bills. None where one is not known, or nothing was paid."""
    paid = [hour for hour in hours if hour.bill]
    if not paid or any(hour.utilisation is None for hour in paid):
        return None
    whole = sum((Fraction(hour.bill) for hour in paid), Fraction(0))
    return sum((Fraction(hour.utilisation) * Fraction(hour.bill) for hour in paid), Fraction(0)) / whole


def _calibration(hours: Sequence[Any]) -> Decimal | None:
    """Time in flight over predicted time, of hours with shares together; below 1 the curve predicts too much."""
    shared = [hour for hour in hours if hour.calibration]
    if not shared:
        return None
    flight = sum(hour.in_flight_us for hour in shared)
    predicted = sum((Fraction(hour.in_flight_us) / Fraction(hour.calibration) for hour in shared), Fraction(0))
    return rounded_to(flight / predicted)


def _gap_reason(gap: Decimal | None, unproven: Decimal | None, variance: Decimal | None = None) -> str | None:
    if not gap:
        return None
    reasons = [OVER_PREDICTED] if gap < 0 else [HOST, *([UNPROVEN] if unproven else [])]
    if variance:
        reasons.append(SLOWER if variance > 0 else QUICKER)
    return "; ".join(reasons)


def _idle_reason(idle: Decimal | None, hours: Sequence[Any]) -> str | None:
    if not idle:
        return None
    reasons = [
        reason
        for reason, there in ((NO_REQUEST, True), (NO_REPLICA, False))
        if any(bool(hour.capacity_us) is there for hour in hours)
    ]
    return "; ".join(reasons)


def _period(hour: Any, grains: Sequence[str], query: ReportQuery) -> str:
    if not grains:
        return ""
    if grains[0] == "hour":
        return f"{hour:%Y-%m-%dT%H:%MZ}"
    return f"{hour.astimezone(query.zone):{'%Y-%m-%d' if grains[0] == 'day' else '%Y-%m'}}"


def _sums(subject: str, found: Iterable[Any]) -> tuple[Row, ...]:
    """By subject and currency; GPU-hours None where one of them is not known."""
    groups: dict[tuple[str, str], list[Any]] = {}
    for one in found:
        groups.setdefault((one.subject, one.billing_currency), []).append(one)
    return tuple(
        {
            subject: name,
            "billing_currency": currency,
            "hours": len(of),
            "gpu_hours": None if any(one.gpu_us is None for one in of) else gpu_hours(sum(one.gpu_us for one in of)),
            "amount": from_line(sum(one.amount for one in of)),
        }
        for (name, currency), of in sorted(groups.items())
    )


def _booked(connection: Connection, context: TenantContext, hours: Sequence[Any]) -> dict[str, Decimal]:
    """Currency -> what the ledger's lines of these hours add up to."""
    if not hours:
        return {}
    since, last = min(hour.hour for hour in hours), max(hour.hour for hour in hours)
    asked = {
        "tenant": context.tenant,
        "basis": BASIS,
        "pools": sorted({hour.pool_id for hour in hours}),
        "since": since,
        "until": last.replace(minute=59, second=59, microsecond=999_999),
        "hours": sorted({hour.hour for hour in hours}),
    }
    return {row.billing_currency: row.amount for row in connection.execute(_BOOKED, asked)}


def _footer(currency: str, shown: Decimal, billed: Decimal, waiting: Decimal, booked: Decimal) -> list[Footer]:
    lines = (
        ("bills_total", billed, "newest bills of pool hours in the period"),
        ("unsettled", waiting, "of these, hours that have not settled"),
        (
            "difference",
            minus(minus(shown, billed), minus(ZERO, waiting)),
            "rows and unsettled less bills; not 0: a bill came after",
        ),
        ("ledger_total", booked, "effective cost of the ledger's lines of the settled hours"),
        ("ledger_difference", minus(shown, booked), "rows less ledger; 0 or the report is wrong"),
    )
    return [Footer(name, amount, currency, note) for name, amount, note in lines]
