"""How does a layer make queries, keys and values? Grouped heads, or one latent head (MLA)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from probe.engine.attention.metadata import GroupMetadata
from probe.engine.interfaces import AttentionBackend, Linear, LinearFactory
from probe.engine.kv.cache import LayerCache
from probe.engine.linear.heads import HeadsLinear
from probe.engine.models.config import ModelConfig
from probe.engine.models.norms import norm_of_sum
from probe.engine.models.rope import rotate
from probe.engine.models.weights import Weights
from probe.engine.native import calls, pool

Angles = tuple[Tensor, Tensor]


class GroupedAttention:
    """MHA, GQA and MQA; q, k and v come from one product."""

    def __init__(
        self,
        prefix: str,
        config: ModelConfig,
        layer: int,
        weights: Weights,
        make_linear: LinearFactory,
        backend: AttentionBackend,
    ) -> None:
        self.backend, self.spec = backend, config.attention_spec(layer)
        self.heads, self.kv_heads, self.dim = config.num_attention_heads, config.num_key_value_heads, config.head_dim

        def joined(kind: str) -> Tensor:
            return torch.cat([weights.get(f"{prefix}.{name}_proj.{kind}") for name in "qkv"])

        bias = config.attention_bias
        self.qkv = make_linear(joined("weight"), joined("bias") if bias else None, f"{prefix}.qkv_proj")
        out = f"{prefix}.o_proj"
        self.out = make_linear(weights.get(f"{out}.weight"), weights.get(f"{out}.bias") if bias else None, out)
        self.norms: calls.HeadNorms | None = None
        if config.qk_norm:
            query, key = (weights.get(f"{prefix}.{name}_norm.weight") for name in "qk")
            self.norms = calls.HeadNorms(query, key, config.rms_norm_eps)
        self.sinks = weights.get(f"{prefix}.sinks") if config.has_sinks else None

    def __call__(self, x: Tensor, angles: Angles, cache: LayerCache, group: GroupMetadata) -> Tensor:
        """x [T, hidden] to [T, hidden]; writes the cache."""
        qkv = self.qkv(x)
        if pool.takes(qkv) and cache.memory is not None and self.dim % (2 * calls.WIDTH) == 0:
            query = calls.turn_and_write(qkv, angles, self.norms, cache.memory, group.slot_mapping, self.spec)
        else:
            query = self._turn_and_write(qkv, angles, cache, group)
        attended = self.backend.attend(query, cache, group, self.spec, self.sinks)
        return self.out(attended.flatten(1))

    def _turn_and_write(self, qkv: Tensor, angles: Angles, cache: LayerCache, group: GroupMetadata) -> Tensor:
        """Queries [T, H, dim]; keys and values go to the cache."""
        sizes = [self.heads, self.kv_heads, self.kv_heads]
        query, key, value = torch.split(qkv.view(len(qkv), -1, self.dim), sizes, dim=1)
        if self.norms is not None:
            query = functional.rms_norm(query, (self.dim,), self.norms.query, self.norms.eps)
            key = functional.rms_norm(key, (self.dim,), self.norms.key, self.norms.eps)
        self.backend.write(rotate(key, *angles), value, cache, group)
        return rotate(query, *angles)


class LatentAttention:
    """MLA with the key's and value's up-projections absorbed into query and output, so that the latent alone is cached and read.

    Source: DeepSeek-V2, arXiv:2405.04434, section 2.1.

    Attributes: absorbed_bytes: of the up-projections, which no linear factory makes.
    """

    def __init__(
        self,
        prefix: str,
        config: ModelConfig,
        layer: int,
        weights: Weights,
        make_linear: LinearFactory,
        backend: AttentionBackend,
    ) -> None:
        assert config.mla is not None
        self.backend, self.spec, self.mla = backend, config.attention_spec(layer), config.mla
        self.heads, self.eps = config.num_attention_heads, config.rms_norm_eps
        self.interleaved = config.rope.interleaved

        def made(name: str, rotary_heads: int = 0, *, bias: bool = False) -> Linear:
            weight, offset = (
                weights.get(f"{prefix}.{name}.weight"),
                weights.get(f"{prefix}.{name}.bias") if bias else None,
            )
            if rotary_heads:
                weight = self._halves(weight, rotary_heads)
                offset = None if offset is None else self._halves(offset, rotary_heads)
            return make_linear(weight, offset, f"{prefix}.{name}")

        bias = config.attention_bias
        self.narrowed: tuple[Linear, Tensor] | None = None  # a product and its norm's weight
        if self.mla.q_lora_rank is None:
            self.q_b = made("q_proj", self.heads)
        else:
            self.narrowed = made("q_a_proj", bias=bias), weights.get(f"{prefix}.q_a_layernorm.weight")
            self.q_b = made("q_b_proj", self.heads)
        self.kv_a = made("kv_a_proj_with_mqa", 1, bias=bias)
        self.kv_a_norm = weights.get(f"{prefix}.kv_a_layernorm.weight")
        up = weights.get(f"{prefix}.kv_b_proj.weight").view(self.heads, -1, self.mla.kv_lora_rank)
        key_up, value_up = torch.split(up, [self.mla.qk_nope_head_dim, self.mla.v_head_dim], dim=1)
        self.key_up = HeadsLinear(key_up.transpose(1, 2), f"{prefix}.kv_b_proj")
        self.value_up = HeadsLinear(value_up, f"{prefix}.kv_b_proj")
        self.absorbed_bytes = self.key_up.weight_bytes + self.value_up.weight_bytes
        self.out = made("o_proj", bias=bias)

    def _halves(self, weight: Tensor, heads: int) -> Tensor:
        """Rows of the rotary part from pairs (x0, x1) to halves, once, instead of at each token."""
        if not self.interleaved:
            return weight
        rope = self.mla.qk_rope_head_dim
        rows = torch.arange(len(weight), device=weight.device).view(heads, -1).clone()
        rotary = rows[:, -rope:].clone()
        rows[:, -rope:] = torch.cat((rotary[:, 0::2], rotary[:, 1::2]), dim=1)
        return weight[rows.flatten()]

    def __call__(self, x: Tensor, angles: Angles, cache: LayerCache, group: GroupMetadata) -> Tensor:
        """x [T, hidden] to [T, hidden]; writes the cache."""
        mla = self.mla
        narrow = x
        if self.narrowed is not None:
            product, weight = self.narrowed
            _, narrow = norm_of_sum(product(x), None, weight, 1e-6)
        query = self.q_b(narrow).view(len(x), self.heads, mla.qk_head_dim)
        plain, rotary = torch.split(query, [mla.qk_nope_head_dim, mla.qk_rope_head_dim], dim=-1)
        latent, key_rotary = torch.split(self.kv_a(x), [mla.kv_lora_rank, mla.qk_rope_head_dim], dim=-1)
        _, latent = norm_of_sum(latent, None, self.kv_a_norm, 1e-6)
        key = torch.cat((latent.unsqueeze(1), rotate(key_rotary.unsqueeze(1), *angles)), dim=-1)
        self.backend.write(key, None, cache, group)
        full = query.new_empty(len(x), self.heads, self.spec.key_dim)
        self.key_up(plain, full[..., : mla.kv_lora_rank])
        full[..., mla.kv_lora_rank :] = rotate(rotary, *angles)
        attended = self.backend.attend(full, cache, group, self.spec, None)  # [T, H, latent]
        values = query.new_empty(len(x), self.heads, mla.v_head_dim)
        self.value_up(attended, values)
        return self.out(values.reshape(len(x), -1))
