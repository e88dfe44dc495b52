"""Which requests shared each step, and what did the step take? The step ledger: an Arrow file, one row a step."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from probe.engine.interfaces import PhaseSums, RequestStep, StepRecord

LEDGER_VERSION = 1
_ROWS_A_BATCH = 256
_NS_A_BATCH = 10**9

_I64, _F64, _TEXT = pa.int64(), pa.float64(), pa.string()
_REQUEST = pa.struct(
    [
        pa.field("request_id", _TEXT, nullable=False),
        pa.field("kind", _TEXT, nullable=False),
        pa.field("num_new_tokens", _I64, nullable=False),
        pa.field("num_past_tokens", _I64, nullable=False),
        pa.field("num_output_tokens", _I64, nullable=False),
        pa.field("num_draft_tokens", _I64, nullable=False),
        pa.field("num_accepted_tokens", _I64, nullable=False),
        pa.field("num_cached_tokens", _I64, nullable=False),
        pa.field("num_recomputed_tokens", _I64, nullable=False),
        pa.field("blocks_held", _F64, nullable=False),
        pa.field("num_prompt_tokens", _I64, nullable=False),
        pa.field("index", _I64, nullable=False),
        pa.field("prefix_blocks", pa.list_(pa.field("item", pa.binary(), nullable=False))),
    ]
)
_SUMS = pa.struct(
    [
        pa.field(name, _F64 if name.startswith("var_") else _I64, nullable=False)
        for name in PhaseSums.__dataclass_fields__
    ]
)
SCHEMA = pa.schema(
    [
        pa.field("step_id", _I64, nullable=False),
        pa.field("kind", _TEXT, nullable=False),
        pa.field("start_ns", _I64, nullable=False),
        pa.field("duration_ns", _I64, nullable=False),
        pa.field("model_ns", _I64, nullable=False),
        pa.field("requests", pa.list_(pa.field("item", _REQUEST, nullable=False)), nullable=False),
        pa.field("queued", _SUMS, nullable=False),
        pa.field("num_waiting", _I64, nullable=False),
        pa.field("num_running", _I64, nullable=False),
        pa.field("preempted", pa.list_(pa.field("item", _TEXT, nullable=False)), nullable=False),
        pa.field("kv_blocks_total", _I64, nullable=False),
        pa.field("kv_blocks_free", _I64, nullable=False),
        pa.field("kv_blocks_cached", _I64, nullable=False),
        pa.field("kv_blocked", pa.bool_(), nullable=False),
        pa.field("estimated_bytes", _I64, nullable=False),
        pa.field("estimated_flops", _I64, nullable=False),
        pa.field("experts_touched", _F64),
        pa.field("estimated_write_bytes", _I64),
    ]
)


class LedgerWriter:
    """Appends records to an Arrow stream file; used as a context manager. A killed run leaves all but its last second readable."""

    def __init__(self, path: Path, run: dict[str, Any]) -> None:
        """`run` says what ran (model, dtype, device, seed, block_size, ...); it is kept as JSON in the file's metadata."""
        described = {b"tokencogs.ledger": json.dumps({"version": LEDGER_VERSION, **run}, sort_keys=True).encode()}
        self._schema = SCHEMA.with_metadata(described)
        self._sink = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_stream(self._sink, self._schema)
        self._rows: list[dict[str, Any]] = []

    def __enter__(self) -> LedgerWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __call__(self, record: StepRecord) -> None:
        self._rows.append(_row(record))
        begun = self._rows[0]["start_ns"]
        if len(self._rows) >= _ROWS_A_BATCH or record.start_ns + record.duration_ns - begun >= _NS_A_BATCH:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_batch(pa.RecordBatch.from_pylist(self._rows, schema=self._schema))
            self._rows = []

    def close(self) -> None:
        self._flush()
        self._writer.close()
        self._sink.close()


def read_run(path: Path) -> dict[str, Any]:
    """What the ledger says of its run."""
    with pa.OSFile(str(path)) as source:
        described = pa.ipc.open_stream(source).schema.metadata[b"tokencogs.ledger"]
    run: dict[str, Any] = json.loads(described)
    return run


def read_ledger(path: Path) -> Iterator[StepRecord]:
    """The records, in order."""
    with pa.OSFile(str(path)) as source:
        for batch in pa.ipc.open_stream(source):
            for row in batch.to_pylist():
                requests = tuple(_request_step(one) for one in row.pop("requests"))
                queued, preempted = PhaseSums(**row.pop("queued")), tuple(row.pop("preempted"))
                yield StepRecord(requests=requests, queued=queued, preempted=preempted, **row)


def _row(record: StepRecord) -> dict[str, Any]:
    """The record's own fields: `dataclasses.asdict` copies each value, which takes 0.17 ms a step of 8 requests."""
    return {**vars(record), "requests": [vars(one) for one in record.requests], "queued": vars(record.queued)}


def _request_step(row: dict[str, Any]) -> RequestStep:
    """Ledgers written before blocks were named have none."""
    return RequestStep(**{**row, "prefix_blocks": tuple(row.get("prefix_blocks") or ())})
