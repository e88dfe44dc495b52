"""How many bytes and FLOPs must a step take, by the model's shapes?"""

from __future__ import annotations

from probe.engine.interfaces import RequestStep
from probe.engine.models.model import Model
from probe.engine.models.shapes import expert_parameters, num_active_parameters


class StepEstimator:
    """Bytes: weights streamed once (without the input embedding unless it is tied, only the experts touched, the head only where a token
    is drawn), keys and values read and written. FLOPs: 2 a weight and token, and scores and values for each pair of tokens that see each
    other.

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

    def bytes(self, requests: tuple[RequestStep, ...], experts_touched: float | None) -> int:
        draws = any(one.num_output_tokens for one in requests)
        total = self.dense_bytes - (0 if draws else self.head_bytes)
        total += round((experts_touched or 0.0) * self.moe_layers * self.expert_bytes)
        for spec in self.layers:
            for one in requests:
                context = one.num_past_tokens + one.num_new_tokens
                seen = context if spec.window is None else min(context, spec.window + one.num_new_tokens - 1)
                total += self.row_bytes * (seen + one.num_new_tokens)
        return total

    def flops(self, requests: tuple[RequestStep, ...]) -> int:
        tokens = sum(one.num_new_tokens for one in requests)
        drawn = sum(1 + one.num_draft_tokens for one in requests if one.num_output_tokens)
        total = self.token_flops * tokens + self.head_flops * drawn
        for spec in self.layers:
            width = 2 * spec.num_heads * (spec.key_dim + spec.value_dim)
            total += width * sum(_pairs(one.num_new_tokens, one.num_past_tokens, spec.window) for one in requests)
        return total


def _pairs(new: int, past: int, window: int | None) -> int:
    """(query, key) pairs: sum over the new tokens of what each sees, itself included."""
    if window is None or past + new <= window:
        return new * past + new * (new + 1) // 2
    growing = max(0, min(new, window - past))  # tokens whose window is not yet full
    return growing * past + growing * (growing + 1) // 2 + (new - growing) * window
