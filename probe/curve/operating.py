"""Where is a setup run best: the batch of most tokens a second that fits the cache and holds both targets?"""

from __future__ import annotations

import numpy as np

from probe.curve.curve import CurveDocument
from probe.curve.errors import CurveRefused


def achievable_batch(curve: CurveDocument, context: int) -> int | None:
    """Sequences of that peak length that fit the cache, whole blocks each; None where the cache is not stated."""
    memory = curve.file.get("memory")
    if memory is None:
        return None
    block = int(memory["block_size"])
    held = 0
    for group in memory["groups"]:
        kept = min(context, group.get("window") or context)
        held += group["layers"] * group["bytes_per_token"] * -(-kept // block) * block
    return int(memory["kv_bytes"] // (held * memory.get("replication", 1)))


def best_batch(
    curve: CurveDocument,
    context: int,
    ttft: float | None = None,
    itl: float | None = None,
    token_budget: int | None = None,
) -> int | None:
    """Seconds for the targets; None where no measured batch holds them. Raises CurveRefused for a TTFT that was not measured."""
    low, high = curve.measured_batches(context)
    room = achievable_batch(curve, context)
    high = high if room is None else min(high, room)
    batches = np.arange(np.ceil(low), np.floor(high) + 1)
    if not batches.size:
        return None
    found = curve.answer(batches, float(context), "flag", token_budget)
    if ttft is not None and bool(np.isnan(found.ttft).any()):
        raise CurveRefused("ttft", ttft, "this curve did not measure time to first token")
    held = np.ones(batches.shape, np.bool_)
    held &= found.step <= itl if itl is not None else True
    held &= found.ttft <= ttft if ttft is not None else True
    return int(batches[held][np.argmax(found.throughput[held])]) if held.any() else None
