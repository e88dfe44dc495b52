"""Which requests touch some hours of a pool, as attribution reads them?

A request is there from when it came in until it ended, and in the hour of its own stamp. An hour looks back one day and allows clocks
to differ by one hour: what is stamped as lasting longer counts in the hour it came in alone, and carries no charge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, text

from accounting.ledger.corrected import NEWEST_REVISION
from accounting.selfhosted.arrays import NO_TIME, UNKNOWN, Bools, Ints
from accounting.selfhosted.pool_settings import Role
from accounting.selfhosted.requests import Requests

HOUR = "date_bin('1 hour', {moment}, timestamptz '2000-01-01 00:00:00+00')"
_CALLED = {"prefill": ("prefill_deployment", "prefill_replica")}
_LONGEST, _SKEW = "interval '24 hours'", "interval '1 hour'"
# What nobody logged of a request that ran: a failure without a first token shows no steps, so that nothing of it is filled in.
_RAN = "(e.status = 'ok' OR e.first_token_at IS NOT NULL)"
_LACKS = f"({_RAN} AND (e.first_token_at IS NULL OR e.completed_at IS NULL))"
# An end that nobody logged may lie in the next hour.
_SPAN = f"""
CROSS JOIN LATERAL (
  SELECT least(e.occurred_at, e.prefill_started_at, e.first_token_at) AS low,
         greatest(e.occurred_at, e.first_token_at,
                  coalesce(e.completed_at, CASE WHEN {_RAN} THEN e.occurred_at + {_SKEW} END)) AS high
) stamps CROSS JOIN LATERAL (
  SELECT stamps.low < e.occurred_at - {_SKEW} OR stamps.high > e.occurred_at + {_LONGEST} AS odd
) judged CROSS JOIN LATERAL (
  SELECT CASE WHEN odd THEN e.occurred_at ELSE stamps.low END AS began,
         CASE WHEN odd THEN e.occurred_at ELSE stamps.high END AS ended
) span
"""
_FROM = f"FROM usage_events e {_SPAN}"
_WHERE = f"""
WHERE e.tenant = :tenant AND e.{{column}} = :pool AND e.deployment IS NOT NULL AND e.charge_status <> 'void'
  AND e.occurred_at >= CAST(:since AS timestamptz) - {_LONGEST} AND e.occurred_at < CAST(:until AS timestamptz) + {_SKEW}
  AND span.began < :until AND span.ended >= :since AND {NEWEST_REVISION}
"""
_DIGEST = f"""
SELECT hours.hour, sum(hashtextextended(e.event_id || ':' || e.revision, 0)) AS digest, count(*) AS events,
       bool_or(e.{{replica}} IS NULL OR {_LACKS}) AS lacking
{_FROM}
CROSS JOIN LATERAL generate_series({HOUR.format(moment="span.began")}, span.ended, interval '1 hour') hours (hour)
{_WHERE} AND hours.hour >= :since AND hours.hour < :until
GROUP BY 1
"""
INPUT = (
    "e.uncached_input_tokens + e.cache_read_tokens + e.cache_write_5m_tokens + e.cache_write_1h_tokens + "
    "e.cache_write_30m_tokens + e.cache_write_12h_tokens + e.cache_write_tokens"
)
IDENTITY = ("model", "purpose", "account_id", "user_id", "feature")


def _micros(name: str) -> str:
    return f"(extract(epoch FROM e.{name}) * 1000000)::bigint AS {name}"


_LOG = f"""
SELECT e.event_id, e.revision, e.{{replica}} AS replica, e.status, e.usage_known, e.cache_read_known, e.deployment, odd,
       coalesce(e.context_tokens, {INPUT}) AS context, e.cache_read_tokens AS cached, e.output_tokens AS output,
       e.accepted_steps, e.queue_ms, e.response_id,
       {", ".join(_micros(name) for name in ("prefill_started_at", "first_token_at", "completed_at"))},
       e.occurred_at AS at, {_micros("occurred_at")}, e.booking_period,
       coalesce(e.response_model, e.model) AS model, e.purpose, e.account_id, e.user_id, e.feature,
       e.seller, e.charge_status, e.reason AS first_reason, e.billing_currency,
       e.uncached_input_tokens, e.cache_read_tokens, {INPUT} - e.uncached_input_tokens - e.cache_read_tokens AS cache_write_tokens
{_FROM} {_WHERE} ORDER BY e.event_id
"""


@dataclass(frozen=True)
class Digest:
    """What a pool hour's log was. Attributes: text: the same for the same events; lacking: a time or a replica is not logged."""

    text: str
    lacking: bool


