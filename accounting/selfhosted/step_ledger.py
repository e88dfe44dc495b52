"""What is a step ledger as it is kept: which steps a replica took, and which requests had which part in each?

Columns of one length a kind: steps in order of time, parts in order of their steps. An hour's part of a ledger is a ledger too.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from accounting.selfhosted.arrays import Bools, Floats, Ints
from accounting.selfhosted.pool import HOUR_US

NS_PER_US = 1_000
HOUR_NS = HOUR_US * NS_PER_US
_OF_STEPS = ("start_ns", "duration_ns", "kv_blocked")
_OF_PARTS = ("step", "request", "new_tokens", "past_tokens", "prompt", "held")
_OF_BLOCKS = ("block_part", "block_index", "block")
_COLUMNS = (*_OF_STEPS, *_OF_PARTS, *_OF_BLOCKS)
_SIZE = b"block_size"
_PACKED = pa.ipc.IpcWriteOptions(compression="zstd")


def _no_ints() -> Ints:
    return np.zeros(0, np.int64)


@dataclass(frozen=True)
class StepLedger:
    """Steps of one replica.

    Attributes:
        start_ns, duration_ns, kv_blocked: by step: Unix time, measured time, whether memory kept a request out.
        step: by part: index of its step. request: index in `request_ids`.
        new_tokens, past_tokens: computed in the step, in the cache before it. prompt: of a prompt.
        held: KV blocks, a block of n holders counting 1/n.
        request_ids: sorted.
        block_part, block_index, block: by full block of a prompt, in the step that admitted it: its part, its place in the prompt, its
            index in `block_names`; none where the engine names no blocks.
        block_size: tokens of a block; 0 where it names none.
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
    block_part: Ints = field(default_factory=_no_ints)
    block_index: Ints = field(default_factory=_no_ints)
    block: Ints = field(default_factory=_no_ints)
    block_names: tuple[bytes, ...] = ()
    block_size: int = 0

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
        for block in self.block_names:
            found.update(len(block).to_bytes(4, "little") + block)
        found.update(self.block_size.to_bytes(8, "little"))
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
        first, last = np.searchsorted(self.block_part, [start, stop])
        names, block = np.unique(self.block[first:last], return_inverse=True)
        return StepLedger(
            **steps,
            **parts,
            request_ids=tuple(self.request_ids[at] for at in used.tolist()),
            block_part=self.block_part[first:last] - start,
            block_index=self.block_index[first:last],
            block=block.astype(np.int64),
            block_names=tuple(self.block_names[at] for at in names.tolist()),
            block_size=self.block_size,
        )

    def packed(self) -> tuple[bytes, bytes]:
        """Steps, and parts with the blocks they name, as Arrow streams."""
        names = pa.array(self.request_ids, pa.string())
        parts = {name: pa.array(getattr(self, name)) for name in _OF_PARTS if name != "request"}
        parts["request"] = pa.DictionaryArray.from_arrays(pa.array(self.request, pa.int32()), names)
        blocks = {name: pa.array(getattr(self, name), pa.int32()) for name in ("block_part", "block_index")}
        named = pa.array(self.block_names, pa.binary())
        blocks["block"] = pa.DictionaryArray.from_arrays(pa.array(self.block, pa.int32()), named)
        steps = _stream({name: pa.array(getattr(self, name)) for name in _OF_STEPS})
        return steps, _stream(parts) + _stream(blocks, {_SIZE: str(self.block_size)})

    @staticmethod
    def unpacked(steps: bytes, parts: bytes) -> StepLedger:
        """What `packed` made."""
        behind = pa.BufferReader(parts)
        of_steps, of_parts, of_blocks = (pa.ipc.open_stream(one).read_all() for one in (steps, behind, behind))
        requests = of_parts.column("request").combine_chunks()
        blocks = of_blocks.column("block").combine_chunks()
        columns: dict[str, Any] = {name: of_steps.column(name).to_numpy() for name in _OF_STEPS}
        columns |= {name: of_parts.column(name).to_numpy() for name in _OF_PARTS if name != "request"}
        request = requests.indices.to_numpy().astype(np.int64)
        columns |= {name: of_blocks.column(name).to_numpy().astype(np.int64) for name in ("block_part", "block_index")}
        return StepLedger(
            **columns,
            request=request,
            request_ids=tuple(requests.dictionary.to_pylist()),
            block=blocks.indices.to_numpy().astype(np.int64),
            block_names=tuple(blocks.dictionary.to_pylist()),
            block_size=int(of_blocks.schema.metadata[_SIZE]),
        )


def _stream(columns: dict[str, Any], metadata: dict[bytes, str] | None = None) -> bytes:
    batch = pa.RecordBatch.from_pydict(columns, metadata=metadata)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batch.schema, options=_PACKED) as writer:
        writer.write_batch(batch)
    return sink.getvalue()
