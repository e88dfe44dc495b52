"""How is a decode step launched as one CUDA graph? Inputs are copied into fixed buffers, then the recorded step is replayed.

A decode step of a small batch is hundreds of kernels of a few microseconds each; launched one by one they wait for the host.
Recorded for each exact batch size, so no row is padding; contexts share a graph up to the next power of two, which fixes into how
many parts the attention kernel cuts them. On a CPU nothing is recorded and the same buffers are computed on: that is how the tests
reach this code without a GPU. Not measured: it has not run on one yet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from probe.engine.attention.metadata import BatchMetadata, GroupMetadata
from probe.engine.attention.triton_backend import TritonAttention
from probe.engine.attention.triton_common import DeviceTables, FixedTables, device_tables
from probe.engine.errors import ProbeError
from probe.engine.kv.cache import LayerCache
from probe.engine.models.model import Model

WARM_UP = 2  # runs before recording, in which kernels are compiled and libraries take their workspaces


@dataclass
class _Recorded:
    """One graph. Attributes: replay: runs it; logits: its output buffer [B, V]."""

    token_ids: Tensor
    batch: BatchMetadata
    replay: Callable[[], None]
    logits: Tensor


class GraphedModel:
    """`Model.forward` with decode steps replayed from graphs; everything else runs as before.

    The caches must be the same tensors in each call. Errors: ProbeError for a model with experts, whose routing asks the host,
    and for a backend other than Triton's.
    """

    def __init__(self, model: Model) -> None:
        if model.config.moe is not None:
            raise ProbeError(
                "cuda_graphs: a model with experts can't be recorded, its routing asks the host in each layer"
            )
        if not isinstance(model.backend, TritonAttention):
            raise ProbeError(f"cuda_graphs: needs the Triton backend, got {type(model.backend).__name__}")
        self._model = model
        self._recorded: dict[tuple[int, int], _Recorded] = {}
        # Graphs run one after another and leave nothing but their logits, which lie outside: one pool serves all of them.
        self._pool = torch.cuda.graph_pool_handle() if model.device.type == "cuda" else None

    @property
    def num_graphs(self) -> int:
        return len(self._recorded)

    @torch.inference_mode()
    def forward(
        self, token_ids: Tensor, batch: BatchMetadata, caches: list[LayerCache], rows: Tensor | None = None
    ) -> Tensor:
        """As `Model.forward`. Logits of a decode step lie in a buffer that the next one overwrites."""
        if not batch.is_decode:
            return self._model.forward(token_ids, batch, caches, rows)
        tables = [device_tables(batch, group) for group in batch.groups]
        bucket = 1 << (max(table.longest for table in tables) - 1).bit_length()
        key = (len(batch.num_new), bucket)
        if key not in self._recorded:
            self._recorded[key] = self._record(token_ids, batch, caches, bucket)
        recorded = self._recorded[key]
        _fill(recorded, token_ids, batch, tables)
        recorded.replay()
        return recorded.logits if rows is None else recorded.logits[rows]

    def _record(self, token_ids: Tensor, batch: BatchMetadata, caches: list[LayerCache], bucket: int) -> _Recorded:
        count, device = len(batch.num_new), self._model.device
        width = -(-bucket // batch.block_size)
        groups = []
        for group in batch.groups:
            static = GroupMetadata(group.window, [], torch.zeros_like(group.slot_mapping))
            starts = torch.arange(count + 1, dtype=torch.int32, device=device)
            block_tables = torch.zeros((count, width), dtype=torch.int32, device=device)
            static.plan = FixedTables(block_tables, starts, torch.zeros_like(starts[:-1]), bucket)
            groups.append(static)
        fixed = BatchMetadata(
            [1] * count, [0] * count, batch.block_size, torch.zeros_like(batch.positions), groups, batch.num_blocks
        )
        recorded = _Recorded(torch.zeros_like(token_ids), fixed, lambda: None, torch.empty(0))

        def step() -> None:
            logits = self._model.forward(recorded.token_ids, fixed, caches)
            if recorded.logits.numel() == 0:
                recorded.logits = torch.empty_like(logits)
            recorded.logits.copy_(logits)

        # The warm-up and the recording write where the real step will write, so they need its slots.
        _fill(recorded, token_ids, batch, [device_tables(batch, group) for group in batch.groups])
        step()
        recorded.replay = step if device.type != "cuda" else _capture(step, self._pool)
        return recorded


def _fill(recorded: _Recorded, token_ids: Tensor, batch: BatchMetadata, tables: list[DeviceTables]) -> None:
    recorded.token_ids.copy_(token_ids)
    recorded.batch.positions.copy_(batch.positions)
    for static, group, table in zip(recorded.batch.groups, batch.groups, tables, strict=True):
        static.slot_mapping.copy_(group.slot_mapping)
        # A sequence may hold blocks for tokens to come; the graph's tables end where its contexts can.
        width = min(static.plan.block_tables.shape[1], table.block_tables.shape[1])
        static.plan.block_tables[:, :width].copy_(table.block_tables[:, :width])
        static.plan.num_past.copy_(table.num_past)


def _capture(step: Callable[[], None], pool: Any) -> Callable[[], None]:
    """Records `step` after a warm-up on a stream of its own, as torch.cuda.graph asks for."""
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        step()
    return graph.replay
