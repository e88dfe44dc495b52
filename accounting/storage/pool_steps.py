"""Which steps did a pool's replicas take, by their own ledgers? Append-only: a ledger stands by replica and hour until it is withdrawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Engine, insert, text

from accounting.errors import Conflict, InvalidInput, NotFound
from accounting.money import exact_sum
from accounting.selfhosted.pool_settings import Membership
from accounting.selfhosted.step_ledger import HOUR_NS, NS_PER_US, StepLedger
from accounting.storage import audit
from accounting.storage.engine import read_only, transaction
from accounting.storage.pools import members, require_pool
from accounting.storage.tables import pool_steps
from accounting.tenant import TenantContext

HOUR = timedelta(hours=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHOWN = "pool_id, replica, hour, ledger_hash, source_id, starts_at, ends_at, steps, requests, measured_ns, recorded_at"
_STANDING = f"""
SELECT {{columns}} FROM (
  SELECT DISTINCT ON (pool_id, hour, replica, ledger_hash) {_SHOWN}, record_id, state FROM pool_steps
  WHERE pool_id = :pool AND hour >= :since AND hour < :until
  ORDER BY pool_id, hour, replica, ledger_hash, recorded_at DESC, record_id DESC) newest
{{join}} WHERE newest.state = 'stated' ORDER BY hour, replica, starts_at
"""
_LISTED = text(_STANDING.format(columns=_SHOWN, join=""))
_WHOLE = text(
    _STANDING.format(
        columns="newest.*, whole.step_columns, whole.part_columns",
        join="JOIN pool_steps whole USING (record_id)",
    ).replace("ORDER BY hour, replica, starts_at", "ORDER BY newest.hour, newest.replica, newest.starts_at")
)
_FIELDS = tuple(_SHOWN.split(", "))[:-1]


@dataclass(frozen=True)
class RecordedSteps:
    """What an import wrote. Attributes: written, unchanged: parts of a ledger, one an hour; steps, requests: of the ledger."""

    written: int
    unchanged: int
    steps: int
    requests: int
    starts_at: datetime
    ends_at: datetime


@dataclass(frozen=True)
class HourSteps:
    """The part of a ledger that an hour has. Attributes: starts_at, ends_at: what of the time it covers."""

    replica: str
    starts_at: datetime
    ends_at: datetime
    ledger: StepLedger


def record_steps(
    engine: Engine, context: TenantContext, pool_id: str, replica: str, ledger: StepLedger, source_id: str, actor: str
) -> RecordedSteps:
    """Keeps a replica's ledger, hour by hour. The same steps again change nothing.

    Raises NotFound for an unknown pool, InvalidInput for a step outside of the replica's time in the pool, Conflict where other steps
    stand for a part of the time, or the same ones for another replica.
    """
    rows = _rows(pool_id, replica, ledger, source_id)
    first, last = rows[0], rows[-1]
    with transaction(engine, context.tenant) as connection:
        moment = audit.begin(connection)
        require_pool(connection, pool_id)
        _check_members([one for one in members(connection) if (one.pool_id, one.replica) == (pool_id, replica)], ledger)
        # A part begins at most an hour before it reaches into another hour.
        asked = {"pool": pool_id, "since": first["hour"] - HOUR, "until": last["hour"] + 2 * HOUR}
        standing = connection.execute(_LISTED, asked).all()
        new = [row for row in rows if not _stands(row, standing)]
        for row in new:
            row |= {"tenant": context.tenant, "state": "stated", "created_by": actor, "recorded_at": moment}
        if new:
            connection.execute(insert(pool_steps), new)
            said = {"replica": replica, "hours": len(new), "steps": ledger.steps, "source_id": source_id}
            audit.note(connection, context.tenant, moment, actor, "pool.steps", pool_id, after=said)
    return RecordedSteps(
        len(new), len(rows) - len(new), ledger.steps, len(ledger.request_ids), first["starts_at"], last["ends_at"]
    )


def withdraw_steps(
    engine: Engine, context: TenantContext, pool_id: str, replica: str, since: datetime, until: datetime, actor: str
) -> int:
    """Takes back the ledgers of a replica for hours that begin in [since, until), as never right; how many parts. Raises NotFound."""
    with transaction(engine, context.tenant) as connection:
        moment = audit.begin(connection)
        asked = {"pool": pool_id, "since": since, "until": until}
        rows = [row for row in connection.execute(_LISTED, asked) if row.replica == replica]
        if not rows:
            raise NotFound(
                f"replica={replica!r}: no step ledger of it in {pool_id!r} has an hour from {since.isoformat()}"
            )
        gone = {"tenant": context.tenant, "state": "withdrawn", "created_by": actor, "recorded_at": moment}
        connection.execute(insert(pool_steps), [{name: getattr(row, name) for name in _FIELDS} | gone for row in rows])
        said = {"replica": replica, "hours": len(rows), "steps": sum(row.steps for row in rows)}
        audit.note(connection, context.tenant, moment, actor, "pool.steps_withdraw", pool_id, before=said)
    return len(rows)


def listed_steps(
    engine: Engine, context: TenantContext, pool_id: str, since: datetime, until: datetime
) -> list[dict[str, Any]]:
    """The ledgers that stand for hours of [since, until), as JSON without their steps. Raises NotFound, InvalidInput."""
    if until <= since:
        raise InvalidInput("to", until.isoformat(), f"must be after {since.isoformat()}")
    with read_only(engine, context.tenant) as connection:
        require_pool(connection, pool_id)
        rows = connection.execute(_LISTED, {"pool": pool_id, "since": since, "until": until}).all()
    return [
        {name: getattr(row, name) for name in ("replica", "source_id", "steps", "requests")}
        | {name: getattr(row, name).isoformat().replace("+00:00", "Z") for name in ("hour", "starts_at", "ends_at")}
        | {"ledger_hash": bytes(row.ledger_hash).hex(), "measured_seconds": row.measured_ns / 1e9}
        for row in rows
    ]


def ledger_hashes(connection: Connection, pool_id: str, since: datetime, until: datetime) -> dict[datetime, list[str]]:
    """Hour -> replica and hash of each ledger that stands for it; hours without one are left out."""
    found: dict[datetime, list[str]] = {}
    for row in connection.execute(_LISTED, {"pool": pool_id, "since": since, "until": until}):
        found.setdefault(row.hour, []).append(f"{row.replica}:{bytes(row.ledger_hash).hex()}")
    return found


def hour_steps(connection: Connection, pool_id: str, hour: datetime) -> list[HourSteps]:
    """The ledgers of an hour, by replica and time."""
    rows = connection.execute(_WHOLE, {"pool": pool_id, "since": hour, "until": hour + HOUR})
    return [
        HourSteps(
            row.replica,
            row.starts_at,
            row.ends_at,
            StepLedger.unpacked(bytes(row.step_columns), bytes(row.part_columns)),
        )
        for row in rows
    ]


def _rows(pool_id: str, replica: str, ledger: StepLedger, source_id: str) -> list[dict[str, Any]]:
    """A row an hour; the last one's part reaches to the end of the last step."""
    first_ns, end_ns = int(ledger.start_ns[0]), ledger.end_ns
    parts = ledger.hours()
    rows = []
    for at, (hour_ns, part) in enumerate(parts):
        until = end_ns if at == len(parts) - 1 else min(hour_ns + HOUR_NS, end_ns)
        steps, shares = part.packed()
        rows.append(
            {
                "pool_id": pool_id,
                "replica": replica,
                "hour": _moment(hour_ns),
                "ledger_hash": part.hash(),
                "source_id": source_id,
                "starts_at": _moment(max(hour_ns, first_ns)),
                "ends_at": _moment(until),
                "steps": part.steps,
                "requests": len(part.request_ids),
                "measured_ns": exact_sum(part.duration_ns),
                "step_columns": steps,
                "part_columns": shares,
            }
        )
    return rows


