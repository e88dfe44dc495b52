"""Which hours of a pool are to be settled, or settled anew?

An hour is due when it has a bill and ended a quarter of an hour ago, and its inputs are not those it was settled by: its bill, the pool's
settings, who served in it, the requests that touch it, and the step ledgers of its replicas. What the log of a settled hour was is
noted with it, so that logs are read from the first hour on that may have changed (`changes.py`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, text

from accounting.ledger.settlers.pool_cells import HOUR
from accounting.ledger.settlers.pool_log import NO_LOG, Digest, digests
from accounting.ledger.settlers.pool_shares import Bill
from accounting.money import to_line
from accounting.selfhosted.pool_settings import Membership, PoolSettings, in_force
from accounting.storage.changes import ALWAYS, taken
from accounting.storage.pool_hours import settled_hours
from accounting.storage.pool_steps import ledger_hashes

WAIT = timedelta(minutes=15)
"""How long after its end an hour's log is waited for."""
EARLIEST = timedelta(hours=2)
"""A request's time at which it came in is at most an hour after what is logged of it, which may be as far into its hour."""
MOST = 24
"""Hours attributed together at most."""

_BILLS = text(
    """
    SELECT DISTINCT ON (hour) hour, amount, billing_currency, record_id FROM pool_bills
    WHERE tenant = :tenant AND pool_id = :pool AND hour < :until ORDER BY hour, recorded_at DESC, record_id DESC
    """
)


@dataclass(frozen=True)
class Due:
    """One hour to settle.

    Attributes:
        settled: the row of its last settlement, None where it has none.
        log: what the hour's log is. ledgered: a replica has a step ledger of it.
    """

    hour: datetime
    bill: Bill
    settings: PoolSettings
    settled: Any | None
    log: Digest
    ledgered: bool
    inputs_hash: bytes

    @property
    def alone(self) -> bool:
        """Attributed by itself: what is filled in depends on its own requests, and a ledger's requests are looked for among them."""
        return self.log.lacking or self.ledgered


def due_hours(
    connection: Connection, tenant: str, stated: Sequence[PoolSettings], members: Sequence[Membership], now: datetime
) -> list[Due]:
    """Hours of one pool, in order; none where no settings are in force in it. `stated`: what is stated of the pool."""
    pool = stated[0].pool_id
    bills = {
        row.hour: Bill(to_line(row.amount), row.billing_currency)
        for row in connection.execute(
            _BILLS, {"tenant": tenant, "pool": pool, "until": now - WAIT - HOUR + timedelta(microseconds=1)}
        )
    }
    if not bills:
        return []
    first, until = min(bills), max(bills) + HOUR
    settled = {row.hour: row for row in settled_hours(connection, pool, first, until)}
    since = _changed(connection, bills, settled)
    logs: dict[str, dict[datetime, Digest]] = {}
    ledgers = ledger_hashes(connection, pool, first, until)
    found = []
    for hour, bill in sorted(bills.items()):
        settings = _settings(stated, hour)
        if settings is None:
            continue
        last = settled.get(hour)
        if last is not None and hour < since:
            log = Digest(last.log_digest, last.lacking)
        else:
            if settings.role not in logs:
                logs[settings.role] = digests(connection, tenant, pool, settings.role, hour, until)
            log = logs[settings.role].get(hour, NO_LOG)
        steps = ledgers.get(hour, [])
        hashed = _hash(bill, settings, [one for one in members if _touches(one, hour)], log, steps)
        if last is None or bytes(last.inputs_hash) != hashed:
            found.append(Due(hour, bill, settings, last, log, bool(steps), hashed))
    return found


def _changed(connection: Connection, bills: Iterable[datetime], settled: Mapping[datetime, Any]) -> datetime:
    """The first hour whose log has to be read: not settled yet, settled before its log was noted, or of changed requests."""
    noted = taken(connection)
    if noted is None:
        return min(bills)
    unknown = [hour for hour in bills if hour not in settled or settled[hour].log_digest is None]
    return min([max(noted, ALWAYS + EARLIEST) - EARLIEST, *unknown])


def runs(due: Sequence[Due]) -> Iterator[list[Due]]:
    """Hours to attribute together: one after the other, of the same settings. One that lacks a time or a replica, or has a step ledger,
    stands alone."""
    run: list[Due] = []
    for one in due:
        if run and (
            one.alone or run[-1].alone or len(run) == MOST
            or one.settings != run[-1].settings or one.hour != run[-1].hour + HOUR
        ):  # fmt: skip
            yield run
            run = []
        run.append(one)
    if run:
        yield run


def _settings(stated: Sequence[PoolSettings], hour: datetime) -> PoolSettings | None:
    """In force as the hour begins; else the first that comes into force within it."""
    begun = in_force(stated, hour)
    within = [one for one in stated if hour < one.effective_from < hour + HOUR]
    return begun or min(within, key=lambda one: one.effective_from, default=None)


def _touches(one: Membership, hour: datetime) -> bool:
    return one.effective_from < hour + HOUR and (one.effective_until is None or one.effective_until > hour)


def _hash(
    bill: Bill, settings: PoolSettings, members: Sequence[Membership], log: Digest, ledgers: Sequence[str]
) -> bytes:
    parts = {
        "bill": asdict(bill),
        "settings": asdict(settings),
        "members": [(one.replica, one.effective_from, one.effective_until) for one in members],
        "log": log.text,
    } | ({"steps": ledgers} if ledgers else {})
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).digest()
