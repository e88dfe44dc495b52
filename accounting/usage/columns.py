"""How do checked events become the columns that are priced and stored, and which of them contradict themselves?"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from accounting.usage.classes import CACHE_WRITES, PARTS, USAGE_COLUMNS
from accounting.usage.native import NativeEvent, NativeUsage, canonical, usage_body
from accounting.usage.parse import Parsed, Rejection, parse
from accounting.usage.wire import Finding, Suspended

Ints = npt.NDArray[np.int64]

MOMENT = pa.timestamp("us", tz="UTC")
TOP: dict[str, pa.DataType] = {
    "event_id": pa.string(),
    "occurred_at": MOMENT,
    "response_id": pa.string(),
    "retry_of": pa.string(),
    "queue_ms": pa.float64(),
    "prefill_started_at": MOMENT,
    "first_token_at": MOMENT,
    "completed_at": MOMENT,
    "provider": pa.string(),
    "surface": pa.string(),
    "model": pa.string(),
    "response_model": pa.string(),
    "deployment": pa.string(),
    "replica": pa.string(),
    "prefill_deployment": pa.string(),
    "prefill_replica": pa.string(),
    "accepted_steps": pa.int32(),
    "preemptions": pa.int32(),
    "reasoning_effort": pa.string(),
    "score": pa.float64(),
    "region": pa.string(),
    "service_tier": pa.string(),
    "requested_service_tier": pa.string(),
    "reported_cost_usd": pa.string(),
    "batch": pa.bool_(),
    "status": pa.string(),
    "purpose": pa.string(),
    "account_id": pa.string(),
    "user_id": pa.string(),
    "feature": pa.string(),
    "task_id": pa.string(),
    "trace_id": pa.string(),
    "tags": pa.string(),
    "context_tokens": pa.int32(),
}
"""Columns of an event outside its usage, with their Arrow types; amounts and tags travel as text and are cast by the database."""

_SENT = tuple(name for name in NativeUsage.__struct_fields__)
_ROW: Callable[[NativeEvent], tuple[Any, ...]] = attrgetter(*TOP)
_USAGE: Callable[[NativeUsage], tuple[Any, ...]] = attrgetter(*_SENT)
_TEXT: dict[str, Callable[[Any], str | None]] = {
    "tags": lambda tags: None if tags is None else msgspec.json.encode(tags, order="sorted").decode(),
    "reported_cost_usd": lambda cost: None if cost is None else format(cost, "f"),
}
_NO_COUNTS = (0,) * len(_SENT)
_CACHE_READ = _SENT.index("cache_read_tokens")
EARLIEST = np.datetime64("2000-01-01T00:00:00", "us").astype(np.int64)
AHEAD = timedelta(hours=24)


@dataclass
class Prepared:
    """One body, parsed and checked, ready to be priced and stored.

    Attributes:
        sent: rows of the body. rejected: those not kept, with reasons.
        indexes: position in the body of each kept row, shape (n,).
        batch: columns TOP, `usage_known` and `cache_read_known` (bool), USAGE_COLUMNS (int32), `body_hash`
            (16 bytes) and `wire_format`, n rows.
        usage_bodies: the usage part of each kept row as JSON.
        wire_format: of the body; every row of `batch` says the same.
        suspended: calls that contradict themselves; findings: (row of `batch`, finding) of booked ones; aggregates: calls that
            only repeat others. All empty for native bodies.
    """

    sent: int
    rejected: list[Rejection]
    indexes: list[int]
    batch: pa.RecordBatch
    usage_bodies: list[bytes]
    wire_format: str = "native"
    suspended: list[Suspended] = field(default_factory=list)
    findings: list[tuple[int, Finding]] = field(default_factory=list)
    aggregates: int = 0


def prepare(body: bytes, *, ndjson: bool, now: datetime, most: int | None = None) -> Prepared:
    """Parses and checks one body. Raises InvalidInput for a body that is not JSON, TooLarge for more than `most` rows; a bad row is a
    Rejection."""
    return prepare_events(parse(body, ndjson=ndjson, most=most), now)


def prepare_events(parsed: Parsed, now: datetime, wire_format: str = "native") -> Prepared:
    """Columns of parsed events; events that contradict themselves or lie out of time are rejected with their numbers."""
    columns, usage = _columns(parsed.events)
    refused = _contradictions(columns, usage, now)
    if refused:
        for row, (name, value, reason) in refused.items():
            parsed.rejected.append(Rejection(parsed.indexes[row], parsed.events[row].event_id, name, value, reason))
        kept = [row for row in range(len(parsed.events)) if row not in refused]
        parsed.events = [parsed.events[row] for row in kept]
        parsed.indexes = [parsed.indexes[row] for row in kept]
        parsed.evidence = [parsed.evidence[row] for row in kept] if parsed.evidence else []
        columns, usage = _columns(parsed.events)
    parsed.rejected.sort(key=lambda rejection: rejection.index)
    hashes = [hashlib.blake2b(canonical(event), digest_size=16).digest() for event in parsed.events]
    known = [event.usage is not None for event in parsed.events]
    cache_known = [event.usage is None or event.usage.cache_read_tokens is not None for event in parsed.events]
    arrays = [
        *columns.values(),
        pa.array(known, pa.bool_()),
        pa.array(cache_known, pa.bool_()),
        *(pa.array(usage[name].astype(np.int32)) for name in USAGE_COLUMNS),
        pa.array(hashes, pa.binary()),
        pa.array([wire_format] * len(hashes), pa.string()),
    ]
    batch = pa.RecordBatch.from_arrays(
        arrays, names=[*TOP, "usage_known", "cache_read_known", *USAGE_COLUMNS, "body_hash", "wire_format"]
    )
    bodies = parsed.evidence or [usage_body(event) for event in parsed.events]
    return Prepared(parsed.sent, parsed.rejected, parsed.indexes, batch, bodies, wire_format)


def _columns(events: list[NativeEvent]) -> tuple[dict[str, pa.Array], dict[str, Ints]]:
    rows = list(zip(*map(_ROW, events), strict=True)) if events else [()] * len(TOP)
    columns = {}
    for (name, kind), values in zip(TOP.items(), rows, strict=True):
        if not any(value is not None for value in values):
            columns[name] = pa.nulls(len(events), kind)
        else:
            columns[name] = pa.array(map(_TEXT[name], values) if name in _TEXT else values, kind)
    stated = [_NO_COUNTS if event.usage is None else _USAGE(event.usage) for event in events]
    if any(counts[_CACHE_READ] is None for counts in stated):
        stated = [tuple(0 if count is None else count for count in counts) for counts in stated]
    counts = np.array(stated, dtype=np.int64).reshape(len(events), len(_SENT))
    sent = dict(zip(_SENT, np.ascontiguousarray(counts.T), strict=True))
    cached = sent["cache_read_tokens"] + sum(sent[name] for name in CACHE_WRITES)
    usage = {name: sent[name] for name in USAGE_COLUMNS if name in sent}
    usage["uncached_input_tokens"] = sent["input_tokens"] - cached
    return columns, usage


def _contradictions(
    columns: dict[str, pa.Array], usage: dict[str, Ints], now: datetime
) -> dict[int, tuple[str, str | None, str]]:
    """Row -> (field, value, reason) for rows whose numbers or times contradict each other; the first finding of a row stands."""
    found: dict[int, tuple[str, str | None, str]] = {}

    def refuse(bad: npt.NDArray[np.bool_], name: str, say: Callable[[int], tuple[str | None, str]]) -> None:
        for row in np.flatnonzero(bad).tolist():
            found.setdefault(row, (name, *say(row)))

    uncached = usage["uncached_input_tokens"]
    cached = {name: usage[name] for name in ("cache_read_tokens", *CACHE_WRITES)}
    refuse(
        uncached < 0,
        "usage.input_tokens",
        lambda row: (
            str(int(uncached[row] + sum(part[row] for part in cached.values()))),
            "is less than the sum of its parts: " + _sum_text(cached, row),
        ),
    )
    wholes = {**PARTS, "output_tokens ": ("reasoning_tokens",)}
    for whole, names in wholes.items():
        whole_name = whole.strip()
        parts = {name: usage[name] for name in names}
        refuse(
            sum(parts.values()) > usage[whole_name],
            f"usage.{whole_name}",
            lambda row, parts=parts, whole_name=whole_name: (  # type: ignore[misc]
                str(int(usage[whole_name][row])),
                "is less than the sum of its parts: " + _sum_text(parts, row),
            ),
        )
    occurred = _micros(columns["occurred_at"])
    latest = int((now + AHEAD).timestamp() * 1_000_000)
    refuse(
        occurred > latest,
        "occurred_at",
        lambda row: (_time(columns, "occurred_at", row), "is more than 24 hours ahead"),
    )
    refuse(occurred < EARLIEST, "occurred_at", lambda row: (_time(columns, "occurred_at", row), "is before 2000-01-01"))
    for name in ("prefill_started_at", "first_token_at", "completed_at"):
        if columns[name].null_count == len(columns[name]):
            continue
        later = _micros(columns[name], occurred)
        refuse(
            later < occurred,
            name,
            lambda row, name=name: (  # type: ignore[misc]
                _time(columns, name, row),
                f"is before occurred_at {_time(columns, 'occurred_at', row)}",
            ),
        )
    return found


def _micros(column: pa.Array, missing: Ints | None = None) -> Ints:
    values = column.cast(pa.int64())
    if missing is not None and values.null_count:
        values = pa.compute.if_else(values.is_valid(), values, pa.array(missing))
    result: Ints = values.to_numpy(zero_copy_only=False)
    return result


def _sum_text(parts: dict[str, Ints], row: int) -> str:
    stated = {name: int(values[row]) for name, values in parts.items() if values[row]}
    return " + ".join(f"{name} {value}" for name, value in stated.items()) + f" = {sum(stated.values())}"


def _time(columns: dict[str, pa.Array], name: str, row: int) -> str:
    moment: datetime = columns[name][row].as_py()
    return moment.isoformat()
