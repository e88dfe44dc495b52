"""How fast are the engine's CPU kernels beside what torch does without them, in one process, in turns?

Products of bf16 tokens by weights that no cache holds, beside oneDNN's packed ones; attention of new tokens to a paged context, beside
torch's fused one. The best of several turns on one thread: what others do to the machine only slows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from unittest import mock

import torch

import probe.engine  # noqa: F401 (pages of 2 MB, before the first tensor)
from probe.engine.attention.metadata import BatchMetadata, GroupMetadata
from probe.engine.attention.torch_paged import TorchPagedAttention
from probe.engine.kv.cache import LayerCache
from probe.engine.linear.packed import PackedLinear
from probe.engine.linear.panels import PanelLinear
from probe.engine.models.spec import AttentionSpec
from probe.engine.native import pool

TURNS = 9
ROWS, COLUMNS, WEIGHTS = 3072, 1024, 12
TOKENS = (1, 4, 8, 16, 17, 32, 128, 512)
# New tokens, tokens before them, sequences.
CONTEXTS = ((512, 0, 1), (512, 1536, 1), (5, 2048, 8), (1, 512, 8), (1, 2048, 8))
HEADS = {
    "gqa": AttentionSpec(16, 4, 64, 64, 0.125),
    "mqa": AttentionSpec(16, 1, 64, 64, 0.125),
    "mla": AttentionSpec(8, 1, 160, 128, 0.1, shares_key=True),
}


def run() -> dict[str, object]:
    """Seconds of torch over ours, and our GFLOP/s or GB/s."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode():
            return {
                "products": {f"{tokens} tokens": _product(tokens) for tokens in TOKENS},
                "attention": {
                    f"{name}, {b} x {new} after {past}": _attention(spec, new, past, b)
                    for name, spec in HEADS.items()
                    for new, past, b in CONTEXTS
                },
            }
    finally:
        torch.set_num_threads(threads)


def _product(tokens: int) -> dict[str, float]:
    x = torch.randn(tokens, COLUMNS).bfloat16()
    given = [torch.randn(ROWS, COLUMNS).bfloat16() for _ in range(WEIGHTS)]
    kinds = {"ours": [PanelLinear(weight) for weight in given], "torch": [PackedLinear(weight) for weight in given]}
    best = _best({name: lambda kind=kind: [one(x) for one in kind] for name, kind in kinds.items()})
    size = WEIGHTS * ROWS * COLUMNS
    return {
        "ratio": round(best["torch"] / best["ours"], 2),
        "gb_s": round(2 * size / best["ours"] / 1e9, 1),
        "gflop_s": round(2 * tokens * size / best["ours"] / 1e9),
    }


def _attention(spec: AttentionSpec, new: int, past: int, batch: int) -> dict[str, float]:
    blocks = -(-(new + past) // 16)
    tables = [list(range(i * blocks, (i + 1) * blocks)) for i in range(batch)]
    cache = LayerCache.allocate(spec, batch * blocks, 16, torch.bfloat16, torch.device("cpu"))
    cache.key.normal_()
    if not spec.shares_key:
        cache.value.normal_()
    slots = torch.zeros(batch * new, dtype=torch.long)
    group = GroupMetadata(None, tables, slots)
    step = BatchMetadata([new] * batch, [past] * batch, 16, slots, [group], num_blocks=batch * blocks)
    query = torch.randn(batch * new, spec.num_heads, spec.key_dim).bfloat16()
    backend = TorchPagedAttention(torch.bfloat16)

    def ours() -> None:
        backend.attend(query, cache, group, spec, None)

    def plain() -> None:
        with mock.patch.object(pool, "available", return_value=False):
            backend.attend(query, cache, group, spec, None)

    backend.plan(step)
    best = _best({"ours": ours, "torch": plain})
    pairs = batch * (new * past + new * (new + 1) / 2)
    return {
        "ratio": round(best["torch"] / best["ours"], 2),
        "gflop_s": round(2 * spec.num_heads * (spec.key_dim + spec.value_dim) * pairs / best["ours"] / 1e9),
        "cache_gb_s": round(batch * (new + past) * spec.bytes_per_token(2) / best["ours"] / 1e9, 1),
    }


def _best(works: dict[str, Callable[[], object]]) -> dict[str, float]:
    best = dict.fromkeys(works, float("inf"))
    for _ in range(TURNS + 1):  # the first one warms up, and is never the best
        for name, work in works.items():
            begun = time.perf_counter()
            work()
            best[name] = min(best[name], time.perf_counter() - begun)
    return best
