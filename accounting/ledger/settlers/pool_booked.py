"""What stands in the ledger for some hours of a pool, corrections and reversals included?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, text

from accounting.ledger.settlers.pool_log import HOUR, IDENTITY
from accounting.money import to_line

BASIS = "attributed"
"""Of every line of a pool, those that take others back included; by it reports know them."""
BASES = ("effective_cost", "direct_cost", "fully_loaded_cost")
"""Attributed, direct and fully loaded: of each, the lines of a pool hour add up to its bill."""
Amounts = tuple[int, int, int]
NOTHING: Amounts = (0, 0, 0)
REQUESTS = "requests"
"""What the lines of an hour's events are together, beside the reasons of its own."""
_IDENTITY = ", ".join(IDENTITY)
_HOUR = HOUR.format(moment="charge_period_start")
_NEWEST = "(array_agg({name} ORDER BY created_at DESC, charge_id DESC))[1] AS {name}"
# Of lines appended together the last says what stands.
_EVENTS = text(
    f"""
    SELECT subject_id, subject_revision, {_HOUR} AS hour, {_IDENTITY}, billing_currency, min(charge_period_start) AS period,
           count(*) AS lines, sum(events) AS events, sum(uncached_input_tokens) AS uncached_input_tokens,
           sum(cache_read_tokens) AS cache_read_tokens, sum(cache_write_tokens) AS cache_write_tokens,
           sum(output_tokens) AS output_tokens,
           {", ".join(_NEWEST.format(name=name) for name in ("charge_id", "charge_status", "reason"))},
           {", ".join(f"coalesce(sum({name}), 0) AS {name}" for name in BASES)}
    FROM charges
    WHERE tenant = :tenant AND subject_kind = 'event' AND deployment = :pool AND basis = '{BASIS}'
      AND charge_period_start >= :since AND charge_period_start < :until
    GROUP BY subject_id, subject_revision, {_HOUR}, {_IDENTITY}, billing_currency
    """
)
_REVERSED = text(
    """
    SELECT subject_id, subject_revision FROM charges
    WHERE tenant = :tenant AND subject_kind = 'event' AND deployment = :pool AND basis = 'reversal'
      AND charge_period_start >= :since AND charge_period_start < :until AND supersedes = subject_id || ':' || subject_revision
    """
)
_HOURS = text(
    f"""
    SELECT subject_id, reason, billing_currency, count(*) AS lines,
           {", ".join(f"coalesce(sum({name}), 0) AS {name}" for name in BASES)}
    FROM charges
    WHERE tenant = :tenant AND subject_kind = 'pool_hour' AND deployment = :pool
      AND charge_period_start >= :since AND charge_period_start < :until
    GROUP BY 1, 2, 3
    """
)
Key = tuple[str, int, datetime]
"""Event, revision, hour."""


@dataclass(frozen=True)
class Booked:
    """Attributes:
    events: the rows of each key, one a currency (and one an identity, where that was erased between two lines).
    reversed: (event, revision) whose first line is undone.
    hours: (subject, reason, currency) -> (amounts, lines) of what belongs to no request.
    """

    events: dict[Key, list[Any]]
    reversed: set[tuple[str, int]]
    hours: dict[tuple[str, str, str], tuple[Amounts, int]]

    def parts_of(self, subject: str, hour: datetime) -> dict[str, dict[str, Amounts]]:
        """Currency -> REQUESTS, or a reason of the hour's own lines -> what is booked."""
        found: dict[str, dict[str, Amounts]] = {}
        for (name, reason, currency), (amounts, _) in self.hours.items():
            if name == subject:
                found.setdefault(currency, {})[reason] = amounts
        for key, rows in self.events.items():
            for row in rows if key[2] == hour else ():
                parts = found.setdefault(row.billing_currency, {})
                parts[REQUESTS] = plus(parts.get(REQUESTS, NOTHING), amounts_of(row))
        return found


def plus(one: Amounts, other: Amounts) -> Amounts:
    """Their sum."""
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def minus(one: Amounts, other: Amounts) -> Amounts:
    """Their difference."""
    return one[0] - other[0], one[1] - other[1], one[2] - other[2]


def read_booked(connection: Connection, tenant: str, pool: str, since: datetime, until: datetime) -> Booked:
    """What is booked of a pool for [since, until)."""
    asked = {"tenant": tenant, "pool": pool, "since": since, "until": until}
    events: dict[Key, list[Any]] = {}
    for row in connection.execute(_EVENTS, asked):
        events.setdefault((row.subject_id, row.subject_revision, row.hour), []).append(row)
    undone = {(row.subject_id, row.subject_revision) for row in connection.execute(_REVERSED, asked)}
    hours = {
        (row.subject_id, row.reason, row.billing_currency): (amounts_of(row), row.lines)
        for row in connection.execute(_HOURS, asked)
    }
    return Booked(events, undone, hours)


def amounts_of(row: Any) -> Amounts:
    """The three bases of a row, whole 10^-18."""
    effective, direct, loaded = (to_line(getattr(row, name), name) for name in BASES)
    return effective, direct, loaded
