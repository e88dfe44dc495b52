"""How long does a decode step take at each batch and context, and what bandwidth does that reach?"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from probe.engine.kv.cache import LayerCache
from probe.engine.models.model import Model
from probe.engine.models.shapes import num_parameters
from probe.engine.runner import Forward
from probe.gpu.crashes import crashes, told
from probe.gpu.device import synchronise
from probe.gpu.steps import blocks_each, decode_batch, filled_caches, token_ids

BLOCK = 16
WARM_UP = 3
STEPS = 20


def streamed_bytes(model: Model) -> int:
    """Weight bytes a decode step of a dense model reads: all but the input embedding, unless it is the head too."""
    config = model.config
    untied = 0 if config.tie_word_embeddings else config.vocab_size * config.hidden_size
    return (num_parameters(config) - untied) * model.embedding.element_size()


def measure_grid(
    model: Model,
    ways: dict[str, Forward],
    batches: list[int],
    contexts: list[int],
    kv_budget: int,
    deadline: float,
    clock: Callable[[], float] = time.monotonic,
) -> list[dict[str, Any]]:
    """One row a cell and way of launching, or a row with "left_out" and why: too large for `kv_budget` bytes, or no time left;
    or with "crashed".

    The new token is written but the context doesn't grow: each step of a cell is the same step, so 20 of them are 20 samples.
    """
    rows: list[dict[str, Any]] = []
    token_bytes = model.config.kv_bytes_per_token(model.embedding.element_size())
    cells = [(batch, ctx) for ctx in contexts for batch in batches]
    fitting = [(b, s) for b, s in cells if b * blocks_each(s, BLOCK) * BLOCK * token_bytes <= kv_budget]
    most = max((b * blocks_each(s, BLOCK) for b, s in fitting), default=0)
    caches = filled_caches(model, most, BLOCK) if most else []
    for batch, ctx in cells:
        cell = {"batch": batch, "ctx": ctx}
        if (batch, ctx) not in fitting:
            need = batch * blocks_each(ctx, BLOCK) * BLOCK * token_bytes
            rows.append(cell | {"left_out": f"needs {need} bytes of KV, {kv_budget} are there"})
            continue
        for name, forward in ways.items():
            if clock() > deadline:
                rows.append(cell | {"way": name, "left_out": "no time left"})
                continue
            read = streamed_bytes(model) + batch * ctx * token_bytes
            try:
                figures = _figures(_times(model, forward, caches, batch, ctx), batch, read)
            except crashes() as crash:
                figures = {"crashed": told(crash), "ok": False}
            rows.append(cell | {"way": name} | figures)
    return rows


def _times(model: Model, forward: Forward, caches: list[LayerCache], batch: int, ctx: int) -> list[float]:
    """Seconds of each step, host work included, device synchronised on both sides."""
    tokens, times = token_ids(model, batch), []
    for number in range(WARM_UP + STEPS):
        step = decode_batch(model, batch, ctx, BLOCK)
        synchronise(model.device)
        begun = time.perf_counter()
        forward(tokens, step, caches).argmax(dim=-1)
        synchronise(model.device)
        if number >= WARM_UP:
            times.append(time.perf_counter() - begun)
    return times


def _figures(times: list[float], batch: int, read: int) -> dict[str, Any]:
    ordered = sorted(times)
    quarter = ordered[len(ordered) // 4]
    return {
        "steps": len(times),
        "step_ms_min": ordered[0] * 1e3,
        "step_ms_p25": quarter * 1e3,
        "step_ms_median": statistics.median(times) * 1e3,
        "step_ms_max": ordered[-1] * 1e3,
        "tok_s": batch / quarter,
        "achieved_gb_s": read / quarter / 1e9,
    }
