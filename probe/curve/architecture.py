"""How many bytes and operations does a step of a model take, from its shape alone?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from probe.curve.errors import CurveRefused
from probe.curve.terms import coverage
from probe.engine.models.config import ModelConfig


@dataclass(frozen=True)
class Latent:
    """Multi-head latent attention, config.json's numbers. Attributes: q_rank: 0 where queries are not compressed."""

    q_rank: int
    kv_rank: int
    nope: int
    rope: int
    value: int


@dataclass(frozen=True)
class Architecture:
    """A decoder with MHA, GQA, MQA or MLA.

    Attributes:
        ffn: width of the feed-forward part, or of one expert. gated: it has three matrices (gate, up, down), else two.
        experts, experts_per_token: 0 for dense models. shared: experts that every token goes through beside those.
        dense_layers, dense_ffn: of a model with experts, layers that have none and their width.
        tied: the head is the input embedding.
        latent: of MLA; then kv_heads and head_dim say nothing.
        windowed_layers: layers that see the last `window` tokens alone; the others see all.
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
    shared: int = 0
    dense_layers: int = 0
    dense_ffn: int = 0
    latent: Latent | None = None
    window: int = 0
    windowed_layers: int = 0

    @property
    def attention_parameters(self) -> int:
        """Query, key, value and output projections of all layers."""
        if self.latent is None:
            return self.layers * 2 * self.hidden * self.head_dim * (self.heads + self.kv_heads)
        one = self.latent
        width = self.heads * (one.nope + one.rope)
        query = one.q_rank * (self.hidden + width) if one.q_rank else self.hidden * width
        kept = self.hidden * (one.kv_rank + one.rope) + one.kv_rank * self.heads * (one.nope + one.value)
        return self.layers * (query + kept + self.heads * one.value * self.hidden)

    @property
    def expert_parameters(self) -> int:
        """One expert, or the one feed-forward part of a dense layer."""
        return (3 if self.gated else 2) * self.hidden * self.ffn

    def _feed_forward(self, experts: float) -> float:
        """Feed-forward parameters of all layers, with so many experts in each that has any."""
        if not self.experts:
            return self.layers * self.expert_parameters
        dense = self.dense_layers * (3 if self.gated else 2) * self.hidden * self.dense_ffn
        return dense + (self.layers - self.dense_layers) * (experts + self.shared) * self.expert_parameters

    @property
    def parameters(self) -> int:
        """All matrices, both embeddings; norms and biases (under 0.1 %) left out."""
        embeddings = self.vocab * self.hidden * (1 if self.tied else 2)
        return self.attention_parameters + round(self._feed_forward(self.experts)) + embeddings

    def streamed(self, tokens: float, least: bool = False) -> float:
        """Parameters a step of `tokens` reads: experts touched when each token picks evenly (`least`: when all pick the same), no input
        embedding."""
        together = 1.0 if least else float(tokens)
        one = (
            float(self.experts_per_token and coverage(np.asarray(together), self.experts, self.experts_per_token))
            or 1.0
        )
        return self.attention_parameters + self._feed_forward(one) + self.vocab * self.hidden

    @property
    def used(self) -> int:
        """Parameters one token multiplies with."""
        return self.attention_parameters + round(self._feed_forward(self.experts_per_token)) + self.vocab * self.hidden

    def kv_bytes_per_token(self, width: float) -> int:
        """2 * L * n_kv * d_head * bytes; of MLA L * (r_kv + d_rope) * bytes."""
        numbers = 2 * self.kv_heads * self.head_dim
        if self.latent is not None:
            numbers = self.latent.kv_rank + self.latent.rope
        return int(self.layers * numbers * width)

    def flops(self, tokens: float, pairs: float, rows: float) -> float:
        """Operations of `tokens` in a step whose queries meet `pairs` keys in all, in a windowed layer at most a window each: 2 a weight,
        4 a pair and head dimension; `rows` of them reach the head, of a prompt the last. Of MLA the least: keys and values of a pair as
        they are, not absorbed into the latent."""
        head = self.vocab * self.hidden
        products = (self.used - head) * tokens + head * rows
        width = 2 * self.head_dim
        if self.latent is not None:
            width = self.latent.nope + self.latent.rope + self.latent.value
        return 2.0 * products + 2.0 * self.heads * width * self._seen(pairs, tokens)

    def bytes(
        self, tokens: float, sequences: float, context_sum: float, widths: tuple[float, float], least: bool = False
    ) -> float:
        """Bytes a step moves: weights once, the cache that so many sequences attend to, and new rows. `widths`: of a weight and of a cached
        number."""
        weight, kv = widths
        cached = self._seen(context_sum, sequences) + self.layers * tokens
        return self.streamed(tokens, least) * weight + self.kv_bytes_per_token(kv) / self.layers * cached

    def _seen(self, whole: float, lookers: float) -> float:
        """Of all layers together, what is looked at: in a windowed one at most a window for each that looks."""
        full = self.layers - self.windowed_layers
        return full * whole + self.windowed_layers * min(whole, lookers * self.window)


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
