"""How does one token a sequence attend to a paged cache on a GPU? Each context is split, the parts merged by log-sum-exp.

One program takes one sequence, up to 16 query heads of one cached head, and one part of the context, so that keys and values
are read once for all heads that share them, and few long sequences still fill the device.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from probe.engine.attention.triton_common import SMALLEST_DOT, WARPS_WIDE, WIDE, DeviceTables, head_shape
from probe.engine.attention.triton_dot import INTERPRETED, dot
from probe.engine.kv.cache import LayerCache
from probe.engine.models.spec import AttentionSpec

HEADS = SMALLEST_DOT  # query heads a program
TOKENS = 64  # keys an iteration
TOKENS_WIDE = 32  # the same where a key's row is wide: two iterations lie in a processor's shared memory, also in fp32
PARTS_MOST = 64


# What changes from step to step is not compiled into the kernel: each new value would stop a step for seconds.
@triton.jit(do_not_specialize=["stride_table", "part_tokens", "parts"])
def _part_kernel(
    query, key, value, tables, num_past, out, lse,
    scale, stride_qt, stride_qh, stride_kb, stride_kt, stride_kh, stride_vb, stride_vt, stride_vh, stride_table,
    part_tokens, parts, window, num_heads,
    GROUP: tl.constexpr, BLOCK_SIZE: tl.constexpr, HEADS: tl.constexpr, TOKENS: tl.constexpr,
    MAIN: tl.constexpr, KEY_USED: tl.constexpr, TAIL: tl.constexpr, TAIL_USED: tl.constexpr,
    VALUE: tl.constexpr, VALUE_USED: tl.constexpr, WIDEN: tl.constexpr,
):  # fmt: skip
    sequence, tile, part = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.program_id(2)
    tiles_per_group: tl.constexpr = (GROUP + HEADS - 1) // HEADS
    kv_head = tile // tiles_per_group
    in_group = (tile % tiles_per_group) * HEADS + tl.arange(0, HEADS)
    heads = kv_head * GROUP + in_group
    real = in_group < GROUP

    length = tl.load(num_past + sequence) + 1
    first = tl.maximum(0, length - window)
    start = tl.maximum(first, part * part_tokens)
    end = tl.minimum(length, (part + 1) * part_tokens)

    main, tail, width = tl.arange(0, MAIN), tl.arange(0, TAIL if TAIL > 0 else 16), tl.arange(0, VALUE)
    q_rows = query + sequence * stride_qt + heads[:, None] * stride_qh
    q_main = tl.load(q_rows + main[None, :], mask=real[:, None] & (main < KEY_USED)[None, :], other=0.0)
    if TAIL > 0:
        q_tail = tl.load(q_rows + MAIN + tail[None, :], mask=real[:, None] & (tail < TAIL_USED)[None, :], other=0.0)

    peak = tl.full([HEADS], float("-inf"), tl.float32)
    total = tl.zeros([HEADS], tl.float32)
    acc = tl.zeros([HEADS, VALUE], tl.float32)
    for at in range(start, end, TOKENS):
        tokens = at + tl.arange(0, TOKENS)
        seen = tokens < end
        blocks = tl.load(tables + sequence * stride_table + tokens // BLOCK_SIZE, mask=seen, other=0).to(tl.int64)
        k_rows = key + blocks * stride_kb + (tokens % BLOCK_SIZE) * stride_kt + kv_head * stride_kh
        k_main = tl.load(k_rows[:, None] + main[None, :], mask=seen[:, None] & (main < KEY_USED)[None, :], other=0.0)
        scores = dot(q_main, tl.trans(k_main), WIDEN)
        if TAIL > 0:
            k_mask = seen[:, None] & (tail < TAIL_USED)[None, :]
            k_tail = tl.load(k_rows[:, None] + MAIN + tail[None, :], mask=k_mask, other=0.0)
            scores += dot(q_tail, tl.trans(k_tail), WIDEN)
        scores = tl.where(seen[None, :], scores * scale, float("-inf"))
        new_peak = tl.maximum(peak, tl.max(scores, 1))
        shrink = tl.exp(peak - new_peak)
        weights = tl.exp(scores - new_peak[:, None])
        v_rows = value + blocks * stride_vb + (tokens % BLOCK_SIZE) * stride_vt + kv_head * stride_vh
        v_mask = seen[:, None] & (width < VALUE_USED)[None, :]
        v = tl.load(v_rows[:, None] + width[None, :], mask=v_mask, other=0.0)
        acc = acc * shrink[:, None] + dot(weights.to(v.dtype), v, WIDEN)
        total = total * shrink + tl.sum(weights, 1)
        peak = new_peak

    # A part without tokens has total 0: its lse is -inf, and the merge gives it weight 0.
    safe = tl.where(total > 0, total, 1.0)
    rows = (sequence * num_heads + heads) * parts + part
    out_mask = real[:, None] & (width < VALUE_USED)[None, :]
    tl.store(out + rows[:, None] * VALUE_USED + width[None, :], acc / safe[:, None], mask=out_mask)
    tl.store(lse + rows, tl.where(total > 0, peak + tl.log(safe), float("-inf")), mask=real)


@triton.jit(do_not_specialize=["parts"])
def _merge_kernel(
    partial, lse, sinks, out, num_heads, parts,
    PARTS_PADDED: tl.constexpr, VALUE: tl.constexpr, VALUE_USED: tl.constexpr, SINKS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    part, width = tl.arange(0, PARTS_PADDED), tl.arange(0, VALUE)
    logs = tl.load(lse + row * parts + part, mask=part < parts, other=float("-inf"))
    peak = tl.max(logs, 0)
    if SINKS:
        sink = tl.load(sinks + row % num_heads).to(tl.float32)
        peak = tl.maximum(peak, sink)
    weights = tl.exp(logs - peak)
    total = tl.sum(weights, 0)
    if SINKS:
        total += tl.exp(sink - peak)
    mask = (part < parts)[:, None] & (width < VALUE_USED)[None, :]
    values = tl.load(partial + (row * parts + part[:, None]) * VALUE_USED + width[None, :], mask=mask, other=0.0)
    merged = tl.sum(values * weights[:, None], 0) / total
    tl.store(out + row * VALUE_USED + width, merged.to(out.dtype.element_ty), mask=width < VALUE_USED)


def part_constants(spec: AttentionSpec, block_size: int) -> dict[str, Any]:
    """What the part kernel is compiled for."""
    shape = head_shape(spec.key_dim, spec.value_dim)
    return {
        "GROUP": spec.group_size,
        "BLOCK_SIZE": block_size,
        "HEADS": HEADS,
        "TOKENS": TOKENS_WIDE if spec.key_dim > WIDE else TOKENS,
        "WIDEN": INTERPRETED,
        **shape.constants(spec.key_dim),
    }


def merge_constants(spec: AttentionSpec, parts: int, sinks: bool) -> dict[str, Any]:
    """What the merge kernel is compiled for, and by how many warps it runs."""
    shape = head_shape(spec.key_dim, spec.value_dim)
    return {
        "PARTS_PADDED": triton.next_power_of_2(parts),
        "VALUE": shape.value,
        "VALUE_USED": shape.value_used,
        "SINKS": sinks,
        "num_warps": WARPS_WIDE if shape.value > WIDE else 4,
    }


def parts_for(programs: int, longest: int, processors: int) -> int:
    """In how many parts to cut each context: enough for two programs a processor, none shorter than 256 tokens."""
    wanted = -(-2 * processors // max(1, programs))
    return max(1, min(wanted, -(-longest // 256), PARTS_MOST))


def decode(
    query: Tensor,
    cache: LayerCache,
    tables: DeviceTables,
    spec: AttentionSpec,
    sinks: Tensor | None = None,
    parts: int | None = None,
) -> Tensor:
    """`query` [sequences, H, D], one new token each, already written to the cache, to [sequences, H, V].

    `parts` forces the number of parts of a context; by default it follows from the device.
    """
    count, num_heads = query.shape[0], spec.num_heads
    tiles = spec.num_kv_heads * -(-spec.group_size // HEADS)
    parts = parts or parts_for(count * tiles, tables.longest, _processors(query.device))
    part_tokens = -(-tables.longest // parts)
    partial = query.new_empty((count, num_heads, parts, spec.value_dim), dtype=torch.float32)
    lse = query.new_empty((count, num_heads, parts), dtype=torch.float32)
    query = query if query.stride(-1) == 1 else query.contiguous()
    _part_kernel[(count, tiles, parts)](
        query, cache.key, cache.value, tables.block_tables, tables.num_past, partial, lse,
        spec.scale, query.stride(0), query.stride(1), *cache.key.stride()[:3], *cache.value.stride()[:3],
        tables.block_tables.stride(0), part_tokens, parts, spec.window or 2**30, num_heads,
        **part_constants(spec, cache.key.shape[1]),
    )  # fmt: skip
    out = query.new_empty((count, num_heads, spec.value_dim))
    _merge_kernel[(count * num_heads,)](
        partial, lse, lse if sinks is None else sinks, out, num_heads, parts,
        **merge_constants(spec, parts, sinks is not None),
    )  # fmt: skip
    return out


def _processors(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1
