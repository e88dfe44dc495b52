"""Where is a setup run best: the batch of most tokens a second that fits the cache and holds both targets?"""

from __future__ import annotations

import numpy as np

from probe.curve.curve import CurveDocument, Outside
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
    outside: Outside = "flag",
) -> int | None:
    """Seconds for the targets; None where no measured batch holds them. Raises CurveRefused for a TTFT that was not measured, and with
    `outside` "refuse" for one of prompts beyond the measured ones; `unmeasured` says so of what is answered."""
    low, high = curve.measured_batches(context)
    room = achievable_batch(curve, context)
    high = high if room is None else min(high, room)
    batches = np.arange(np.ceil(low), np.floor(high) + 1)
    if not batches.size:
        return None
    found = curve.answer(batches, float(context), outside, token_budget)
    if ttft is not None and bool(np.isnan(found.ttft).any()):
        raise CurveRefused("ttft", ttft, "this curve did not measure time to first token")
    if ttft is not None and outside == "refuse" and bool(found.ttft_extrapolated.any()):
        raise CurveRefused("ttft", ttft, f"prompts of {context} tokens were not measured")
    held = np.ones(batches.shape, np.bool_)
    held &= found.step <= itl if itl is not None else True
    held &= found.ttft <= ttft if ttft is not None else True
    return int(batches[held][np.argmax(found.throughput[held])]) if held.any() else None


def unmeasured(
    curve: CurveDocument, context: int, best: int | None, ttft: float | None = None, token_budget: int | None = None
) -> bool:
    """Whether a best batch is said beyond what was measured: of a context, or, with a target of the first token, of prompts that long."""
    low, high = curve.file["domain"]["context"]
    if not low <= context <= high:
        return True
    if ttft is None:
        return False
    batches = curve.measured_batches(context) if best is None else (best,)
    found = curve.answer([max(one, 1.0) for one in batches], float(context), "flag", token_budget)
    return bool(found.ttft_extrapolated.any())
