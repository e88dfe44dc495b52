"""How do several bodies share one transaction, and which row of which body does each outcome belong to?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from accounting.ledger.exceptions import ExceptionRow
from accounting.ledger.first_charge import Refusals
from accounting.ledger.merge import Merged
from accounting.usage.columns import Prepared
from accounting.usage.wire import Finding, Suspended


class Tally(Protocol):
    """Where outcomes are counted: an answer to one body."""

    accepted: int
    duplicates: int
    conflicts: list[dict[str, object]]
    rejected: list[dict[str, object]]


@dataclass(frozen=True)
class Outcome:
    """What became of one row. Attributes: body, index: which body and position in it; kind: accepted, duplicate, conflict or rejected."""

    body: int
    index: int
    event_id: str
    kind: str
    finding: tuple[str, str | None, str] | None = None

    def count(self, tally: Tally) -> None:
        """Adds this row to the answer of its body."""
        if self.kind == "accepted":
            tally.accepted += 1
        elif self.kind == "duplicate":
            tally.duplicates += 1
        elif self.kind == "conflict":
            reason = "event_id is known with a different body; the first one stays"
            tally.conflicts.append({"index": self.index, "event_id": self.event_id, "reason": reason})
        else:
            assert self.finding is not None
            name, value, reason = self.finding
            row = {"index": self.index, "event_id": self.event_id, "field": name, "value": value, "reason": reason}
            tally.rejected.append(row)
            tally.rejected.sort(key=lambda rejection: int(str(rejection["index"])))


@dataclass
class Distinct:
    """The rows to store, event by event, and how every sent row maps to them.

    Attributes:
        batch: rows to store, (event_id, body_hash) distinct.
        first: for each sent row its row in `batch`, -1 for a refused one, shape (n,).
    """

    together: Together
    batch: pa.RecordBatch
    usage_bodies: list[bytes]
    first: list[int]
    refused: Refusals

    def outcomes(self, merged: Merged) -> Iterator[Outcome]:
        """One outcome a sent row. Of equal rows in one transaction the first is what became of the event, the rest repeat it."""
        seen: set[int] = set()
        event_ids = self.together.batch["event_id"].to_pylist()
        for row, (body, index, stored) in enumerate(
            zip(self.together.body, self.together.index, self.first, strict=True)
        ):
            if stored < 0:
                yield Outcome(body, index, event_ids[row], "rejected", self.refused[row])
            elif stored in merged.conflicts:
                yield Outcome(body, index, event_ids[row], "conflict")
            elif stored in merged.duplicates or stored in merged.better or stored in seen:
                yield Outcome(body, index, event_ids[row], "duplicate")
            else:
                seen.add(stored)
                yield Outcome(body, index, event_ids[row], "accepted")


@dataclass
class Together:
    """Bodies laid one after the other. Attributes: body, index: of each row, which body it came in and where, shape (n,)."""

    batch: pa.RecordBatch
    usage_bodies: list[bytes]
    body: list[int]
    index: list[int]

    def exceptions(self, batches: list[Prepared]) -> list[ExceptionRow]:
        """What the bodies hold for a person to look at: contradictions, and findings on booked calls."""
        rows = [_contradiction(suspended) for part in batches for suspended in part.suspended]
        start = 0
        for part in batches:
            rows += [self._finding(start + row, part.wire_format, finding) for row, finding in part.findings]
            start += part.batch.num_rows
        return rows

    def _finding(self, row: int, wire_format: str, finding: Finding) -> ExceptionRow:
        return ExceptionRow(
            kind="finding",
            event_id=self.batch["event_id"][row].as_py(),
            format=wire_format,
            reason=finding.reason,
            detail=finding.detail,
            usage_body=self.usage_bodies[row].decode(),
            occurred_at=self.batch["occurred_at"][row].as_py(),
        )

    def distinct(self, priced: pa.RecordBatch, refused: Refusals) -> Distinct:
        """The priced rows without refused ones and without repetitions of the same event with the same body."""
        keys: dict[tuple[str, bytes], int] = {}
        first: list[int] = []
        kept: list[int] = []
        pairs = zip(self.batch["event_id"].to_pylist(), self.batch["body_hash"].to_pylist(), strict=True)
        for row, key in enumerate(pairs):
            if row in refused:
                first.append(-1)
                continue
            place = keys.setdefault(key, len(kept))
            if place == len(kept):
                kept.append(row)
            first.append(place)
        if len(kept) == priced.num_rows:
            return Distinct(self, priced, self.usage_bodies, first, refused)
        rows = priced.take(pa.array(kept, pa.int64()))
        position = rows.schema.get_field_index("raw_index")
        rows = rows.set_column(position, "raw_index", pa.array(np.arange(len(kept), dtype=np.int32)))
        return Distinct(self, rows, [self.usage_bodies[row] for row in kept], first, refused)


def _contradiction(suspended: Suspended) -> ExceptionRow:
    return ExceptionRow(
        kind="contradiction",
        event_id=suspended.event_id,
        format=suspended.wire_format,
        reason=suspended.reason,
        detail=suspended.detail,
        usage_body=suspended.usage_body,
        context=suspended.context,
        occurred_at=suspended.occurred_at,
    )


def coalesce(batches: list[Prepared]) -> Together:
    """Lays prepared bodies one after the other, in their order."""
    batch = batches[0].batch if len(batches) == 1 else pa.concat_batches([part.batch for part in batches])
    return Together(
        batch=batch,
        usage_bodies=[body for part in batches for body in part.usage_bodies],
        body=[number for number, part in enumerate(batches) for _ in part.indexes],
        index=[index for part in batches for index in part.indexes],
    )
