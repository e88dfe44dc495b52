"""What would booked events cost by the price book of now? A plan to look at, and, on demand, correction charges.

1. `reprice_scan.py` reads what the ledger holds, in one pass of COPY, chunk by chunk
2. `reprice_compare.py` rates each chunk again and finds what differs, and why; `reprice_plan.py` adds it up
3. with `apply`, `reprice_apply.py` appends corrections, a transaction a chunk

Nothing is applied unasked: a price that is back-dated into history shows in the plan until a person applies it. What was applied no
longer differs, so a run that was killed is simply run again.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from sqlalchemy import Engine

from accounting.errors import Busy, InvalidInput
from accounting.ledger.layers import Books
from accounting.ledger.reprice_apply import append
from accounting.ledger.reprice_compare import Changed, Comparison
from accounting.ledger.reprice_plan import RepricePlan
from accounting.ledger.reprice_scan import CHUNK, RepriceFilter, expected, scan
from accounting.ledger.settle import ALONE, new_run_id, record_run
from accounting.storage.engine import read_only, transaction
from accounting.tenant import TenantContext

__all__ = ["CHUNK", "RepriceFilter", "RepricePlan", "reprice"]

Progress = Callable[[int, int], None]
"""Called after each chunk with the events read so far and about how many there are."""

EVERY = RepriceFilter()


def reprice(
    engine: Engine,
    context: TenantContext,
    books: Books,
    since: datetime,
    until: datetime,
    *,
    where: RepriceFilter = EVERY,
    apply: bool = False,
    run_id: str | None = None,
    chunk: int = CHUNK,
    progress: Progress | None = None,
) -> RepricePlan:
    """Rates the events of [since, until) again and returns the difference to the ledger; `apply` appends it as corrections.

    Args:
        books: the list book, or (list book, contracted book), as known now.
        run_id: name of the settlement run of an applied plan; default: made from the time.
        chunk: events that are read, compared and, with `apply`, committed at once; the tenant's writers wait while one is appended.

    Applying twice changes nothing. Each chunk is one transaction: after a kill, running it again finishes the rest. Events of
    deployments and calls without counts are left out. Raises Busy while another settlement run of the tenant is at work,
    InvalidInput for an empty period or run_id, or a chunk below 1.
    """
    if until <= since:
        raise InvalidInput("to", until.isoformat(), f"must be after from {since.isoformat()}")
    if run_id is not None and not run_id.strip():
        raise InvalidInput("run_id", run_id, "a name for the run is expected")
    if chunk < 1:
        raise InvalidInput("chunk", chunk, "1 or more events are expected")
    plan = RepricePlan(since, until)
    started = datetime.now(UTC)
    if apply:
        plan.run_id = run_id or new_run_id(started)
    with read_only(engine, context.tenant) as connection, read_only(engine, context.tenant) as beside:
        if apply and not connection.execute(ALONE, {"tenant": context.tenant}).scalar_one():
            raise Busy(f"another settlement run of tenant {context.tenant} is at work", retry_after=60)
        total = expected(connection, context.tenant, since, until)
        comparison = Comparison(beside, books)
        for part in scan(connection, context.tenant, since, until, where, chunk):
            changed = comparison.compare(part, plan)
            if apply and changed.held.num_rows:
                _apply(engine, context, plan, started, changed)
            if progress is not None:
                progress(plan.read, total)
    if apply:
        with transaction(engine, context.tenant) as connection:
            record_run(connection, context, str(plan.run_id), started, datetime.now(UTC), plan.changed, 0)
    return plan


def _apply(engine: Engine, context: TenantContext, plan: RepricePlan, started: datetime, changed: Changed) -> None:
    with transaction(engine, context.tenant) as connection:
        lines, skipped = append(connection, context, str(plan.run_id), changed)
        record_run(connection, context, str(plan.run_id), started, None, plan.changed, lines)
    plan.charges += lines
    plan.skipped += skipped
