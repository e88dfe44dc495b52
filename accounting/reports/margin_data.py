"""What did users' requests cost in a period, by user, plan and component, and what of it is neither theirs nor anyone's?

Costs come from the rollup by user and reporting day. A model or a feature is not in it, so those are summed from the ledger itself.
Costs of the seller's own machines and of idle ones are later lines of the ledger: they are read apart and taken out of the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from datetime import date
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, TextClause, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT, DATE, TEXT

from accounting.reports.convert import JOIN, PARAMETERS, Converter
from accounting.reports.plan_spans import HOLDER, JOIN_SPANS, PLAN, SPANS, SPANS_OF_ONE
from accounting.reports.query import ReportQuery
from accounting.reports.statement_lines import USER_FACING
from accounting.reports.sums import measures
from accounting.reports.tools import TOOL_ROWS, TOOLS, TOOLS_OF_ONE, priced_by_request
from accounting.storage.engine import scanning
from accounting.storage.purposes import POOL_PURPOSES
from accounting.tenant import TenantContext

DIMENSIONS = {"feature": "feature", "model": "model"}
SELF_HOSTED = ("direct", "attributed", "fully_loaded")
"""Bases of a charge for the seller's own machines."""
COMPONENTS = ("provider", "tools", "self_hosted", "idle")
COST = ("effective_cost",)

_COUNTS = (
    "events",
    "uncached_input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "effective_cost",
)
_SUMMED = ", ".join(_COUNTS)
_NEGATED = ", ".join(f"-{name}" for name in _COUNTS)
_COMPONENT = "CASE WHEN subject_kind = 'pool_hour' AND user_id IS NULL THEN 'idle' WHEN basis = ANY(:self_hosted) THEN 'self_hosted' END"
_DAY = "({moment} AT TIME ZONE :tz)::date"
_WHO = "coalesce(user_id, '') AS user_id, coalesce(account_id, '') AS account_id"

_TOOLS = TOOL_ROWS.format(dimension="''")
_TOOLS_BY_DIMENSION = TOOL_ROWS.format(dimension="coalesce({dimension}, '')")
_ROLLUP = f"""
    {{tools}},
    apart AS (
      SELECT {_WHO}, {_DAY.format(moment="charge_period_start")} AS day, purpose, charge_status, billing_currency, {_SUMMED},
             {_COMPONENT} AS component
      FROM charges WHERE tenant = :tenant AND charge_period_start >= :since AND charge_period_start < :before
        AND {_COMPONENT} IS NOT NULL {{only}}
    ),
    r AS (
      SELECT user_id, account_id, day, purpose, charge_status, billing_currency, {_SUMMED}, 'provider' AS component, '' AS dimension
      FROM rollup_user_day WHERE tenant = :tenant AND day >= :first AND day < :until AND purpose <> ALL(:pools) {{only}}
      UNION ALL SELECT user_id, account_id, day, purpose, charge_status, billing_currency, {_NEGATED}, 'provider', '' FROM apart
      WHERE purpose <> ALL(:pools)
      UNION ALL SELECT user_id, account_id, day, purpose, charge_status, billing_currency, {_SUMMED}, component, '' FROM apart
      {_TOOLS}
    )
"""
_LEDGER = f"""
    {TOOLS},
    r AS (
      SELECT {_WHO}, {_DAY.format(moment="occurred_at")} AS day, purpose, charge_status, billing_currency, {_SUMMED},
             coalesce({_COMPONENT}, 'provider') AS component, coalesce({{dimension}}, '') AS dimension
      FROM ledger WHERE tenant = :tenant AND occurred_at >= :since AND occurred_at < :before
      {_TOOLS_BY_DIMENSION}
    )
"""
_SUMS = f"""
    WITH {{spans}}, {{source}}
    SELECT {HOLDER} AS holder, r.user_id, r.account_id, {PLAN} AS plan, r.dimension, r.component, r.purpose, r.charge_status,
           {{currency}} AS billing_currency, {{period}} AS period, {{measures}},
           sum(uncached_input_tokens)::bigint AS uncached_input_tokens, sum(cache_read_tokens)::bigint AS cache_read_tokens,
           sum(cache_write_tokens)::bigint AS cache_write_tokens
    FROM r {JOIN_SPANS} {{join}}
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 HAVING bool_or(r.events <> 0 OR coalesce(r.effective_cost, 0) <> 0)
"""
_ALL = {"tools": TOOLS, "only": ""}
_ONE = {"tools": TOOLS_OF_ONE, "only": "AND user_id = :user"}
_DAY_NO = "(r.day - CAST(:first AS date) + 1)"
_BOOKED = text(
    """
    SELECT day, billing_currency, sum(effective_cost) AS amount FROM rollup_user_day
    WHERE tenant = :tenant AND day >= :first AND day < :until AND (CAST(:user AS text) IS NULL OR user_id = :user)
    GROUP BY 1, 2 HAVING bool_or(effective_cost <> 0)
    """
)
# The number of policy changes up to the day, so that each row is of one policy; without any change in the period it is not computed.
_PERIOD = "(SELECT count(*) FROM unnest(:changes) AS change WHERE change <= r.day)"


