"""How are cached keys and values stored in eight bits? One scale a token and head, found when the token is written."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from probe.engine.errors import ProbeError
from probe.engine.kv.cache import LayerCache
from probe.engine.models.spec import AttentionSpec

LARGEST = {torch.int8: 127.0, torch.float8_e4m3fn: 448.0}
KV_DTYPES = {"int8": torch.int8, "fp8": torch.float8_e4m3fn}
SCALE_DTYPE = torch.float16
SMALLEST_SCALE = 2.0**-24  # the least positive fp16: a row smaller than this is stored as zeros


def kv_dtype(name: str) -> torch.dtype:
    """The storage dtype of "int8" or "fp8"; ProbeError names anything else."""
    if name not in KV_DTYPES:
        raise ProbeError(f"kv_cache_dtype must be one of {', '.join(KV_DTYPES)}, got {name!r}")
    return KV_DTYPES[name]


def quantise_rows(rows: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """`rows` (..., width) to codes of the same shape and fp16 scales (...), so that code * scale is the row again.

    int8: error at most half a scale, scale = max |row| / 127. fp8 (e4m3): relative error at most 2^-4 of each value,
    scale = max |row| / 448. The scale is rounded to fp16 before the codes are taken; a code that this pushes past the
    largest is held at it, which costs less than 2^-11 of the row's peak.
    """
    largest = LARGEST[dtype]
    values = rows.float()
    scale = (values.abs().amax(dim=-1) / largest).clamp_min(SMALLEST_SCALE).to(SCALE_DTYPE)
    scaled = (values / scale.float()[..., None]).clamp(-largest, largest)
    codes = scaled.round().to(dtype) if dtype == torch.int8 else scaled.to(dtype)
    return codes, scale


def dequantise_rows(codes: Tensor, scale: Tensor, dtype: torch.dtype) -> Tensor:
    """The rows that `quantise_rows` stored, in `dtype`."""
    return (codes.float() * scale.float()[..., None]).to(dtype)


def bytes_per_token(spec: AttentionSpec) -> int:
    """Bytes one token takes in one layer of an eight-bit cache: a byte an element and an fp16 scale a row and head."""
    rows = spec.num_kv_heads * (1 if spec.shares_key else 2)
    return spec.row_elements + 2 * rows


@dataclass(frozen=True)
class QuantisedLayerCache(LayerCache):
    """A `LayerCache` whose tensors are codes.

    Attributes:
        key_scale, value_scale: [num_blocks, block_size, kv heads] fp16; for MLA the value's are the key's own.
    """

    key_scale: Tensor
    value_scale: Tensor

    @classmethod
    def allocate(
        cls, spec: AttentionSpec, num_blocks: int, block_size: int, dtype: torch.dtype, device: torch.device
    ) -> QuantisedLayerCache:
        codes = LayerCache.allocate(spec, num_blocks, block_size, dtype, device)
        rows = (num_blocks, block_size, spec.num_kv_heads)
        key_scale = torch.zeros(rows, dtype=SCALE_DTYPE, device=device)
        value_scale = key_scale if spec.shares_key else torch.zeros_like(key_scale)
        return cls(codes.key, codes.value, key_scale, value_scale)

    def store(self, key: Tensor, value: Tensor | None, slots: Tensor) -> None:
        """`key` [T, heads, width] and `value` (None: a part of the key) to `slots` [T]."""
        _store(self.key, self.key_scale, key, slots)
        if value is not None:
            _store(self.value, self.value_scale, value, slots)

    def blocks(self, block_ids: Tensor, dtype: torch.dtype) -> LayerCache:
        """The named blocks, dequantised, as a cache of their own: block i of it is block_ids[i] of this one."""
        key = dequantise_rows(_take(self.key, block_ids), self.key_scale[block_ids], dtype)
        if self.value_scale is self.key_scale:
            return LayerCache(key, key[..., : self.value.shape[-1]])
        return LayerCache(key, dequantise_rows(_take(self.value, block_ids), self.value_scale[block_ids], dtype))

    def copy_block(self, source: int, target: int) -> None:
        super().copy_block(source, target)
        self.key_scale[target].copy_(self.key_scale[source])
        self.value_scale[target].copy_(self.value_scale[source])


def _store(codes: Tensor, scales: Tensor, rows: Tensor, slots: Tensor) -> None:
    new_codes, new_scales = quantise_rows(rows, codes.dtype)
    _bytes(codes).flatten(0, 1)[slots] = _bytes(new_codes)
    scales.flatten(0, 1)[slots] = new_scales


def _take(codes: Tensor, block_ids: Tensor) -> Tensor:
    return _bytes(codes)[block_ids].view(codes.dtype)


def _bytes(codes: Tensor) -> Tensor:
    """The codes as plain bytes: indexing is not defined for eight-bit floats on every device."""
    return codes.view(torch.uint8)
