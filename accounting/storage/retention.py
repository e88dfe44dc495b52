"""What is forgotten, and when? Raw usage and identity by age, one user on request; every amount stays as it is.

A forgotten row keeps its event id, so that the same call sent again is never counted twice. The hash of its body is
blinded, because who knows the rest of a body could try user ids against it; a late repeat is then told as a conflict.
"""

from __future__ import annotations

import secrets
import zoneinfo
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, time, timedelta

from sqlalchemy import Connection, Engine, text, update

from accounting.errors import InvalidInput, NotFound
from accounting.ledger.rollups import MEASURES, lock
from accounting.storage import changes
from accounting.storage.engine import transaction
from accounting.storage.tables import tenants
from accounting.storage.tenants import Tenant, get_tenant

_BLIND = "sha256(uuid_send(gen_random_uuid()))"

_DELETE_RAW = text("DELETE FROM raw_usage WHERE tenant = :tenant AND received_at < :before")

_HAS_IDENTITY = (
    "(user_id IS NOT NULL OR account_id IS NOT NULL OR trace_id IS NOT NULL OR task_id IS NOT NULL OR tags IS NOT NULL "
    "OR response_id IS NOT NULL)"
)

_DAYS_TO_FORGET = text(
    f"""
    SELECT DISTINCT (occurred_at AT TIME ZONE :zone)::date AS day FROM usage_events
    WHERE tenant = :tenant AND occurred_at < :before AND {_HAS_IDENTITY}
    UNION
    SELECT DISTINCT (charge_period_start AT TIME ZONE :zone)::date FROM charges
    WHERE tenant = :tenant AND charge_period_start < :before AND (user_id IS NOT NULL OR account_id IS NOT NULL)
    ORDER BY day
    """
)

_FORGET_IDS = text(
    f"""
    UPDATE event_ids SET body_hash = {_BLIND} FROM usage_events e
    WHERE event_ids.tenant = :tenant AND e.tenant = :tenant AND event_ids.event_id = e.event_id
      AND e.occurred_at >= :start AND e.occurred_at < :stop AND {_HAS_IDENTITY}
    """
)
_FORGET_EVENTS = text(
    f"""
    UPDATE usage_events SET user_id = NULL, account_id = NULL, trace_id = NULL, task_id = NULL, tags = NULL,
      response_id = NULL, body_hash = {_BLIND}
    WHERE tenant = :tenant AND occurred_at >= :start AND occurred_at < :stop AND {_HAS_IDENTITY}
    """
)
_FORGET_CHARGES = text(
    """
    UPDATE charges SET user_id = NULL, account_id = NULL
    WHERE tenant = :tenant AND charge_period_start >= :start AND charge_period_start < :stop
      AND (user_id IS NOT NULL OR account_id IS NOT NULL)
    """
)
_FORGET_EXCEPTIONS = text(
    """
    UPDATE exceptions SET context = context - '{user_id,account_id,trace_id,task_id,tags}'::text[]
    WHERE tenant = :tenant AND coalesce(occurred_at, received_at) < :before
      AND context ?| '{user_id,account_id,trace_id,task_id,tags}'::text[]
    """
)
_REST = "booking_period, purpose, charge_status, billing_currency, category"
_COLLAPSE_ROLLUP = text(
    f"""
    WITH gone AS (
      DELETE FROM rollup_user_day
      WHERE tenant = :tenant AND day = :day AND (user_id <> '' OR account_id <> '') RETURNING *
    )
    INSERT INTO rollup_user_day AS kept (tenant, day, user_id, account_id, {_REST}, {", ".join(MEASURES)})
    SELECT tenant, day, '', '', {_REST}, {", ".join(f"sum({name})" for name in MEASURES)}
    FROM gone GROUP BY tenant, day, {_REST}
    ON CONFLICT (tenant, day, user_id, account_id, {_REST})
    DO UPDATE SET {", ".join(f"{name} = kept.{name} + excluded.{name}" for name in MEASURES)}
    """
)

_ERASE = {
    "event_ids": text(
        f"""
        UPDATE event_ids SET body_hash = {_BLIND} FROM usage_events e
        WHERE event_ids.tenant = :tenant AND e.tenant = :tenant AND event_ids.event_id = e.event_id
          AND e.user_id = :user_id
        """
    ),
    "usage_events": text(
        f"""
        UPDATE usage_events SET user_id = :tombstone, trace_id = NULL, task_id = NULL, tags = NULL, response_id = NULL,
          body_hash = {_BLIND}
        WHERE tenant = :tenant AND user_id = :user_id
        """
    ),
    "charges": text("UPDATE charges SET user_id = :tombstone WHERE tenant = :tenant AND user_id = :user_id"),
    "rollup_user_day": text(
        "UPDATE rollup_user_day SET user_id = :tombstone WHERE tenant = :tenant AND user_id = :user_id"
    ),
    "subscriptions": text(
        "UPDATE subscriptions SET user_id = :tombstone WHERE tenant = :tenant AND user_id = :user_id"
    ),
    # The hash of a line is of the user too, and the payment system's customer leads back to the person.
    "revenue_lines": text(
        "UPDATE revenue_lines SET user_id = :tombstone, customer_id = NULL, line_hash = '' WHERE tenant = :tenant AND (user_id = :user_id "
        "OR customer_id IN (SELECT customer_id FROM revenue_customers WHERE tenant = :tenant AND user_id = :user_id))"
    ),
    "revenue_customers": text("DELETE FROM revenue_customers WHERE tenant = :tenant AND user_id = :user_id"),
    # A replay books the call under the tombstone.
    "exceptions": text(
        "UPDATE exceptions SET context = context - '{trace_id,task_id,tags}'::text[] "
        "|| jsonb_build_object('user_id', CAST(:tombstone AS text)) "
        "WHERE tenant = :tenant AND context->>'user_id' = :user_id"
    ),
}


