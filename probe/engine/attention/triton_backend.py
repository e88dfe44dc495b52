"""How does the engine attend on a GPU without a library? Our two Triton kernels behind the backend interface.

Under `TRITON_INTERPRET=1`, set before triton is imported, the same kernels run on a CPU, slowly.
"""

from __future__ import annotations

from torch import Tensor

from probe.engine.attention.metadata import BatchMetadata, GroupMetadata
from probe.engine.attention.triton_common import FixedTables, device_tables
from probe.engine.attention.triton_decode import decode
from probe.engine.attention.triton_prefill import prefill
from probe.engine.kv.cache import LayerCache
from probe.engine.models.spec import AttentionSpec


class TritonAttention:
    """Paged decode split over the context where every sequence has one new token, paged prefill otherwise."""

    def __init__(self) -> None:
        self._batch: BatchMetadata | None = None

    def plan(self, batch: BatchMetadata) -> None:
        self._batch = batch
        for group in batch.groups:
            if not isinstance(group.plan, FixedTables):
                group.plan = device_tables(batch, group)

    def write(self, key: Tensor, value: Tensor | None, cache: LayerCache, group: GroupMetadata) -> None:
        cache.store(key, value, group.slot_mapping)

    def attend(
        self, query: Tensor, cache: LayerCache, group: GroupMetadata, spec: AttentionSpec, sinks: Tensor | None
    ) -> Tensor:
        assert self._batch is not None, "plan() comes before attend()"
        if self._batch.is_decode:
            return decode(query, cache, group.plan, spec, sinks)
        return prefill(query, cache, group.plan, self._batch, spec, sinks)
