"""Does a decode step replayed from a CUDA graph give the logits of the same step launched kernel by kernel?"""

from __future__ import annotations

from typing import Any

from probe.engine.errors import ProbeError
from probe.engine.graphs import GraphedModel
from probe.engine.models.model import Model
from probe.gpu.correctness import TOLERANCE
from probe.gpu.crashes import crashes, told
from probe.gpu.steps import blocks_each, decode_batch, filled_caches, token_ids

BLOCK = 16
# Two batch sizes, contexts of two powers of two: graphs are recorded, left and come back to.
STEPS = [(2, 20), (3, 20), (2, 40), (2, 21)]


def check_replay(model: Model) -> dict[str, Any]:
    """{"backend", "case", "error", "ok"}, the worst of all steps relative to their largest logit; or "refused" or "crashed"."""
    finding: dict[str, Any] = {"backend": "graphs", "case": f"{len(STEPS)} decode steps"}
    caches = filled_caches(model, max(batch * blocks_each(ctx, BLOCK) for batch, ctx in STEPS), BLOCK)
    try:
        graphed, worst = GraphedModel(model), 0.0
        for batch, ctx in STEPS:
            tokens = token_ids(model, batch)
            want = model.forward(tokens, decode_batch(model, batch, ctx, BLOCK), caches)
            got = graphed.forward(tokens, decode_batch(model, batch, ctx, BLOCK), caches)
            worst = max(worst, float((got - want).abs().max() / want.abs().max()))
    except ProbeError as refused:
        return finding | {"refused": str(refused)}
    except crashes() as crash:
        return finding | {"crashed": told(crash), "ok": False}
    return finding | {"error": worst, "ok": worst <= TOLERANCE[model.dtype]}
