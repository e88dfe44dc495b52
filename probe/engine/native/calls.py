"""How do tensors reach the kernels? Each function here does one thing of a step that torch does in several calls, or slower.

All tensors are bf16 on a CPU (`pool.takes`), rows contiguous. Kernels are compiled at their first call, in about a second.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import torch
from torch import Tensor

from probe.engine.kv.cache import Memory
from probe.engine.models.spec import AttentionSpec
from probe.engine.native import pool
from probe.engine.native.pool import Kernel, scratch

WIDTH = 32
"""bf16 in a register: what a head's width (for `decode`), half of it (`turn_and_write`), a token's (`norm_of_sum`) is a multiple of."""
_SUMS = 16 * pool.MOST_ROWS
_UNIT = 1e-12


_PRODUCT, _GATED = Kernel("products_kernel", "product"), Kernel("products_kernel", "gated_product")
_DECODE = Kernel("decode_kernel", "decode")
_NORM, _TURN, _GATE = (Kernel("pointwise_kernel", name) for name in ("norm_of_sum", "turn_and_write", "gate"))


def product(x: Tensor, weight: Tensor, bias: Tensor | None, *, gated: bool = False) -> Tensor:
    """x [T, in] by weight [out, in] and bias [out]: [T, out]; gated: silu of the first half times the second, [T, out / 2].

    T is at most `pool.MOST_ROWS`, `in` a multiple of 64, `out` even.
    """
    x, rows = x.contiguous(), len(weight)
    out = x.new_empty(len(x), rows // 2 if gated else rows)
    (_GATED if gated else _PRODUCT)(
        x.data_ptr(),
        weight.data_ptr(),
        out.data_ptr(),
        len(x),
        2 * x.shape[1],
        rows,
        _address(bias),
        scratch(_SUMS).data_ptr(),
        _SUMS,
    )
    return out


def norm_of_sum(x: Tensor, delta: Tensor | None, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """x + delta [T, hidden], and its RMS norm times weight."""
    x = x.contiguous()
    delta = None if delta is None else delta.contiguous()
    whole, normed = x if delta is None else torch.empty_like(x), torch.empty_like(x)
    pointers = x.data_ptr(), _address(delta), weight.data_ptr(), whole.data_ptr(), normed.data_ptr()
    _NORM(*pointers, len(x), 2 * x.shape[1], round(eps / _UNIT), alone=len(x) <= pool.ALONE)
    return whole, normed


def gate(x: Tensor) -> Tensor:
    """silu of the first half of x [T, 2 width] times the second: [T, width]. `width` is a multiple of WIDTH."""
    x = x.contiguous()
    out = x.new_empty(len(x), x.shape[1] // 2)
    _GATE(x.data_ptr(), len(x), x.shape[1], out.data_ptr(), alone=len(x) <= pool.ALONE)
    return out


@dataclass(frozen=True)
class HeadNorms:
    """RMS norms of each head's query and key, [width] (Qwen3)."""

    query: Tensor
    key: Tensor
    eps: float


def turn_and_write(
    qkv: Tensor,
    angles: tuple[Tensor, Tensor],
    norms: HeadNorms | None,
    cache: Memory,
    slots: Tensor,
    spec: AttentionSpec,
) -> Tensor:
    """qkv [T, (H + 2 G) width]: queries normed and turned [T, H, width]; keys, the same way, and values go to `slots` [T] of the cache.

    Overwrites qkv. angles: cosines and sines [T, 1, width / 2].
    """
    query = qkv.new_empty(len(qkv), spec.num_heads, spec.key_dim)
    _TURN(
        *(qkv.data_ptr(), len(qkv), spec.num_heads, spec.num_kv_heads, 2 * spec.key_dim),
        *(angles[0].data_ptr(), angles[1].data_ptr()),
        *((0, 0, 0) if norms is None else (norms.query.data_ptr(), norms.key.data_ptr(), round(norms.eps / _UNIT))),
        *(query.data_ptr(), cache.keys, cache.values, cache.slot, cache.head, slots.data_ptr()),
        alone=len(qkv) <= pool.ALONE,
    )
    return query


@dataclass(frozen=True)
class DecodePlan:
    """Sequences with one new token each.

    Attributes: rows: their tokens among the step's; tables: [b, blocks] int64; lengths, firsts: [b] int64, tokens held with the new one
    and the first that is seen; most: of lengths - firsts.
    """

    rows: Tensor | slice
    tables: Tensor
    lengths: Tensor
    firsts: Tensor
    most: int
    block_size: int


def decode(query: Tensor, cache: Memory, plan: DecodePlan, spec: AttentionSpec) -> tuple[Tensor, Tensor]:
    """query [b, H, width], one token a sequence: output [b, H, width] and log-sum-exp [b, H] in float32."""
    query = query.contiguous()
    out, lse = torch.empty_like(query), query.new_empty(len(query), spec.num_heads, dtype=torch.float32)
    room = spec.group_size * (4 * plan.most + 68)  # of each head its sum, and its scores to the end of a register
    counter = torch.zeros(1, dtype=torch.int64)
    _DECODE(
        *(query.data_ptr(), 2 * query.stride(0), cache.keys, cache.values, cache.slot, cache.head),
        *(plan.tables.data_ptr(), plan.tables.shape[1], plan.lengths.data_ptr(), plan.firsts.data_ptr(), len(query)),
        *(spec.num_kv_heads, spec.group_size, spec.key_dim, plan.block_size, _bits(spec.scale)),
        *(out.data_ptr(), lse.data_ptr(), scratch(room).data_ptr(), room, counter.data_ptr()),
    )
    return out, lse


def _address(tensor: Tensor | None) -> int:
    return 0 if tensor is None else tensor.data_ptr()


def _bits(value: float) -> int:
    """Of its float32."""
    return int(struct.unpack("<i", struct.pack("<f", value))[0])