def _check_members(serving: Sequence[Membership], ledger: StepLedger) -> None:
    """Every step begins while the replica is in the pool."""
    inside = ledger.start_ns != ledger.start_ns
    for one in serving:
        held = ledger.start_ns >= _ns(one.effective_from)
        inside = inside | (held if one.effective_until is None else held & (ledger.start_ns < _ns(one.effective_until)))
    if not inside.all():
        at = int(inside.argmin())
        raise InvalidInput(
            f"start_ns of row {at}",
            int(ledger.start_ns[at]),
            "the replica is not in the pool then; state that it is, or its end",
        )


def _stands(row: dict[str, Any], standing: Sequence[Any]) -> bool:
    """Whether these steps are there already. Raises Conflict."""
    for one in standing:
        same = bytes(one.ledger_hash) == row["ledger_hash"] and one.hour == row["hour"] and one.steps
        if one.replica == row["replica"]:
            if same or (not row["steps"] and not one.steps and one.starts_at == row["starts_at"]):
                return True
            if one.starts_at < row["ends_at"] and row["starts_at"] < one.ends_at:
                raise Conflict(
                    f"start_ns={row['starts_at'].isoformat()}: {one.source_id!r} has other steps of {one.replica!r} from "
                    f"{one.starts_at.isoformat()} to {one.ends_at.isoformat()}; withdraw those first"
                )
        elif same:
            raise Conflict(f"replica={row['replica']!r}: the same steps are those of {one.replica!r} already")
    return False


def _moment(ns: int) -> datetime:
    return _EPOCH + timedelta(microseconds=ns // NS_PER_US)


def _ns(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1) * NS_PER_US
