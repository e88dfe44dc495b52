"""Which logits follow a step's tokens? Embedding, decoder layers, head: one flat row of tokens for all sequences."""

from __future__ import annotations

import re

import torch
from torch import Tensor
from torch.nn import functional

from probe.engine.attention.metadata import BatchMetadata
from probe.engine.interfaces import AttentionBackend, Linear, LinearFactory
from probe.engine.kv.cache import LayerCache
from probe.engine.kv.groups import kv_groups
from probe.engine.models.attention import Angles, GroupedAttention, LatentAttention
from probe.engine.models.config import ModelConfig
from probe.engine.models.mlp import Mlp, Moe
from probe.engine.models.norms import norm_of_sum
from probe.engine.models.rope import Rope
from probe.engine.models.weights import Weights


class DecoderLayer:
    def __init__(
        self, config: ModelConfig, layer: int, weights: Weights, make_linear: LinearFactory, backend: AttentionBackend
    ) -> None:
        prefix, self.eps = f"model.layers.{layer}", config.rms_norm_eps
        attention = LatentAttention if config.mla else GroupedAttention
        self.attention = attention(f"{prefix}.self_attn", config, layer, weights, make_linear, backend)
        self.mlp: Mlp | Moe
        if config.has_experts(layer):
            self.mlp = Moe(f"{prefix}.mlp", config, weights, make_linear)
        else:
            self.mlp = Mlp(f"{prefix}.mlp", weights, make_linear, bias=config.mlp_bias)
        self.input_norm = weights.get(f"{prefix}.input_layernorm.weight")
        self.post_norm = weights.get(f"{prefix}.post_attention_layernorm.weight")

    def __call__(
        self, x: Tensor, delta: Tensor | None, angles: Angles, cache: LayerCache, batch: BatchMetadata, group: int
    ) -> tuple[Tensor, Tensor]:
        """The residual x, and what is still to be added to it (None before the first layer), to the same two."""
        x, normed = norm_of_sum(x, delta, self.input_norm, self.eps)
        x, normed = norm_of_sum(x, self.attention(normed, angles, cache, batch.groups[group]), self.post_norm, self.eps)
        return x, self.mlp(normed)


class Model:
    """Any supported architecture.

    Attributes:
        groups: layers that share block tables; a layer's place is (group, tensor pair of the page).
        dtype, device: of weights and activations.
        dense_bytes: bytes of all linear weights but routed experts; head_bytes: of them the head's, which a step reads only if it
            draws a token; expert_bytes: of one routed expert of one layer.
    """

    def __init__(
        self,
        config: ModelConfig,
        weights: Weights,
        make_linear: LinearFactory,
        backend: AttentionBackend,
        *,
        dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
        max_model_len: int | None = None,
    ) -> None:
        self.dense_bytes = self.expert_bytes = self.head_bytes = 0
        self.config, self.dtype, self.device, self.backend = config, dtype, torch.device(device), backend
        self.groups = kv_groups(config.windows)
        self.places = {layer: (g, page) for g, one in enumerate(self.groups) for page, layer in enumerate(one.layers)}
        make_linear = self._measured(make_linear)
        self.layers = [DecoderLayer(config, i, weights, make_linear, backend) for i in range(config.num_hidden_layers)]
        for layer in self.layers:
            if isinstance(layer.attention, LatentAttention):
                self.dense_bytes += layer.attention.absorbed_bytes
        self.embedding = weights.get("model.embed_tokens.weight")
        self.norm = weights.get("model.norm.weight")
        head = self.embedding if config.tie_word_embeddings else weights.get("lm_head.weight")
        self.head = make_linear(head, None, "lm_head")
        width = config.mla.qk_rope_head_dim if config.mla else config.head_dim
        self.rope = Rope(config.rope, width, max_model_len or config.max_position_embeddings, dtype, self.device)

    def _measured(self, make_linear: LinearFactory) -> LinearFactory:
        """The factory, which also adds up what its weights take in their own form (packed, quantised)."""

        def make(weight: Tensor, bias: Tensor | None, name: str) -> Linear:
            linear = make_linear(weight, bias, name)
            size = int(getattr(linear, "weight_bytes", weight.numel() * weight.element_size()))
            expert = re.search(r"layers\.(\d+)\.mlp\.experts\.(\d+)\.", name)
            if expert is None:
                self.dense_bytes += size
                self.head_bytes += size if name == "lm_head" else 0
            elif self.config.moe and int(expert[1]) == self.config.moe.layers.index(True) and expert[2] == "0":
                self.expert_bytes += size
            return linear

        return make

    @torch.inference_mode()
    def forward(
        self, token_ids: Tensor, batch: BatchMetadata, caches: list[LayerCache], rows: Tensor | None = None
    ) -> Tensor:
        """token_ids [T] to logits [rows, vocabulary] in float32; `rows` are the token indices wanted, None: all.

        Writes the caches (one a layer of the page) at the slots of `batch`.
        """
        self.backend.plan(batch)
        x, angles = functional.embedding(token_ids, self.embedding), self.rope.at(batch.positions)
        delta: Tensor | None = None
        for index, layer in enumerate(self.layers):
            group, page = self.places[index]
            x, delta = layer(x, delta, angles, caches[page], batch, group)
        if rows is not None and not len(rows):  # a chunk in the middle of a prompt
            return x.new_empty(0, self.config.vocab_size, dtype=torch.float32)
        if rows is not None:
            x, delta = x[rows], None if delta is None else delta[rows]
        return self.head(norm_of_sum(x, delta, self.norm, self.config.rms_norm_eps)[1]).float()

    def experts_touched(self) -> float | None:
        """Distinct experts read in the last step, mean over the layers that have any; None for dense models."""
        counts = [layer.mlp.experts_touched for layer in self.layers if isinstance(layer.mlp, Moe)]
        return sum(counts) / len(counts) if counts else None
