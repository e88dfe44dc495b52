"""How many bytes and operations does a step of a model take, from its shape alone?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from probe.curve.errors import CurveRefused
from probe.curve.terms import coverage
from probe.engine.models.config import ModelConfig


@dataclass(frozen=True)
class Architecture:
    """A decoder with MHA, GQA or MQA.

    Attributes:
        ffn: width of the feed-forward part, or of one expert. gated: it has three matrices (gate, up, down), else two.
        experts, experts_per_token: 0 for dense models.
        tied: the head is the input embedding.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    experts: int = 0
    experts_per_token: int = 0
    gated: bool = True
    tied: bool = False

    @property
    def attention_parameters(self) -> int:
        """Query, key, value and output projections of all layers."""
        return self.layers * 2 * self.hidden * self.head_dim * (self.heads + self.kv_heads)

    @property
    def expert_parameters(self) -> int:
        """One expert, or the one feed-forward part of a dense layer."""
        return (3 if self.gated else 2) * self.hidden * self.ffn

    @property
    def parameters(self) -> int:
        """All matrices, both embeddings; norms and biases (under 0.1 %) left out."""
        embeddings = self.vocab * self.hidden * (1 if self.tied else 2)
        return self.attention_parameters + self.layers * max(self.experts, 1) * self.expert_parameters + embeddings

    def streamed(self, tokens: float, least: bool = False) -> float:
        """Parameters a step of `tokens` reads: experts touched when each token picks evenly (`least`: when all pick the same), no input
        embedding."""
        together = 1.0 if least else float(tokens)
        one = (
            float(self.experts_per_token and coverage(np.asarray(together), self.experts, self.experts_per_token))
            or 1.0
        )
        return self.attention_parameters + self.layers * one * self.expert_parameters + self.vocab * self.hidden

    @property
    def used(self) -> int:
        """Parameters one token multiplies with."""
        return (
            self.attention_parameters
            + self.layers * max(self.experts_per_token, 1) * self.expert_parameters
            + self.vocab * self.hidden
        )

    def kv_bytes_per_token(self, width: float) -> int:
        """2 * L * n_kv * d_head * bytes."""
        return int(2 * self.layers * self.kv_heads * self.head_dim * width)

    def flops(self, tokens: float, pairs: float, rows: float) -> float:
        """Operations of `tokens` in a step whose queries meet `pairs` keys in all: 2 a weight, 4 a pair and head dimension; `rows` of them
        reach the head, of a prompt the last."""
        head = self.vocab * self.hidden
        products = (self.used - head) * tokens + head * rows
        return 2.0 * products + 4.0 * self.layers * self.heads * self.head_dim * pairs

    def bytes(
        self, tokens: float, context_sum: float, weight_bytes: float, kv_width: float, least: bool = False
    ) -> float:
        """Bytes a step moves: weights once, the cache that is attended to, and new rows."""
        cache = self.kv_bytes_per_token(kv_width) * (context_sum + tokens)
        return self.streamed(tokens, least) * weight_bytes + cache


def architecture_of(name: str, config: ModelConfig) -> Architecture:
    """The shape of a configuration with one kind of layer. Raises CurveRefused for MLA, windows and mixed layers."""
    if config.mla is not None:
        raise CurveRefused(
            "model", name, "multi-head latent attention is not in the operation tables that are read here"
        )
    if any(window is not None for window in config.windows):
        raise CurveRefused("model", name, "sliding windows are not composed")
    moe = config.moe
    if moe is not None and (not all(moe.layers) or moe.n_shared_experts):
        raise CurveRefused("model", name, "layers of different kinds, or shared experts, are not composed")
    return Architecture(
        name=name,
        layers=config.num_hidden_layers,
        hidden=config.hidden_size,
        heads=config.num_attention_heads,
        kv_heads=config.num_key_value_heads,
        head_dim=config.head_dim,
        ffn=config.intermediate_size if moe is None else moe.moe_intermediate_size,
        vocab=config.vocab_size,
        experts=0 if moe is None else moe.num_experts,
        experts_per_token=0 if moe is None else moe.num_experts_per_tok,
        tied=config.tie_word_embeddings,
    )
