"""How do many new tokens of many sequences attend to a paged cache on a GPU? One program a tile of queries and a head.

New tokens are already in the cache, so a chunk of a prompt, a whole prompt and a mixed step are the same thing: query i of a
sequence stands at num_past + i and sees every position up to its own.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from probe.engine.attention.metadata import BatchMetadata
from probe.engine.attention.triton_common import WARPS_WIDE, WIDE, DeviceTables, head_shape
from probe.engine.attention.triton_dot import INTERPRETED, dot
from probe.engine.kv.cache import LayerCache
from probe.engine.models.spec import AttentionSpec

QUERIES = 64  # query tokens a program
TOKENS = 32  # keys an iteration
QUERIES_WIDE = 16  # the same where a key's row is wide


@triton.jit(do_not_specialize=["stride_table"])
def _prefill_kernel(
    query, key, value, tables, starts, num_past, tile_sequence, tile_first, sinks, out,
    scale, stride_qt, stride_qh, stride_kb, stride_kt, stride_kh, stride_vb, stride_vt, stride_vh, stride_table,
    window, num_heads,
    GROUP: tl.constexpr, BLOCK_SIZE: tl.constexpr, QUERIES: tl.constexpr, TOKENS: tl.constexpr,
    MAIN: tl.constexpr, KEY_USED: tl.constexpr, TAIL: tl.constexpr, TAIL_USED: tl.constexpr,
    VALUE: tl.constexpr, VALUE_USED: tl.constexpr, SINKS: tl.constexpr, WIDEN: tl.constexpr,
):  # fmt: skip
    tile, head = tl.program_id(0), tl.program_id(1)
    kv_head = head // GROUP
    sequence, first_query = tl.load(tile_sequence + tile), tl.load(tile_first + tile)
    row, count = tl.load(starts + sequence).to(tl.int64), tl.load(starts + sequence + 1) - tl.load(starts + sequence)
    past = tl.load(num_past + sequence)
    index = first_query + tl.arange(0, QUERIES)
    real = index < count
    positions = past + index
    last = past + tl.minimum(first_query + QUERIES, count)
    start = tl.maximum(0, past + first_query + 1 - window)

    main, tail, width = tl.arange(0, MAIN), tl.arange(0, TAIL if TAIL > 0 else 16), tl.arange(0, VALUE)
    q_rows = query + (row + index)[:, None] * stride_qt + head * stride_qh
    q_main = tl.load(q_rows + main[None, :], mask=real[:, None] & (main < KEY_USED)[None, :], other=0.0)
    if TAIL > 0:
        q_tail = tl.load(q_rows + MAIN + tail[None, :], mask=real[:, None] & (tail < TAIL_USED)[None, :], other=0.0)

    peak = tl.full([QUERIES], float("-inf"), tl.float32)
    total = tl.zeros([QUERIES], tl.float32)
    acc = tl.zeros([QUERIES, VALUE], tl.float32)
    for at in range(start, last, TOKENS):
        tokens = at + tl.arange(0, TOKENS)
        inside = tokens < last
        blocks = tl.load(tables + sequence * stride_table + tokens // BLOCK_SIZE, mask=inside, other=0).to(tl.int64)
        k_rows = key + blocks * stride_kb + (tokens % BLOCK_SIZE) * stride_kt + kv_head * stride_kh
        k_main = tl.load(k_rows[:, None] + main[None, :], mask=inside[:, None] & (main < KEY_USED)[None, :], other=0.0)
        scores = dot(q_main, tl.trans(k_main), WIDEN)
        if TAIL > 0:
            k_mask = inside[:, None] & (tail < TAIL_USED)[None, :]
            k_tail = tl.load(k_rows[:, None] + MAIN + tail[None, :], mask=k_mask, other=0.0)
            scores += dot(q_tail, tl.trans(k_tail), WIDEN)
        back = positions[:, None] - tokens[None, :]
        seen = (back >= 0) & (back < window) & inside[None, :]
        scores = tl.where(seen, scores * scale, float("-inf"))
        new_peak = tl.maximum(peak, tl.max(scores, 1))
        # A query that has seen nothing yet has peak -inf; 0 stands in, so that -inf - -inf doesn't become NaN.
        base = tl.where(new_peak == float("-inf"), 0.0, new_peak)
        shrink = tl.exp(peak - base)
        weights = tl.exp(scores - base[:, None])
        v_rows = value + blocks * stride_vb + (tokens % BLOCK_SIZE) * stride_vt + kv_head * stride_vh
        v_mask = inside[:, None] & (width < VALUE_USED)[None, :]
        v = tl.load(v_rows[:, None] + width[None, :], mask=v_mask, other=0.0)
        acc = acc * shrink[:, None] + dot(weights.to(v.dtype), v, WIDEN)
        total = total * shrink + tl.sum(weights, 1)
        peak = new_peak

    if SINKS:
        sink = tl.load(sinks + head).to(tl.float32)
        with_sink = tl.maximum(peak, sink)
        shrink = tl.exp(peak - with_sink)
        acc = acc * shrink[:, None]
        total = total * shrink + tl.exp(sink - with_sink)
    total = tl.where(real, total, 1.0)
    rows = ((row + index) * num_heads + head)[:, None] * VALUE_USED + width[None, :]
    tl.store(
        out + rows, (acc / total[:, None]).to(out.dtype.element_ty), mask=real[:, None] & (width < VALUE_USED)[None, :]
    )


def query_tiles(batch: BatchMetadata, queries: int) -> tuple[list[int], list[int]]:
    """Sequence and first query of each tile; a tile never spans two sequences."""
    tiles = [(i, first) for i, count in enumerate(batch.num_new) for first in range(0, count, queries)]
    return [i for i, _ in tiles], [first for _, first in tiles]


def prefill_constants(spec: AttentionSpec, block_size: int, sinks: bool) -> dict[str, Any]:
    """What the kernel is compiled for, and by how many warps it runs."""
    wide = spec.key_dim > WIDE
    return {
        "GROUP": spec.group_size,
        "BLOCK_SIZE": block_size,
        "QUERIES": QUERIES_WIDE if wide else QUERIES,
        "TOKENS": TOKENS,
        "SINKS": sinks,
        "WIDEN": INTERPRETED,
        "num_warps": WARPS_WIDE if wide else 4,
        **head_shape(spec.key_dim, spec.value_dim).constants(spec.key_dim),
    }


def prefill(
    query: Tensor,
    cache: LayerCache,
    tables: DeviceTables,
    batch: BatchMetadata,
    spec: AttentionSpec,
    sinks: Tensor | None = None,
) -> Tensor:
    """`query` [T, H, D] of any mix of sequences, their keys and values already written to the cache, to [T, H, V]."""
    constants = prefill_constants(spec, cache.key.shape[1], sinks is not None)
    sequences, firsts = query_tiles(batch, constants["QUERIES"])
    tile_sequence = torch.tensor(sequences, dtype=torch.int32).to(query.device, non_blocking=True)
    tile_first = torch.tensor(firsts, dtype=torch.int32).to(query.device, non_blocking=True)
    query = query if query.stride(-1) == 1 else query.contiguous()
    out = query.new_empty((query.shape[0], spec.num_heads, spec.value_dim))
    _prefill_kernel[(len(sequences), spec.num_heads)](
        query, cache.key, cache.value, tables.block_tables, tables.query_starts, tables.num_past, tile_sequence, tile_first,
        tile_first if sinks is None else sinks, out,
        spec.scale, query.stride(0), query.stride(1), *cache.key.stride()[:3], *cache.value.stride()[:3],
        tables.block_tables.stride(0), spec.window or 2**30, spec.num_heads, **constants,
    )  # fmt: skip
    return out