@dataclass(frozen=True)
class Forgotten:
    """What one run of retention took away.

    Attributes:
        raw_batches: rows of raw_usage deleted.
        days: reporting days whose identity was dropped, one transaction each.
        events, charges, exceptions: rows that lost their identity.
    """

    raw_batches: int
    days: int
    events: int
    charges: int
    exceptions: int

    def to_json(self) -> dict[str, int]:
        return asdict(self)


def set_retention(owner_engine: Engine, tenant: str, raw_usage_days: int | None, identity_days: int | None) -> None:
    """Sets how many days raw usage and identity are kept; None keeps for ever. Raises InvalidInput, NotFound."""
    values = {"raw_usage_days": raw_usage_days, "identity_days": identity_days}
    for name, days in values.items():
        if days is not None and days < 1:
            raise InvalidInput(name, days, "must be 1 or more days, or absent to keep for ever")
    with transaction(owner_engine, tenant) as connection:
        if not connection.execute(update(tenants).where(tenants.c.tenant == tenant).values(values)).rowcount:
            raise NotFound(f"tenant={tenant!r}: does not exist")


def apply_retention(owner_engine: Engine, tenant: str, now: datetime) -> Forgotten:
    """Deletes raw usage and drops identity past the tenant's limits. Safe to run again, and while events come in.

    Identity (user_id, account_id, trace_id, task_id, tags, response_id) goes by whole reporting days, so that the
    per-user rollup of such a day collapses into its row without a user and still equals the ledger. Raises NotFound.
    """
    known = get_tenant(owner_engine, tenant)
    raw_batches = 0
    if known.raw_usage_days is not None:
        before = now - timedelta(days=known.raw_usage_days)
        with transaction(owner_engine, tenant) as connection:
            raw_batches = connection.execute(_DELETE_RAW, {"tenant": tenant, "before": before}).rowcount
    oldest_kept = _identity_before(known, now)
    if oldest_kept is None:
        return Forgotten(raw_batches, 0, 0, 0, 0)
    days = _days_to_forget(owner_engine, known, oldest_kept)
    events = charges = 0
    for day in days:
        with transaction(owner_engine, tenant) as connection:
            more_events, more_charges = _forget_day(connection, known, day)
        events += more_events
        charges += more_charges
    with transaction(owner_engine, tenant) as connection:
        exceptions = connection.execute(_FORGET_EXCEPTIONS, {"tenant": tenant, "before": oldest_kept}).rowcount
    return Forgotten(raw_batches, len(days), events, charges, exceptions)


def _identity_before(known: Tenant, now: datetime) -> datetime | None:
    """The first instant of the oldest reporting day that keeps its identity; None: every day does."""
    if known.identity_days is None:
        return None
    today = now.astimezone(zoneinfo.ZoneInfo(known.reporting_tz)).date()
    return _midnight(today - timedelta(days=known.identity_days), known.reporting_tz)


def _days_to_forget(owner_engine: Engine, known: Tenant, before: datetime) -> list[date]:
    with transaction(owner_engine, known.tenant) as connection:
        found = connection.execute(
            _DAYS_TO_FORGET, {"tenant": known.tenant, "zone": known.reporting_tz, "before": before}
        )
        return list(found.scalars())


def _forget_day(connection: Connection, known: Tenant, day: date) -> tuple[int, int]:
    start = _midnight(day, known.reporting_tz)
    stop = _midnight(day + timedelta(days=1), known.reporting_tz)
    span = {"tenant": known.tenant, "start": start, "stop": stop}
    # Events and their rollups must change together, so the tenant's writers wait for the length of one day's update.
    lock(connection, known.tenant, exclusive=True)
    connection.execute(_FORGET_IDS, span)
    events = connection.execute(_FORGET_EVENTS, span).rowcount
    charges = connection.execute(_FORGET_CHARGES, span).rowcount
    connection.execute(_COLLAPSE_ROLLUP, {"tenant": known.tenant, "day": day})
    changes.note_since(connection, start)
    return events, charges


def _midnight(day: date, zone: str) -> datetime:
    return datetime.combine(day, time(), zoneinfo.ZoneInfo(zone)).astimezone(UTC)


def erase_user(owner_engine: Engine, tenant: str, user_id: str) -> dict[str, object]:
    """Replaces a user by a random tombstone in every table and drops what else points at the person; amounts stay.

    Returns the tombstone and how many rows of each table changed. Nothing leads from the tombstone back to the user.
    What the client put into event ids, account ids or features is not known to be about a person and stays. Raises
    InvalidInput, NotFound.
    """
    if not user_id:
        raise InvalidInput("user_id", user_id, "must not be empty")
    get_tenant(owner_engine, tenant)
    values = {"tenant": tenant, "user_id": user_id, "tombstone": f"erased-{secrets.token_hex(16)}"}
    with transaction(owner_engine, tenant) as connection:
        lock(connection, tenant, exclusive=True)
        counts: dict[str, object] = {table: connection.execute(act, values).rowcount for table, act in _ERASE.items()}
        changes.note_since(connection, changes.ALWAYS)
    return {"tombstone": values["tombstone"], **counts}
