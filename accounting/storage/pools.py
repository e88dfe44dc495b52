"""Which pools serve a tenant, with which settings and replicas, and what was known of them at a moment? Append-only, like contracts."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, insert, text

from accounting.errors import Conflict, InvalidInput, NotFound
from accounting.selfhosted.pool_settings import Membership, PoolSettings
from accounting.storage import audit, gpu_rates
from accounting.storage.changes import note_since
from accounting.storage.engine import read_only, transaction
from accounting.storage.price_records import EVER
from accounting.storage.tables import pool_replicas, pools
from accounting.tenant import TenantContext

_SETTINGS = text(
    """
    SELECT * FROM (
      SELECT DISTINCT ON (pool_id, effective_from) * FROM pools WHERE recorded_at <= :known_at
      ORDER BY pool_id, effective_from, recorded_at DESC, record_id DESC) newest
    WHERE state = 'stated' ORDER BY pool_id, effective_from
    """
)
_MEMBERS = text(
    """
    SELECT * FROM (
      SELECT DISTINCT ON (pool_id, replica, effective_from) * FROM pool_replicas WHERE recorded_at <= :known_at
      ORDER BY pool_id, replica, effective_from, recorded_at DESC, record_id DESC) newest
    WHERE state = 'stated' ORDER BY pool_id, replica, effective_from
    """
)
_CURVE = text("SELECT FROM curves WHERE curve_id = :curve_id")
_SETTING_FIELDS = tuple(PoolSettings.__dataclass_fields__)
_MEMBER_FIELDS = tuple(Membership.__dataclass_fields__)


def statements(connection: Connection, known_at: datetime | None = None) -> dict[str, list[PoolSettings]]:
    """Pool -> what is stated of it, by date, as believed at a moment; of the transaction's tenant."""
    found: dict[str, list[PoolSettings]] = {}
    for row in connection.execute(_SETTINGS, {"known_at": known_at or EVER}).mappings():
        found.setdefault(row["pool_id"], []).append(PoolSettings(**{name: row[name] for name in _SETTING_FIELDS}))
    return found


def members(
    connection: Connection,
    since: datetime | None = None,
    until: datetime | None = None,
    known_at: datetime | None = None,
) -> list[Membership]:
    """All replicas' memberships that touch [since, until), by pool, replica and date."""
    rows = connection.execute(_MEMBERS, {"known_at": known_at or EVER}).mappings()
    every = [Membership(**{name: row[name] for name in _MEMBER_FIELDS}) for row in rows]
    return [
        one
        for one in every
        if (until is None or one.effective_from < until)
        and (since is None or one.effective_until is None or one.effective_until > since)
    ]


def listed(
    engine: Engine, context: TenantContext, pool_id: str | None = None, known_at: datetime | None = None
) -> list[dict[str, Any]]:
    """Pools by id as JSON, each with its dated settings and replicas. Raises NotFound for a named pool that does not exist."""
    with read_only(engine, context.tenant) as connection:
        stated, serving = statements(connection, known_at), members(connection, known_at=known_at)
    if pool_id is not None and pool_id not in stated:
        raise NotFound(f"pool_id={pool_id!r}: no such pool of this tenant")
    return [
        {
            "pool_id": name,
            "settings": [stated_json(one) for one in versions],
            "replicas": [stated_json(one) for one in serving if one.pool_id == name],
        }
        for name, versions in stated.items()
        if pool_id in (None, name)
    ]


def record_pool(
    engine: Engine, context: TenantContext, settings: PoolSettings, actor: str, at: datetime | None = None
) -> bool:
    """States a pool's settings from a date on, or states that date's anew. False: the same stands there already.

    Raises InvalidInput for a curve that is not known, and for bills in another currency than the pool's earlier ones.
    """
    with transaction(engine, context.tenant) as connection:
        moment = audit.begin(connection, at)
        if connection.execute(_CURVE, {"curve_id": settings.curve_id}).first() is None:
            raise InvalidInput(
                "curve_id", settings.curve_id, f"the tenant {context.tenant!r} has no such curve; record it first"
            )
        known = statements(connection).get(settings.pool_id, [])
        others = [one for one in known if one.effective_from != settings.effective_from]
        if others and others[0].billing_currency != settings.billing_currency:
            raise InvalidInput(
                "billing_currency", settings.billing_currency, f"the pool is billed in {others[0].billing_currency}"
            )
        old = next((one for one in known if one.effective_from == settings.effective_from), None)
        if old == settings:
            return False
        _append(connection, context, pools, asdict(settings), "stated", actor, moment)
        note_since(connection, settings.effective_from)
        _note(connection, context, moment, actor, "pool.record", settings.pool_id, old, settings)
    return True


