"""What did each pool cost in a period, on what was its time spent, and which requests did it charge? From settled hours and their lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from sqlalchemy import Connection, Engine, text

from accounting.errors import InvalidInput, NotFound
from accounting.money import to_line
from accounting.reports.base import Column, Footer, Node, Row
from accounting.reports.exact import minus, total
from accounting.reports.query import ReportQuery
from accounting.selfhosted.curve import Curve
from accounting.selfhosted.curve_json import load_curve
from accounting.selfhosted.pool import HOUR_US
from accounting.selfhosted.pool_settings import PoolSettings, in_force
from accounting.selfhosted.spent import Spent
from accounting.selfhosted.steady import Targets
from accounting.selfhosted.what_if import Setup, notes_of
from accounting.selfhosted.workload import Workload
from accounting.storage.curves import curve_file
from accounting.storage.engine import read_only
from accounting.storage.pool_hours import settled_hours
from accounting.storage.pools import statements
from accounting.tenant import TenantContext

SEVERAL = "the pool's settings changed in the period; its last ones are used"
PARTLY = "of the period's {all} charged requests, {left} are left out of token counts: cache hits unknown, or the event is kept no more"
_HOUR = "date_bin('1 hour', {moment}, timestamptz '2000-01-01 00:00:00+00')"
_SECONDS = ("share", "prefill", "own_prefill", "own_decode", "shared", "expert")
# The newest line of a request and hour says what it consists of; one that was taken back says nothing.
_SHARES = text(
    f"""
    WITH lines AS (
      SELECT DISTINCT ON (subject_id, subject_revision, hour) subject_id, subject_revision, details
      FROM (SELECT *, {_HOUR.format(moment="charge_period_start")} AS hour FROM charges
            WHERE tenant = :tenant AND subject_kind = 'event' AND deployment = :pool AND basis = 'attributed'
              AND charge_period_start >= :since AND charge_period_start < :until) booked
      ORDER BY subject_id, subject_revision, hour, created_at DESC, charge_id DESC
    )
    SELECT subject_id, subject_revision,
           {", ".join(f"sum((details->>'{name}_seconds')::float8) AS {name}" for name in _SECONDS)},
           sum((details->>'steps')::float8) AS steps,
           sum((details->>'steps')::float8 / (details->>'mean_batch')::float8) AS step_shares
    FROM lines WHERE details->>'share_seconds' IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2
    """
)
# Read apart from the shares: joined by a planner without statistics, a month could take hours.
_TOKENS = text(
    f"""
    SELECT e.event_id, e.revision, e.cache_read_known AS known, e.cache_read_tokens AS cached, e.output_tokens AS output,
           {_HOUR.format(moment="e.occurred_at")} AS hour,
           coalesce(e.context_tokens, e.uncached_input_tokens + e.cache_read_tokens + e.cache_write_5m_tokens
             + e.cache_write_1h_tokens + e.cache_write_30m_tokens + e.cache_write_12h_tokens + e.cache_write_tokens) AS context
    FROM usage_events e
    WHERE e.tenant = :tenant AND (e.deployment = :pool OR e.prefill_deployment = :pool)
      AND e.occurred_at >= CAST(:since AS timestamptz) - interval '1 day'
      AND e.occurred_at < CAST(:until AS timestamptz) + interval '1 day'
    """
)


@dataclass(frozen=True)
class PoolFacts:
    """One pool over its settled hours of a period.

    Attributes:
        settings: of its last settled hour. curve: by which that was charged.
        bill: whole 10^-18 of its currency. hours: settled ones.
        capacity_us, idle_us: replica-microseconds paid for, and with nothing in flight.
        spent: shares of the requests charged. requests: how many. workload: their tokens; None where there are none.
        busiest: requests a second that came in, in the hour with most.
        notes: what a reader must know.
    """

    settings: PoolSettings
    curve: Curve
    bill: int
    hours: int
    capacity_us: int
    idle_us: int
    spent: Spent
    requests: int
    workload: Workload | None
    busiest: float
    notes: tuple[str, ...]

    @property
    def replicas(self) -> Fraction:
        """Mean over the hours."""
        return Fraction(self.capacity_us, self.hours * HOUR_US)

    @property
    def amount(self) -> Decimal:
        """The bill in currency units."""
        return Decimal(self.bill).scaleb(-18)

    @property
    def setup(self) -> Setup:
        """The pool as it is; a replica costs what its bill says."""
        hour = Fraction(self.bill, 10**18) * HOUR_US / self.capacity_us
        return Setup(self.settings.pool_id, self.curve, self.settings.engine(), hour)

    @property
    def targets(self) -> Targets:
        """What the pool promises."""
        ttft, itl = self.settings.ttft_target_ms, self.settings.itl_target_ms
        return Targets(None if ttft is None else ttft / 1_000, None if itl is None else itl / 1_000)


def pool_facts(engine: Engine, context: TenantContext, query: ReportQuery) -> list[PoolFacts]:
    """Pools with settled hours in the period that were paid for, by id; of the filter `pool` that one alone.

    Raises NotFound for that, InvalidInput for a limit.
    """
    if query.limit is not None:
        raise InvalidInput("limit", query.limit, "this report is not cut; choose a pool with filter=pool:ID")
    with read_only(engine, context.tenant) as connection:
        stated = statements(connection)
        wanted = wanted_pool(query, stated)
        hours: dict[str, list[Any]] = {}
        for row in settled_hours(connection, wanted, query.since, query.until):
            if row.capacity_us > 0:
                hours.setdefault(row.pool_id, []).append(row)
        charged = {pool: _charged(connection, context, pool, query.since, query.until) for pool in hours}
    return [_facts(engine, context, stated[pool], rows, charged[pool]) for pool, rows in sorted(hours.items())]


def wanted_pool(query: ReportQuery, stated: Collection[str]) -> str | None:
    """The filter `pool`; None: all are asked for. Raises NotFound for none of those that are stated."""
    wanted = dict(query.filters).get("pool")
    if wanted is not None and wanted not in stated:
        raise NotFound(f"pool={wanted!r}: no such pool of this tenant")
    return wanted


def outline(
    facts: Sequence[PoolFacts], columns: Sequence[Column], rows: Callable[[PoolFacts], Iterable[Row]]
) -> tuple[Node, ...]:
    """By currency, the sum of bills and requests over the rows of its pools; what does not add up is None in it."""
    found = []
    for currency in sorted({one.settings.billing_currency for one in facts}):
        own = [one for one in facts if one.settings.billing_currency == currency]
        sums: Row = {
            "row": "total",
            "billing_currency": currency,
            "requests": sum(one.requests for one in own),
            "bill": total(one.amount for one in own),
        }
        whole = {column.name: sums.get(column.name) for column in columns}
        found.append(Node(whole, tuple(Node(row) for one in own for row in rows(one))))
    return tuple(found)


def control(engine: Engine, context: TenantContext, query: ReportQuery, facts: Sequence[PoolFacts]) -> list[Footer]:
    """By currency: what settled hours cost that no replica was paid for in, and the bills of all settled hours less both; 0."""
    wanted = dict(query.filters).get("pool")
    with read_only(engine, context.tenant) as connection:
        rows = settled_hours(connection, wanted, query.since, query.until)
    feet = []
    for currency in sorted({row.billing_currency for row in rows}):
        of = [row for row in rows if row.billing_currency == currency]
        without = total(row.bill for row in of if not row.capacity_us)
        shown = total(one.amount for one in facts if one.settings.billing_currency == currency)
        left = minus(minus(total(row.bill for row in of), shown), without)
        feet.append(
            Footer("hours_without_replicas", without, currency, "billed hours of pools in which no replica served")
        )
        feet.append(
            Footer(
                "difference",
                left,
                currency,
                "settled bills less rows and hours without replicas; 0 or the report is wrong",
            )
        )
    return feet


def _charged(
    connection: Connection, context: TenantContext, pool: str, since: datetime, until: datetime
) -> list[tuple[Any, Any]]:
    """(shares, tokens) of each request charged, in the order of their ids; tokens None where the event itself is kept no more."""
    asked = {"tenant": context.tenant, "pool": pool, "since": since, "until": until}
    tokens = {(row.event_id, row.revision): row for row in connection.execute(_TOKENS, asked)}
    shares = connection.execute(_SHARES, asked)
    return [(row, tokens.get((row.subject_id, row.subject_revision))) for row in shares]


def _facts(
    engine: Engine,
    context: TenantContext,
    stated: Sequence[PoolSettings],
    hours: Sequence[Any],
    charged: Sequence[tuple[Any, Any]],
) -> PoolFacts:
    last = hours[-1]
    begun = [one for one in stated if one.effective_from < last.hour]
    settings = in_force(stated, last.hour) or (begun or list(stated))[-1]
    curve = load_curve(json.dumps(curve_file(engine, context, last.curve_id)))
    events = [row for _, row in charged if row is not None]
    known = [row for row in events if _is_known(row)]
    notes = list(notes_of(curve, False))
    if len({(row.curve_id, row.policy) for row in hours}) > 1 or last.curve_id != settings.curve_id:
        notes.append(SEVERAL)
    if len(known) < len(charged):
        notes.append(PARTLY.format(all=len(charged), left=len(charged) - len(known)))
    came: dict[datetime, int] = {}
    for row in events:
        came[row.hour] = came.get(row.hour, 0) + 1
    return PoolFacts(
        settings=settings,
        curve=curve,
        bill=to_line(total(row.bill for row in hours)),
        hours=len(hours),
        capacity_us=sum(row.capacity_us for row in hours),
        idle_us=sum(row.idle_us for row in hours),
        spent=_spent(charged),
        requests=len(charged),
        workload=_workload(known) if known else None,
        busiest=max(came.values(), default=0) / 3_600,
        notes=tuple(notes),
    )


def _spent(charged: Sequence[tuple[Any, Any]]) -> Spent:
    """A prompt that was computed before the period found its cached tokens there too."""
    names = (*_SECONDS, "steps", "step_shares")
    found = sum(tokens.cached for row, tokens in charged if row.own_prefill > 0 and _is_known(tokens))
    sums = Spent(*(float(sum(getattr(row, name) for row, _ in charged)) for name in names))
    return replace(sums, found=float(found))


def _is_known(row: Any) -> bool:
    """Whether the tokens of a request are kept, and how many of them were found in the cache is known."""
    return bool(row is not None and row.known and 0 <= row.cached <= row.context and row.context > 0)


def _workload(known: Sequence[Any]) -> Workload:
    context, cached, output = (
        np.array([getattr(row, name) for row in known], np.int64) for name in ("context", "cached", "output")
    )
    new = np.maximum(context - cached, 1)
    return Workload(new, context - new, output)
