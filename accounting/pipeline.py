"""What happens to a log line? The straight line: wire body -> normalise -> rate -> store with ledger and rollups -> answer.

START here. `ingest` is the whole story; each stage is one call into the package that owns it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sqlalchemy import Engine

from accounting.ledger.coalesce import coalesce
from accounting.ledger.first_charge import first_charges
from accounting.ledger.layers import Books
from accounting.ledger.merge import commit
from accounting.ledger.revise import replace_observed
from accounting.tenant import TenantContext
from accounting.usage.columns import Prepared, prepare
from accounting.usage.items import Pair
from accounting.usage.prepare_wire import prepare_wire

__all__ = ["IngestResult", "TenantContext", "ingest", "ingest_wire", "store"]


@dataclass
class IngestResult:
    """What became of one body: accepted + duplicates + conflicts + rejected + exceptions + aggregates = calls sent.

    Attributes:
        accepted: new events, stored, priced where a price is in force, and rolled up.
        duplicates: events already known with the same body.
        conflicts: `{index, event_id, reason}` of events whose id is known with another body; the first stays.
        rejected: `{index, event_id, field, value, reason}` of rows that were not kept.
        exceptions: `{index, event_id, reason, detail}` of wire bodies that contradict themselves: kept, and booked after a replay.
        aggregates: calls of wire bodies that only repeat others' counts; never booked.
    """

    accepted: int = 0
    duplicates: int = 0
    conflicts: list[dict[str, object]] = field(default_factory=list)
    rejected: list[dict[str, object]] = field(default_factory=list)
    exceptions: list[dict[str, object]] = field(default_factory=list)
    aggregates: int = 0

    @classmethod
    def begun(cls, batch: Prepared) -> IngestResult:
        """The part of a body's result that is known before it is stored."""
        return cls(
            rejected=[rejection.to_json() for rejection in batch.rejected],
            exceptions=[suspended.to_json() for suspended in batch.suspended],
            aggregates=batch.aggregates,
        )

    @classmethod
    def together(cls, results: Iterable[IngestResult]) -> IngestResult:
        """What became of several bodies that were sent as one; `index` tells where in it each row stood."""
        whole = cls()
        for result in results:
            whole.accepted += result.accepted
            whole.duplicates += result.duplicates
            whole.aggregates += result.aggregates
            for name in ("conflicts", "rejected", "exceptions"):
                getattr(whole, name).extend(getattr(result, name))
        for rows in (whole.conflicts, whole.rejected, whole.exceptions):
            rows.sort(key=lambda row: int(str(row["index"])))
        return whole

    def to_json(self) -> dict[str, object]:
        """The answer to a native body."""
        return {name: getattr(self, name) for name in ("accepted", "duplicates", "conflicts", "rejected")}

    def wire_json(self) -> dict[str, object]:
        """The answer to wire bodies: contradictions kept and aggregates recognised are counted too."""
        return self.to_json() | {"exceptions": self.exceptions, "aggregates": self.aggregates}


def ingest(
    engine: Engine,
    context: TenantContext,
    book: Books,
    body: bytes,
    *,
    ndjson: bool = False,
    now: datetime | None = None,
) -> IngestResult:
    """Books one body of native events in one transaction; returns after the commit.

    Raises InvalidInput for a body that is no JSON, StorageUnavailable when nothing of it was kept.
    """
    prepared = prepare(body, ndjson=ndjson, now=now or datetime.now(UTC))
    return store(engine, context, book, [prepared])[0]


def ingest_wire(
    engine: Engine,
    context: TenantContext,
    book: Books,
    wire_format: str,
    pairs: Iterable[Pair],
    *,
    now: datetime | None = None,
) -> IngestResult:
    """Books wire bodies of one format in one transaction; a body that contradicts itself becomes an exception.

    Raises InvalidInput for a format that no module reads, StorageUnavailable when nothing was kept.
    """
    prepared = prepare_wire(wire_format, pairs, now or datetime.now(UTC))
    return store(engine, context, book, [prepared])[0]


def store(engine: Engine, context: TenantContext, book: Books, batches: list[Prepared]) -> list[IngestResult]:
    """Books prepared bodies of one tenant together, in one transaction; one result a body."""
    together = coalesce(batches)
    priced, refused = first_charges(together.batch, book, context)
    distinct = together.distinct(priced, refused)
    merged = commit(engine, context, distinct.batch, distinct.usage_bodies, together.exceptions(batches))
    replace_observed(engine, context, distinct, merged)
    results = [IngestResult.begun(batch) for batch in batches]
    for outcome in distinct.outcomes(merged):
        outcome.count(results[outcome.body])
    return results
