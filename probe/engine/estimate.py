"""How many bytes and FLOPs must a step take, by the model's shapes?"""

from __future__ import annotations

from collections.abc import Sequence as Seq
from typing import NamedTuple

from probe.engine.interfaces import Work
from probe.engine.models.model import Model
from probe.engine.models.shapes import expert_parameters, num_active_parameters


class Part(NamedTuple):
    """One sequence in a forward pass: `new` tokens behind `past`, logits wanted at `rows` of them."""

    new: int
    past: int
    rows: int


class StepEstimator:
    """Bytes read: weights streamed once (without the input embedding unless it is tied, only the experts touched, the head only where a
    token is drawn), keys and values seen. Written: keys and values of the new tokens. FLOPs: 2 a weight and token, and scores and values
    for each pair of tokens that see each other.

    row_bytes: of a token in one layer's cache.
    """

    def __init__(self, model: Model, row_bytes: int) -> None:
        config = model.config
        self.layers = [config.attention_spec(layer) for layer in range(config.num_hidden_layers)]
        self.row_bytes = row_bytes
        self.dense_bytes, self.head_bytes, self.expert_bytes = model.dense_bytes, model.head_bytes, model.expert_bytes
        self.moe_layers = sum(config.moe.layers) if config.moe else 0
        head = config.vocab_size * config.hidden_size
        self.head_flops = 2 * head
        embeddings = head if config.tie_word_embeddings else 2 * head
        self.token_flops = 2 * (num_active_parameters(config) - embeddings)
        self.expert_parameters = expert_parameters(config)

    def work(self, parts: Seq[Part], experts_touched: float | None) -> Work:
        """Of one forward pass over all parts."""
        return Work(self._read(parts, experts_touched), self._written(parts), self._flops(parts))

    def _read(self, parts: Seq[Part], experts_touched: float | None) -> int:
        total = self.dense_bytes - (0 if any(one.rows for one in parts) else self.head_bytes)
        total += round((experts_touched or 0.0) * self.moe_layers * self.expert_bytes)
        for spec in self.layers:
            for one in parts:
                context = one.past + one.new
                seen = context if spec.window is None else min(context, spec.window + one.new - 1)
                total += self.row_bytes * seen
        return total

    def _written(self, parts: Seq[Part]) -> int:
        return self.row_bytes * len(self.layers) * sum(one.new for one in parts)

    def _flops(self, parts: Seq[Part]) -> int:
        total = self.token_flops * sum(one.new for one in parts) + self.head_flops * sum(one.rows for one in parts)
        for spec in self.layers:
            width = 2 * spec.num_heads * (spec.key_dim + spec.value_dim)
            total += width * sum(_pairs(one.new, one.past, spec.window) for one in parts)
        return total


def _pairs(new: int, past: int, window: int | None) -> int:
    """(query, key) pairs: sum over the new tokens of what each sees, itself included."""
    if window is None or past + new <= window:
        return new * past + new * (new + 1) // 2
    growing = max(0, min(new, window - past))  # tokens whose window is not yet full
    return growing * past + growing * (growing + 1) // 2 + (new - growing) * window
