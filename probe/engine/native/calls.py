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
from probe.engine.native.pool import COLUMNS, KEYS, ROWS, Kernel, scratch

WIDTH = 32
"""bf16 in a register: what widths of keys and values (`decode`, `prefill`), half of a head's (`turn_and_write`), a token's (`norm_of_sum`)
are multiples of."""
_SUMS = 2048
"""Bytes of a thread's sums, apart from another's by whole lines of a cache."""
_UNIT = 1e-12


_PRODUCT, _GATED = Kernel("products_kernel", "product"), Kernel("products_kernel", "gated_product")
_DECODE = Kernel("decode_kernel", "decode")
_LAY, _PREFILL = Kernel("prefill_kernel", "lay"), Kernel("prefill_kernel", "prefill")
_NORM, _TURN, _GATE = (Kernel("pointwise_kernel", name) for name in ("norm_of_sum", "turn_and_write", "gate"))


def compile_all() -> None:
    """Every kernel, which takes seconds that a first request should not wait for."""
    for kernel in (_PRODUCT, _GATED, _DECODE, _LAY, _PREFILL, _NORM, _TURN, _GATE):
        kernel.compile()


def panels(weight: Tensor) -> Tensor:
    """weight [out, in] as `product` reads it: [ceil(out / COLUMNS), in / 2, COLUMNS] words of two bf16, padded by zeros. `in` is even."""
    rows, columns = weight.shape
    whole = torch.zeros(-(-rows // COLUMNS), columns // 2, COLUMNS, dtype=torch.int32)
    given = weight.contiguous().view(torch.int32)
    end = rows // COLUMNS * COLUMNS
    whole[: rows // COLUMNS] = given[:end].view(-1, COLUMNS, columns // 2).transpose(1, 2)
    if end < rows:
        whole[-1, :, : rows - end] = given[end:].T
    return whole


def product(x: Tensor, laid: Tensor, bias: Tensor | None, columns: int, *, gated: bool = False) -> Tensor:
    """x [T, in] by `panels` of a weight [columns, in], and bias [columns]: [T, columns].

    gated: silu of the first half times the second, [T, columns / 2]; each half is then a multiple of COLUMNS.
    """
    x = x.contiguous()
    tokens, inner = x.shape
    size = 2 * inner
    out = x.new_empty((tokens, columns // 2 if gated else columns))
    numbers = (
        *(x.data_ptr(), laid.data_ptr(), out.data_ptr(), tokens, size, columns, _address(bias)),
        *(scratch(_SUMS).data_ptr(), _SUMS),
    )
    if gated:
        _GATED(*numbers)
    else:
        _PRODUCT(*numbers, 1, size, 0, 2 * columns, 0)
    return out


def products(x: Tensor, laid: Tensor, out: Tensor) -> None:
    """x [T, H, in], each of H by a matrix of its own, to out [T, H, columns]; laid: `panels` of each, one behind the other.

    Both may be views; their last dimension is contiguous.
    """
    tokens, matrices, inner = x.shape
    _PRODUCT(
        *(x.data_ptr(), laid.data_ptr(), out.data_ptr(), tokens, 2 * inner, out.shape[2], 0),
        *(scratch(_SUMS).data_ptr(), _SUMS, matrices),
        *(2 * x.stride(0), 2 * x.stride(1), 2 * out.stride(0), 2 * out.stride(1)),
    )


def norm_of_sum(x: Tensor, delta: Tensor | None, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """x + delta [T, hidden], and its RMS norm times weight."""
    x = x.contiguous()
    delta = None if delta is None else delta.contiguous()
    whole, normed = x if delta is None else torch.empty_like(x), torch.empty_like(x)
    pointers = x.data_ptr(), _address(delta), weight.data_ptr(), whole.data_ptr(), normed.data_ptr()
    tokens, width = x.shape
    _NORM(*pointers, tokens, 2 * width, round(eps / _UNIT), alone=tokens <= pool.ALONE)
    return whole, normed


def gate(x: Tensor) -> Tensor:
    """silu of the first half of x [T, 2 width] times the second: [T, width]. `width` is a multiple of WIDTH."""
    x = x.contiguous()
    tokens, width = x.shape
    out = x.new_empty(tokens, width // 2)
    _GATE(x.data_ptr(), tokens, width, out.data_ptr(), alone=tokens <= pool.ALONE)
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
    tokens = qkv.shape[0]
    query = qkv.new_empty(tokens, spec.num_heads, spec.key_dim)
    _TURN(
        *(qkv.data_ptr(), tokens, spec.num_heads, spec.num_kv_heads, 2 * spec.key_dim),
        *(angles[0].data_ptr(), angles[1].data_ptr()),
        *((0, 0, 0) if norms is None else (norms.query.data_ptr(), norms.key.data_ptr(), round(norms.eps / _UNIT))),
        *(query.data_ptr(), cache.keys, cache.values, cache.slot, cache.head, slots.data_ptr()),
        alone=tokens <= pool.ALONE,
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


def decode(query: Tensor, cache: Memory, plan: DecodePlan, spec: AttentionSpec, out: Tensor, lse: Tensor) -> None:
    """query [T, H, D] to out [T, H, V] and log-sum-exp [T, H] in float32, at the plan's rows."""
    if not isinstance(plan.rows, slice):
        few = out.new_empty((len(plan.rows), *out.shape[1:])), lse.new_empty((len(plan.rows), *lse.shape[1:]))
        _decode(query[plan.rows], cache, plan, spec, *few)
        out[plan.rows], lse[plan.rows] = few
        return
    _decode(query[plan.rows], cache, plan, spec, out[plan.rows], lse[plan.rows])


def _decode(query: Tensor, cache: Memory, plan: DecodePlan, spec: AttentionSpec, out: Tensor, lse: Tensor) -> None:
    query = query.contiguous()
    room = spec.group_size * (4 * plan.most + 128)  # of each head its scores to the end of a register, and their sum
    tables, counter = plan.tables, torch.zeros(1, dtype=torch.int64)
    _DECODE(
        *(query.data_ptr(), 2 * query.stride(0), cache.keys, cache.values, cache.slot, cache.head),
        *(tables.data_ptr(), tables.shape[1], plan.lengths.data_ptr(), plan.firsts.data_ptr(), query.shape[0]),
        *(spec.num_kv_heads, spec.group_size, spec.key_dim, spec.value_dim, plan.block_size, _bits(spec.scale)),
        *(out.data_ptr(), lse.data_ptr(), scratch(room).data_ptr(), room, counter.data_ptr()),
    )


def first_laid(past: int, window: int) -> int:
    """The first key in panels: the first that a token after `past` others sees, or one before it. Whole tiles from the context's beginning,
    so that a token's sums have one order whichever of its prompt's tokens come with it."""
    return max(0, past - window + 1) // KEYS * KEYS


def most_laid(seen: int) -> int:
    """Keys in the tiles that rows of a tile can see together, each of them `seen` keys at most: part of a tile at either end."""
    return (seen + ROWS - 1 + 2 * (KEYS - 1)) // KEYS * KEYS


@dataclass
class PrefillPlan:
    """Sequences with several new tokens each.

    Attributes: facts: of each sequence its first row among the step's tokens, its new and its past tokens, its
    first key laid; tables: [s, blocks] int64;
    window: keys that a token sees.
    """

    facts: list[tuple[int, int, int, int]]
    tables: Tensor
    window: int
    block_size: int
    _laid: tuple[Tensor, Tensor, Tensor] | None = None

    def laid(self, spec: AttentionSpec) -> tuple[Tensor, Tensor, Tensor]:
        """Room for panels; facts [s, FACTS]; chunks [c, 2], a sequence and its first token, those that see most first."""
        if self._laid is None:
            end, facts, chunks = 0, [], []
            for number, (row, new, past, low) in enumerate(self.facts):
                facts.append([row, new, past, low, end])
                end += spec.num_kv_heads * 2 * (spec.key_dim + spec.value_dim) * -(-(new + past - low) // KEYS) * KEYS
                chunks += [(min(past + first, self.window), number, first) for first in range(0, new, pool.CHUNK)]
            chunks.sort(reverse=True)
            self._laid = (
                torch.empty(end, dtype=torch.uint8),
                torch.tensor(facts),
                torch.tensor([chunk[1:] for chunk in chunks]),
            )
        return self._laid


def prefill(query: Tensor, cache: Memory, plan: PrefillPlan, spec: AttentionSpec, out: Tensor, lse: Tensor) -> None:
    """query [T, H, D] to out [T, H, V] and log-sum-exp [T, H] in float32, at the rows of the plan's sequences."""
    query = query.contiguous()
    panels, facts, chunks = plan.laid(spec)
    span = max(most_laid(min(new + past - low, plan.window)) for _, new, past, low in plan.facts)
    room = _SUMS + ROWS * (4 * span + 64)  # of each row of a tile its scores, and their sum
    counter = torch.zeros(1, dtype=torch.int64)
    numbers = (
        *(query.data_ptr(), out.data_ptr(), lse.data_ptr(), cache.keys, cache.values, cache.slot, cache.head),
        *(spec.num_kv_heads, spec.group_size, spec.key_dim, spec.value_dim, plan.block_size),
        *(_bits(spec.scale), plan.window),
        *(plan.tables.data_ptr(), plan.tables.shape[1], facts.data_ptr(), len(facts), panels.data_ptr()),
        *(chunks.data_ptr(), len(chunks), scratch(room).data_ptr(), room, counter.data_ptr()),
    )
    _LAY(*numbers)
    _PREFILL(*numbers)


def _address(tensor: Tensor | None) -> int:
    return 0 if tensor is None else tensor.data_ptr()


def _bits(value: float) -> int:
    """Of its float32."""
    return int(struct.unpack("<i", struct.pack("<f", value))[0])