NO_LOG = Digest("0", False)
"""Of an hour that no request touches."""


@dataclass(frozen=True)
class Log:
    """Requests with what a ledger line says of them, by id.

    Attributes:
        rows: the events as stored. requests: the same as columns.
        place: of each of `requests` in `rows`; those that last longer than a day are in `rows` alone.
        unusable: place in `rows` -> why a request can carry no charge, whatever attribution finds.
    """

    rows: Sequence[Any]
    requests: Requests
    place: Ints
    unusable: dict[int, str]


def digests(
    connection: Connection, tenant: str, pool: str, role: Role, since: datetime, until: datetime
) -> dict[datetime, Digest]:
    """Hour -> what its log is, for hours of [since, until) that any request touches."""
    column, replica = _CALLED.get(role, ("deployment", "replica"))
    query = text(_DIGEST.format(column=column, replica=replica))
    asked = {"tenant": tenant, "pool": pool, "since": since, "until": until}
    return {row.hour: Digest(f"{row.events}:{row.digest}", row.lacking) for row in connection.execute(query, asked)}


def read_log(
    connection: Connection,
    tenant: str,
    pool: str,
    role: Role,
    since: datetime,
    until: datetime,
    codes: dict[str, int],
) -> Log:
    """The requests that touch [since, until); `codes`: replica -> its code. A replica that is not in it gets a further one."""
    column, replica = _CALLED.get(role, ("deployment", "replica"))
    query = text(_LOG.format(column=column, replica=replica))
    rows = connection.execute(query, {"tenant": tenant, "pool": pool, "since": since, "until": until}).all()
    unusable: dict[int, str] = {}
    for at, row in enumerate(rows):
        why = _unusable(row)
        if why is not None:
            unusable[at] = why
    place = np.array([at for at, row in enumerate(rows) if not row.odd], np.int64)
    return Log(rows, _requests([rows[at] for at in place.tolist()], unusable, place, codes), place, unusable)


def _unusable(row: Any) -> str | None:
    """Why a request can carry no charge, beside what attribution finds itself."""
    if row.odd:
        return "times_contradict"
    if row.status != "ok" and row.first_token_at is None:
        return None
    if not row.usage_known:
        return "usage_missing"
    if row.context < 1:
        return "context_unknown"
    return "cached_exceeds_context" if row.cache_read_known and row.cached > row.context else None


def _requests(rows: Sequence[Any], unusable: dict[int, str], place: Ints, codes: dict[str, int]) -> Requests:
    known = dict(codes)
    replica = [UNKNOWN if row.replica is None else known.setdefault(row.replica, len(known)) for row in rows]
    # What can't be told of a request is unknown; it still counts in the steps that others were in.
    sound = np.array([at not in unusable for at in place.tolist()], np.bool_)
    context = _ints([row.context for row in rows])
    cached = np.where(
        np.array([row.cache_read_known for row in rows], np.bool_), _ints([row.cached for row in rows]), UNKNOWN
    )
    return Requests(
        request_id=np.array([row.event_id for row in rows], np.str_),
        replica=_ints(replica),
        received_at=_ints([row.occurred_at for row in rows]),
        prefill_started_at=_ints([_prefill_started(row) for row in rows]),
        first_token_at=_moments([row.first_token_at for row in rows]),
        completed_at=_moments([row.completed_at for row in rows]),
        context_tokens=np.maximum(context, 1),
        cached_tokens=np.where(sound & (cached <= np.maximum(context, 1)), cached, UNKNOWN),
        output_tokens=_ints([row.output for row in rows]),
        decode_steps=_ints([UNKNOWN if row.accepted_steps is None else row.accepted_steps for row in rows]),
        positions=np.full(len(rows), UNKNOWN),
        shared_tokens=np.zeros(len(rows), np.int64),
        failed=_flags([row.status != "ok" for row in rows]),
    )


def _prefill_started(row: Any) -> int:
    """As logged, else after the logged wait."""
    if row.prefill_started_at is not None:
        return int(row.prefill_started_at)
    return NO_TIME if row.queue_ms is None else int(row.occurred_at) + round(row.queue_ms * 1_000)


def _moments(values: Sequence[int | None]) -> Ints:
    return _ints([NO_TIME if value is None else value for value in values])


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, np.int64)


def _flags(values: Sequence[bool]) -> npt.NDArray[np.bool_]:
    found: Bools = np.array(values, np.bool_)
    return found
