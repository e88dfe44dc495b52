"""What does a settlement run do? It asks every settler, in order, for the charges that depend on other events, and appends them.

A run is one transaction. Charge ids follow from what is settled, never from the run, so the same run again, or a later one over the
same events, appends nothing twice.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Engine, text
from sqlalchemy.dialects.postgresql import insert

from accounting.errors import Busy, InvalidInput
from accounting.ledger.append import append
from accounting.ledger.charge_line import NewCharge, Settler
from accounting.ledger.pending import estimates
from accounting.ledger.settlers import SETTLERS
from accounting.ledger.settlers.standing import forget
from accounting.storage.engine import transaction
from accounting.storage.tables import settlement_runs
from accounting.tenant import TenantContext

__all__ = ["ALONE", "SETTLERS", "NewCharge", "Settler", "new_run_id", "record_run", "settle"]

BATCH = 10_000


def settle(
    engine: Engine,
    context: TenantContext,
    *,
    run_id: str | None = None,
    whole: bool = False,
    settlers: Sequence[Settler] = SETTLERS,
) -> dict[str, Any]:
    """Runs the settlement of a tenant; with the `run_id` of an earlier run, replays it.

    With `whole` every contract's whole term is worked out again, not only from where charges changed: same lines, more time.

    Returns {"run_id", "started_at", "finished_at", "subjects": {deployment: pending events left}, "estimates": of these by pool
    (pending.py), "charges": lines appended}.
    Raises Busy while another run of the tenant is at work, InvalidInput for an empty run_id.
    """
    if run_id is not None and not run_id.strip():
        raise InvalidInput("run_id", run_id, "a name for the run is expected")
    started = datetime.now(UTC)
    name = run_id or new_run_id(started)
    with transaction(engine, context.tenant) as connection:
        if not connection.execute(ALONE, {"tenant": context.tenant}).scalar_one():
            raise Busy(f"another settlement run of tenant {context.tenant} is at work", retry_after=60)
        if whole:
            forget(connection, context)
        appended = sum(_append(connection, context, name, settler(connection, context)) for settler in settlers)
        pending = _pending(connection, context)
        waiting = estimates(connection, context, [pool for pool in pending if pool])
        finished = datetime.now(UTC)
        record_run(connection, context, name, started, finished, sum(pending.values()), appended)
    times = {"started_at": started.isoformat(), "finished_at": finished.isoformat()}
    return {"run_id": name, **times, "subjects": pending, "estimates": waiting, "charges": appended}


def new_run_id(started: datetime) -> str:
    """A name for a run: when it began, and a part of its own."""
    return f"{started:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}"


ALONE = text("SELECT pg_try_advisory_xact_lock(hashtext('tokencogs.settlement'), hashtext(:tenant))")
"""True where no other settlement run of the tenant is at work; held until the transaction ends."""


def _append(connection: Connection, context: TenantContext, run_id: str, lines: Iterable[NewCharge]) -> int:
    """Appends the lines that are not there yet, with their rollups; returns how many were new."""
    appended, batch = 0, []
    for line in lines:
        batch.append(line)
        if len(batch) == BATCH:
            appended += append(connection, context, run_id, batch)
            batch = []
    return appended + (append(connection, context, run_id, batch) if batch else 0)


_ANY_PENDING = text(
    "SELECT EXISTS (SELECT FROM rollup_15m WHERE tenant = :tenant AND charge_status = 'pending_settlement' AND events <> 0)"
)
_PENDING = text(
    """
    SELECT coalesce(deployment, '') AS deployment, sum(events)::bigint AS events FROM ledger
    WHERE tenant = :tenant AND charge_status = 'pending_settlement' GROUP BY 1 HAVING sum(events) <> 0 ORDER BY 1
    """
)


def _pending(connection: Connection, context: TenantContext) -> dict[str, int]:
    """Events that still wait, by deployment. The rollup says first whether there are any, as the ledger is long."""
    tenant = {"tenant": context.tenant}
    if not connection.execute(_ANY_PENDING, tenant).scalar_one():
        return {}
    return {row.deployment: row.events for row in connection.execute(_PENDING, tenant)}


def record_run(
    connection: Connection,
    context: TenantContext,
    name: str,
    started: datetime,
    finished: datetime | None,
    subjects: int,
    appended: int,
) -> None:
    """Notes the run, `finished` None while it is at work; a replay keeps the first start and adds what it appended."""
    row = {"tenant": context.tenant, "run_id": name, "started_at": started, "finished_at": finished}
    statement = insert(settlement_runs).values(**row, subjects=subjects, charges=appended)
    again = {"finished_at": finished, "subjects": subjects, "charges": settlement_runs.c.charges + appended}
    connection.execute(statement.on_conflict_do_update(index_elements=["tenant", "run_id"], set_=again))
