"""What is a step ledger as it is kept: which steps a replica took, and which requests had which part in each?

Columns of one length a kind: steps in order of time, parts in order of their steps. An hour's part of a ledger is a ledger too.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa

from accounting.selfhosted.arrays import Bools, Floats, Ints
from accounting.selfhosted.pool import HOUR_US

NS_PER_US = 1_000
HOUR_NS = HOUR_US * NS_PER_US
_OF_STEPS = ("start_ns", "duration_ns", "kv_blocked")
_PACKED = pa.ipc.IpcWriteOptions(compression="zstd")


@dataclass(frozen=True)
class StepLedger:
    """Steps of one replica.

    Attributes:
        start_ns, duration_ns, kv_blocked: by step: Unix time, measured time, whether memory kept a request out.
        step: by part: index of its step. request: index in `request_ids`.
        new_tokens, past_tokens: computed in the step, in the cache before it. prompt: of a prompt.
        held: KV blocks, a block of n holders counting 1/n.
        request_ids: sorted.
    """

    start_ns: Ints
    duration_ns: Ints
    kv_blocked: Bools
    step: Ints
    request: Ints
    new_tokens: Ints
    past_tokens: Ints
    prompt: Bools
    held: Floats
    request_ids: tuple[str, ...]

    @property
    def steps(self) -> int:
        """How many there are."""
        return len(self.start_ns)

    @property
    def end_ns(self) -> int:
        """When the last step had ended; steps are in order, and one may begin before the clock says that its forerunner is over."""
        return int((self.start_ns + self.duration_ns).max())

    def hash(self) -> bytes:
        """The same for the same steps, however they were packed."""
        found = hashlib.sha256()
        for name in _COLUMNS:
            found.update(np.ascontiguousarray(getattr(self, name)).tobytes())
        for one in self.request_ids:
            found.update(one.encode() + b"\0")
        return found.digest()

    def hours(self) -> list[tuple[int, StepLedger]]:
        """(first nanosecond, the steps that began in it) of every hour from the first step's to the last one's, empty ones too."""
        first, last = (int(one) // HOUR_NS for one in (self.start_ns[0], self.start_ns[-1]))
        edges = np.searchsorted(self.start_ns, np.arange(first, last + 2) * HOUR_NS)
        return [
            ((first + at) * HOUR_NS, self._between(int(edges[at]), int(edges[at + 1])))
            for at in range(last - first + 1)
        ]

    def _between(self, low: int, high: int) -> StepLedger:
        start, stop = np.searchsorted(self.step, [low, high])
        used, request = np.unique(self.request[start:stop], return_inverse=True)
        parts: dict[str, Any] = {name: getattr(self, name)[start:stop] for name in _OF_PARTS}
        parts |= {"step": self.step[start:stop] - low, "request": request.astype(np.int64)}
        steps: dict[str, Any] = {name: getattr(self, name)[low:high] for name in _OF_STEPS}
        return StepLedger(**steps, **parts, request_ids=tuple(self.request_ids[at] for at in used.tolist()))

    def packed(self) -> tuple[bytes, bytes]:
        """Steps and parts as Arrow streams."""
        names = pa.array(self.request_ids, pa.string())
        parts = {name: pa.array(getattr(self, name)) for name in _OF_PARTS if name != "request"}
        parts["request"] = pa.DictionaryArray.from_arrays(pa.array(self.request, pa.int32()), names)
        return _stream({name: pa.array(getattr(self, name)) for name in _OF_STEPS}), _stream(parts)

    @staticmethod
    def unpacked(steps: bytes, parts: bytes) -> StepLedger:
        """What `packed` made."""
        of_steps, of_parts = pa.ipc.open_stream(steps).read_all(), pa.ipc.open_stream(parts).read_all()
        requests = of_parts.column("request").combine_chunks()
        columns: dict[str, Any] = {name: of_steps.column(name).to_numpy() for name in _OF_STEPS}
        columns |= {name: of_parts.column(name).to_numpy() for name in _OF_PARTS if name != "request"}
        request = requests.indices.to_numpy().astype(np.int64)
        return StepLedger(**columns, request=request, request_ids=tuple(requests.dictionary.to_pylist()))


_COLUMNS = tuple(one.name for one in fields(StepLedger) if one.name != "request_ids")
_OF_PARTS = tuple(name for name in _COLUMNS if name not in _OF_STEPS)


def _stream(columns: dict[str, Any]) -> bytes:
    batch = pa.RecordBatch.from_pydict(columns)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batch.schema, options=_PACKED) as writer:
        writer.write_batch(batch)
    return sink.getvalue()