def read_costs(
    connection: Connection,
    context: TenantContext,
    query: ReportQuery,
    first: date,
    until: date,
    *,
    dimension: str | None = None,
    changes: Sequence[date] = (),
    converter: Converter | None = None,
    user: str | None = None,
) -> Sequence[Any]:
    """Sums of the ledger's lines in the period, a row each holder, user, account, plan, dimension, component, purpose and status.

    Args:
        first, until: the period's reporting days, half-open.
        dimension: feature or model; read from the ledger. None: from the rollup, dimension ''.
        changes: days within the period on which the purpose policy changes; `period` counts those that have come.
        converter: of the rates of `booked_by_day`; each row's cost is converted by day and rounded once. None: as booked.
        user: that of the rows; only without a dimension. None: everybody's, and what is nobody's.

    A row has holder (the subscriber whose plan it is; the user where there is none), user_id, account_id, plan ('' none), component
    (COMPONENTS) and the columns of `sums.measures`; '' stands for none.
    """
    rollup = _ROLLUP.format(**(_ALL if user is None else _ONE))
    source = rollup if dimension is None else _LEDGER.format(dimension=DIMENSIONS[dimension])
    asked = (
        {
            "tenant": context.tenant,
            "tz": context.reporting_tz,
            "first": first,
            "until": until,
            "since": query.since,
            "before": query.until,
            "self_hosted": list(SELF_HOSTED),
            "pools": list(POOL_PURPOSES),
            "by_request": priced_by_request(connection, context, first, until),
        }
        | ({"changes": list(changes)} if changes else {})
        | ({} if user is None else {"user": user})
    )
    joining = scanning if user is None else nullcontext  # one user's rows are few
    common = {"source": source, "period": _PERIOD if changes else "0", "spans": SPANS if user is None else SPANS_OF_ONE}
    if converter is None:
        plain = {"currency": "r.billing_currency", "measures": measures(COST), "join": ""}
        with joining(connection):
            return connection.execute(_statement(_SUMS.format(**common, **plain), changes), asked).all()
    rated = {"measures": measures(COST, rated=True), "join": JOIN.format(day_no=_DAY_NO)}
    sql = _SUMS.format(**common, currency="CAST(:to_currency AS text)", **rated)
    asked |= {"to_currency": converter.to_currency} | converter.parameters(query.days())
    with joining(connection):
        rows = connection.execute(_statement(sql, changes).bindparams(*PARAMETERS), asked).all()
    return converter.rounded(rows, COST)


def booked_by_day(
    connection: Connection, context: TenantContext, first: date, until: date, user: str | None = None
) -> dict[tuple[date, str], Decimal]:
    """(reporting day, currency) -> effective cost as booked, of one user where one is named."""
    asked = {"tenant": context.tenant, "first": first, "until": until, "user": user}
    rows = connection.execute(_BOOKED, asked)
    return {(row.day, row.billing_currency): row.amount for row in rows}


def user_facing(row: Any) -> bool:
    """Whether a row is caused by users' requests, or keeps the machines for them ready."""
    return row.purpose in USER_FACING


def _statement(sql: str, changes: Sequence[date]) -> TextClause:
    texts = (bindparam(name, type_=ARRAY(TEXT)) for name in ("self_hosted", "pools") if f":{name}" in sql)
    statement = text(sql).bindparams(*texts, bindparam("by_request", type_=ARRAY(BIGINT)))
    return statement.bindparams(bindparam("changes", type_=ARRAY(DATE))) if changes else statement
