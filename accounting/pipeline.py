"""What happens to a log line? The straight line: wire body -> normalise -> rate -> store with ledger and rollups -> answer.

START here. `ingest` is the whole story; each stage is one call into the package that owns it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from sqlalchemy import Engine

from accounting.ledger.coalesce import coalesce
from accounting.ledger.first_charge import first_charges
from accounting.ledger.merge import commit
from accounting.pricing.book import PriceBook
from accounting.tenant import TenantContext
from accounting.usage.columns import Prepared, prepare

__all__ = ["IngestResult", "TenantContext", "ingest", "store"]


@dataclass
class IngestResult:
    """What became of one body: accepted + duplicates + len(conflicts) + len(rejected) = rows sent.

    Attributes:
        accepted: new events, stored, priced where a price is in force, and rolled up.
        duplicates: events already known with the same body.
        conflicts: `{index, event_id, reason}` of events whose id is known with another body; the first stays.
        rejected: `{index, event_id, field, value, reason}` of rows that were not kept.
    """

    accepted: int = 0
    duplicates: int = 0
    conflicts: list[dict[str, object]] = field(default_factory=list)
    rejected: list[dict[str, object]] = field(default_factory=list)

    def to_json(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in ("accepted", "duplicates", "conflicts", "rejected")}


def ingest(
    engine: Engine,
    context: TenantContext,
    book: PriceBook,
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


def store(engine: Engine, context: TenantContext, book: PriceBook, batches: list[Prepared]) -> list[IngestResult]:
    """Books prepared bodies of one tenant together, in one transaction; one result a body."""
    together = coalesce(batches)
    priced, refused = first_charges(together.batch, book, context)
    distinct = together.distinct(priced, refused)
    merged = commit(engine, context, distinct.batch, distinct.usage_bodies, "native")
    results = [IngestResult(rejected=[rejection.to_json() for rejection in batch.rejected]) for batch in batches]
    for outcome in distinct.outcomes(merged):
        outcome.count(results[outcome.body])
    return results