def withdraw_pool(engine: Engine, context: TenantContext, pool_id: str, since: datetime, actor: str) -> None:
    """Takes the settings of a date back as never right. Raises NotFound."""
    with transaction(engine, context.tenant) as connection:
        moment = audit.begin(connection)
        known = [one for one in statements(connection).get(pool_id, []) if one.effective_from == since]
        if not known:
            raise NotFound(f"pool_id={pool_id!r}: nothing is stated of it from {since.isoformat()} on")
        _append(connection, context, pools, asdict(known[0]), "withdrawn", actor, moment)
        note_since(connection, since)
        _note(connection, context, moment, actor, "pool.withdraw", pool_id, known[0], None)


def record_member(
    engine: Engine, context: TenantContext, membership: Membership, actor: str, at: datetime | None = None
) -> bool:
    """States that a replica serves in a pool, or its end or rate anew. False: the same stands there already.

    Raises NotFound for an unknown pool, InvalidInput for an unknown rate, Conflict where the replica is there already for a part of
    that time.
    """
    with transaction(engine, context.tenant) as connection:
        moment = audit.begin(connection, at)
        require_pool(connection, membership.pool_id)
        if membership.rate_id is not None and membership.rate_id not in gpu_rates.in_force(connection):
            raise InvalidInput(
                "rate_id", membership.rate_id, "no rate of this id is in force on any day; state it first"
            )
        same = [
            one for one in members(connection) if (one.pool_id, one.replica) == (membership.pool_id, membership.replica)
        ]
        old = next((one for one in same if one.effective_from == membership.effective_from), None)
        if old == membership:
            return False
        for one in same:
            if one is not old and _overlap(one, membership):
                raise Conflict(
                    f"replica={membership.replica!r}: is in the pool {membership.pool_id!r} from "
                    f"{one.effective_from.isoformat()} until {_end(one)} already; end that first"
                )
        _append(connection, context, pool_replicas, asdict(membership), "stated", actor, moment)
        _note(connection, context, moment, actor, "pool.replica", membership.pool_id, old, membership)
    return True


def end_member(
    engine: Engine, context: TenantContext, pool_id: str, replica: str, until: datetime, actor: str
) -> Membership:
    """Ends the membership that holds at `until`, or just before it. Raises NotFound."""
    with read_only(engine, context.tenant) as connection:
        holding = [
            one
            for one in members(connection)
            if (one.pool_id, one.replica) == (pool_id, replica) and one.effective_from < until
            and (one.effective_until is None or one.effective_until >= until)
        ]  # fmt: skip
    if not holding:
        raise NotFound(f"replica={replica!r}: is not in the pool {pool_id!r} before {until.isoformat()}")
    ended = replace(holding[0], effective_until=until)
    record_member(engine, context, ended, actor)
    return ended


def withdraw_member(
    engine: Engine, context: TenantContext, pool_id: str, replica: str, since: datetime, actor: str
) -> None:
    """Takes a membership back as never right. Raises NotFound."""
    with transaction(engine, context.tenant) as connection:
        moment = audit.begin(connection)
        key = (pool_id, replica, since)
        known = [one for one in members(connection) if (one.pool_id, one.replica, one.effective_from) == key]
        if not known:
            raise NotFound(f"replica={replica!r}: is not stated in the pool {pool_id!r} from {since.isoformat()} on")
        _append(connection, context, pool_replicas, asdict(known[0]), "withdrawn", actor, moment)
        _note(connection, context, moment, actor, "pool.replica_withdraw", pool_id, known[0], None)


def require_pool(connection: Connection, pool_id: str) -> list[PoolSettings]:
    """What is stated of a pool. Raises NotFound."""
    found = statements(connection).get(pool_id)
    if not found:
        raise NotFound(f"pool_id={pool_id!r}: no such pool of this tenant")
    return found


def _overlap(one: Membership, other: Membership) -> bool:
    return (other.effective_until is None or one.effective_from < other.effective_until) and (
        one.effective_until is None or other.effective_from < one.effective_until
    )


def _end(one: Membership) -> str:
    return "further notice" if one.effective_until is None else one.effective_until.isoformat()


def _append(
    connection: Connection, context: TenantContext, table: Any, values: dict[str, Any], state: str, actor: str, at: Any
) -> None:
    row = values | {"tenant": context.tenant, "state": state, "created_by": actor, "recorded_at": at}
    connection.execute(insert(table).values(row))


def _note(
    connection: Connection,
    context: TenantContext,
    at: datetime,
    actor: str,
    action: str,
    subject: str,
    before: PoolSettings | Membership | None,
    after: PoolSettings | Membership | None,
) -> None:
    said = (None if one is None else stated_json(one) for one in (before, after))
    audit.note(connection, context.tenant, at, actor, action, subject, *said)


def stated_json(one: PoolSettings | Membership) -> dict[str, Any]:
    """As JSON: moments as RFC 3339 in UTC."""
    return {
        name: value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value
        for name, value in asdict(one).items()
    }
