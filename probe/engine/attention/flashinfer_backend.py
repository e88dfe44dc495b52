"""How does the engine attend where FlashInfer is installed? One plan a step and head shape, then its paged kernels.

Not measured and not run yet: it needs a CUDA device. MLA layers are refused; the Triton backend runs them.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from probe.engine.attention.flash import with_sinks
from probe.engine.attention.metadata import BatchMetadata, GroupMetadata
from probe.engine.attention.page_table import page_table
from probe.engine.errors import ProbeError
from probe.engine.kv.cache import LayerCache
from probe.engine.models.spec import AttentionSpec

NO_MLA = "attention_backend: 'flashinfer' doesn't run MLA layers; use 'triton'"
WORKSPACE_BYTES = 128 << 20  # FlashInfer's recommended scratch space


class FlashInferAttention:
    """Decode and prefill by `BatchPrefillWithPagedKVCacheWrapper`; a decoding sequence is a prefill of one token.

    Errors: ProbeError where FlashInfer or a CUDA device is missing.
    """

    def __init__(self, device: str | torch.device = "cuda") -> None:
        try:
            import flashinfer  # noqa: PLC0415 (an optional library, asked for by name)
        except ImportError as missing:
            raise ProbeError(
                "attention_backend: 'flashinfer', and the library isn't installed (extra `gpu`)"
            ) from missing
        if not torch.cuda.is_available():
            raise ProbeError(f"attention_backend: 'flashinfer' needs a CUDA device, got {device}")
        self._flashinfer: Any = flashinfer
        self._device = torch.device(device)
        self._wrappers: dict[tuple[int | None, AttentionSpec], Any] = {}
        self._batch: BatchMetadata | None = None

    def plan(self, batch: BatchMetadata) -> None:
        self._batch = batch
        for group in batch.groups:
            table = page_table(batch, group)
            columns = (table.qo_indptr, table.kv_indptr, table.kv_indices, table.kv_last_page_len)
            group.plan = ([torch.tensor(c, dtype=torch.int32).to(self._device) for c in columns], set())

    def write(self, key: Tensor, value: Tensor | None, cache: LayerCache, group: GroupMetadata) -> None:
        if value is None:
            raise ProbeError(NO_MLA)
        cache.store(key, value, group.slot_mapping)

    def attend(
        self, query: Tensor, cache: LayerCache, group: GroupMetadata, spec: AttentionSpec, sinks: Tensor | None
    ) -> Tensor:
        if spec.shares_key:
            raise ProbeError(NO_MLA)
        wrapper = self._planned(query, cache, group, spec)
        if sinks is None:
            plain: Tensor = wrapper.run(query, (cache.key, cache.value))
            return plain
        out, log2_sum = wrapper.run(query, (cache.key, cache.value), return_lse=True)
        return with_sinks((out, log2_sum * math.log(2)), sinks)

    def _planned(self, query: Tensor, cache: LayerCache, group: GroupMetadata, spec: AttentionSpec) -> Any:
        """The wrapper of this shape, planned once a step; layers of equal shape share it."""
        assert self._batch is not None, "plan() comes before attend()"
        key = (group.window, spec)
        if key not in self._wrappers:
            workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device=self._device)
            self._wrappers[key] = self._flashinfer.BatchPrefillWithPagedKVCacheWrapper(workspace, "NHD")
        wrapper, (columns, done) = self._wrappers[key], group.plan
        if key not in done:
            wrapper.plan(
                *columns, spec.num_heads, spec.num_kv_heads, spec.key_dim, self._batch.block_size,
                head_dim_vo=spec.value_dim, causal=True, sm_scale=spec.scale,
                window_left=-1 if spec.window is None else spec.window - 1,
                q_data_type=query.dtype, kv_data_type=cache.key.dtype,
            )  # fmt: skip
            done.add(key)
        return wrapper
