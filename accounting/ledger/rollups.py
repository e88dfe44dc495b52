"""How do rollups follow the ledger? The same sums, added in the transaction that adds the lines, or rebuilt from the ledger."""

from __future__ import annotations

from datetime import date

from sqlalchemy import Connection, text

from accounting.storage import changes

COUNTS = ("events", "uncached_input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
COSTS = ("list_cost", "contracted_cost", "effective_cost", "billed_cost")
MEASURES = (*COUNTS, *COSTS)

KEY = ("bucket", "booking_period", "seller", "model", "purpose", "charge_status", "billing_currency", "category")
KEY_USER_DAY = (
    "day",
    "user_id",
    "account_id",
    "booking_period",
    "purpose",
    "charge_status",
    "billing_currency",
    "category",
)

_QUARTER_HOUR = "date_bin('15 minutes', occurred_at, timestamptz '2000-01-01 00:00:00+00')"
_WRITES = "cache_write_5m_tokens::bigint + cache_write_1h_tokens + cache_write_30m_tokens + cache_write_12h_tokens + cache_write_tokens"
_LIST = "coalesce(sum(list_cost_e15), 0) * 0.000000000000001"
_CONTRACTED = "coalesce(sum(contracted_cost_e15), 0) * 0.000000000000001"
_STAGE_SUMS = (
    f"count(*), sum(uncached_input_tokens), sum(cache_read_tokens), sum({_WRITES}), sum(output_tokens), "
    f"{_LIST}, {_CONTRACTED}, {_CONTRACTED}, {_CONTRACTED}"
)
_LEDGER_SUMS = ", ".join([f"sum({name})" for name in COUNTS] + [f"coalesce(sum({name}), 0)" for name in COSTS])


def _add(table: str, key: tuple[str, ...], select: str) -> str:
    """An INSERT that adds to rows already there, in key order so that concurrent writers can't deadlock."""
    added = ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in MEASURES)
    positions = ", ".join(str(number + 2) for number in range(len(key)))
    return (
        f"INSERT INTO {table} (tenant, {', '.join(key)}, {', '.join(MEASURES)}) {select} GROUP BY {positions} ORDER BY {positions} "
        f"ON CONFLICT (tenant, {', '.join(key)}) DO UPDATE SET {added}"
    )


_TENANT = "current_setting('tokencogs.tenant')"
_NOON = "(({moment} AT TIME ZONE {tz})::date + time '12:00') AT TIME ZONE {tz}"
_STAGE = (
    f"SELECT {_TENANT}, {{bucket}}, booking_period, seller, coalesce(response_model, model), purpose, charge_status, "
    f"billing_currency, 'Usage', {_STAGE_SUMS} FROM stage"
)
_ADD_STAGE_15M = _add("rollup_15m", KEY, _STAGE.format(bucket=_QUARTER_HOUR))
_ADD_STAGE_DAY = _add("rollup_day", KEY, _STAGE.format(bucket=_NOON.format(moment="occurred_at", tz="%(tz)s")))
_ADD_STAGE_USER_DAY = _add(
    "rollup_user_day",
    KEY_USER_DAY,
    f"SELECT {_TENANT}, (occurred_at AT TIME ZONE %(tz)s)::date, coalesce(user_id, ''), coalesce(account_id, ''), booking_period, "
    f"purpose, charge_status, billing_currency, 'Usage', {_STAGE_SUMS} FROM stage",
)

ADD_STAGE = (_ADD_STAGE_15M, _ADD_STAGE_DAY, _ADD_STAGE_USER_DAY, changes.NOTE_STAGE)
"""What adds the staged events to every rollup, always in this order, and notes them as changed; parameter tz: the reporting zone."""

_LEDGER = (
    f"SELECT {_TENANT}, {{bucket}}, booking_period, seller, model, purpose, charge_status, billing_currency, category, "
    f"{_LEDGER_SUMS} FROM {{source}}"
)
_LEDGER_USER_DAY = (
    f"SELECT {_TENANT}, (charge_period_start AT TIME ZONE :tz)::date, coalesce(user_id, ''), coalesce(account_id, ''), "
    f"booking_period, purpose, charge_status, billing_currency, category, {_LEDGER_SUMS} FROM {{source}}"
)


_FROM_LEDGER = (
    ("rollup_15m", KEY, _LEDGER.replace("{bucket}", "charge_period_start")),
    ("rollup_day", KEY, _LEDGER.replace("{bucket}", _NOON.format(moment="charge_period_start", tz=":tz"))),
    ("rollup_user_day", KEY_USER_DAY, _LEDGER_USER_DAY),
)
TABLES = tuple(table for table, _, _ in _FROM_LEDGER)


def add_lines(connection: Connection, reporting_tz: str, charge_ids: list[str]) -> None:
    """Adds lines of `charges` that this transaction appended; charge_ids are theirs."""
    source = "charges WHERE tenant = current_setting('tokencogs.tenant') AND charge_id = ANY(:charge_ids)"
    parameters = {"tz": reporting_tz, "charge_ids": charge_ids}
    for table, key, select in _FROM_LEDGER:
        connection.execute(text(_add(table, key, select.format(source=source))), parameters)
    changes.note_lines(connection, charge_ids)


def rebuild(connection: Connection, tenant: str, reporting_tz: str, months: list[date] | None = None) -> None:
    """Drops the tenant's rollups (of the booking periods `months`, all when None) and sums the ledger anew.

    The transaction must have the tenant set. Writers of the tenant wait until it ends.
    """
    lock(connection, tenant, exclusive=True)
    parameters = {"tenant": tenant, "tz": reporting_tz, "months": months, "every": months is None}
    where = "tenant = :tenant AND (:every OR booking_period = ANY(CAST(:months AS date[])))"
    for table, key, select in _FROM_LEDGER:
        connection.execute(text(f"DELETE FROM {table} WHERE {where}"), parameters)
        connection.execute(text(_add(table, key, select.format(source=f"ledger WHERE {where}"))), parameters)
    changes.note_since(connection, changes.ALWAYS)


def lock(connection: Connection, tenant: str, *, exclusive: bool) -> None:
    """Writers of a tenant's ledger hold this shared, a rebuild alone; released when the transaction ends."""
    mode = "" if exclusive else "_shared"
    connection.execute(
        text(f"SELECT pg_advisory_xact_lock{mode}(hashtext('tokencogs.rollups'), hashtext(:tenant))"),
        {"tenant": tenant},
    )
