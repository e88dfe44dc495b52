"""Which kernels does a server soon have that a sweep has not met? Those of every number of tokens a step may have.

Where a CPU's products are oneDNN's (no numba, eight and four bits) they are compiled for each number of rows when it
first comes: 2 to 3 ms for the four of a layer, as much as a quarter of a small model's step. A sweep's shapes are warmed up one by one, but
a replay has another number of tokens in every step with a prompt.
"""

from __future__ import annotations

from probe.engine.models.model import DecoderLayer
from probe.measure.lay import lay_decoding, lay_prompt
from probe.measure.rig import Rig


def warm(rig: Rig, tokens: int, batch: int) -> None:
    """Runs a step of each number of tokens up to `tokens`, and of each number of decoding sequences up to `batch`, through one layer of
    each kind: the others have the same kernels. The largest first, as oneDNN forgets what was used longest ago. Nothing on a GPU, whose
    kernels are not made by number of tokens."""
    engine, limits = rig.engine, rig.limits
    model = engine.runner.model
    if model.device.type != "cpu":
        return
    layers = model.layers
    model.layers = one_of_each_kind(layers)
    try:
        for count in range(min(tokens, limits.token_budget, limits.max_model_len - 1), 0, -1):
            lay_prompt(engine, "warm", [0] * count, 0)
            engine.step()
        for count in range(min(batch, limits.max_num_seqs), 0, -1):
            for number in range(count):
                lay_decoding(engine, f"warm-{number}", [0, 0], 1)
            engine.step()
    finally:
        model.layers = layers


def one_of_each_kind(layers: list[DecoderLayer]) -> list[DecoderLayer]:
    """Layers may differ in attention and in whether they route experts."""
    return list({(type(layer.attention), type(layer.mlp)): layer for layer in reversed(layers)}.values())
