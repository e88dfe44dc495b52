"""What must be known of a model to run it? One frozen record for all architectures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from probe.engine.models.spec import AttentionSpec


@dataclass(frozen=True)
class RopeConfig:
    """Rotary positions. Attributes: rope_type: default, linear, llama3 or yarn; the rest are config.json's rope_parameters."""

    rope_theta: float
    rope_type: Literal["default", "linear", "llama3", "yarn"] = "default"
    factor: float = 1.0
    original_max_position_embeddings: int = 0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    mscale: float = 0.0
    mscale_all_dim: float = 0.0
    attention_factor: float | None = None
    truncate: bool = True
    interleaved: bool = False


@dataclass(frozen=True)
class MlaConfig:
    """Multi-head latent attention. Attributes: q_lora_rank: None: queries are not compressed; others as in config.json."""

    q_lora_rank: int | None
    kv_lora_rank: int
    qk_nope_head_dim: int
    qk_rope_head_dim: int
    v_head_dim: int

    @property
    def qk_head_dim(self) -> int:
        return self.qk_nope_head_dim + self.qk_rope_head_dim


@dataclass(frozen=True)
class MoeConfig:
    """Routed experts.

    Attributes:
        layers: for each layer whether it has experts.
        scoring: softmax over all experts, sigmoid of each, or softmax over the chosen ones (gpt-oss).
        norm_topk_prob: chosen weights are divided by their sum.
        n_group, topk_group: choose among the experts of the best groups; 1, 1: among all.
        group_score: a group counts as its best expert (DeepSeek-V2) or its two best (V3).
        correction_bias: a bias joins the choice, not the weight (V3).
        fused_bias: experts have biases and interleaved gate and up (gpt-oss).
    """

    num_experts: int
    num_experts_per_tok: int
    moe_intermediate_size: int
    layers: tuple[bool, ...]
    n_shared_experts: int = 0
    scoring: Literal["softmax", "sigmoid", "softmax_after_topk"] = "softmax"
    norm_topk_prob: bool = True
    routed_scaling_factor: float = 1.0
    n_group: int = 1
    topk_group: int = 1
    group_score: Literal["max", "top2"] = "max"
    correction_bias: bool = False
    fused_bias: bool = False
    swiglu_alpha: float = 1.702
    swiglu_limit: float = 7.0

    @property
    def scores_precisely(self) -> bool:
        """DeepSeek scores experts in float32, the others in the type of their tokens."""
        return self.n_shared_experts > 0 or self.correction_bias


@dataclass(frozen=True)
class ModelConfig:
    """One model. Names are config.json's.

    Attributes:
        head_dim: of MHA, GQA and MQA; with MLA the width of a query head.
        windows: for each layer the tokens it sees, None: all.
        qk_norm: queries and keys are normalised a head (Qwen3).
        max_position_embeddings: positions the model was made for.
        eos_token_ids: tokens that end an output.
    """

    model_type: str
    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    intermediate_size: int
    rope: RopeConfig
    windows: tuple[int | None, ...]
    rms_norm_eps: float = 1e-6
    max_position_embeddings: int = 8192
    tie_word_embeddings: bool = False
    attention_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False
    has_sinks: bool = False
    mla: MlaConfig | None = None
    moe: MoeConfig | None = None
    eos_token_ids: tuple[int, ...] = ()

    def attention_spec(self, layer: int) -> AttentionSpec:
        """The attention of one layer."""
        if self.mla is not None:
            width = self.mla.kv_lora_rank + self.mla.qk_rope_head_dim
            scale = self.mla.qk_head_dim**-0.5 * self._yarn_scale
            return AttentionSpec(
                self.num_attention_heads,
                1,
                width,
                self.mla.kv_lora_rank,
                scale,
                shares_key=True,
                window=self.windows[layer],
            )
        return AttentionSpec(
            self.num_attention_heads,
            self.num_key_value_heads,
            self.head_dim,
            self.head_dim,
            self.head_dim**-0.5,
            window=self.windows[layer],
            has_sinks=self.has_sinks,
        )

    @property
    def _yarn_scale(self) -> float:
        """DeepSeek widens the scores of a stretched context by mscale squared."""
        if self.rope.rope_type == "default" or not self.rope.mscale_all_dim:
            return 1.0
        return yarn_mscale(self.rope.factor, self.rope.mscale_all_dim) ** 2

    def kv_bytes_per_token(self, dtype_bytes: int = 2) -> int:
        """Bytes a token adds to the cache of all layers while no window has passed it."""
        layers = range(self.num_hidden_layers)
        return sum(self.attention_spec(layer).bytes_per_token(dtype_bytes) for layer in layers)

    def kv_bytes(self, num_tokens: int, dtype_bytes: int = 2) -> int:
        """Bytes that a context of `num_tokens` must keep, windows heeded: sum over layers of min(s, window) rows."""
        specs = [self.attention_spec(layer) for layer in range(self.num_hidden_layers)]
        return sum(spec.bytes_per_token(dtype_bytes) * spec.tokens_held(num_tokens) for spec in specs)

    @property
    def routed(self) -> MoeConfig | None:
        """The routed experts; None where no layer has them, as when those that do were cut off."""
        return self.moe if self.moe is not None and any(self.moe.layers) else None

    def has_experts(self, layer: int) -> bool:
        return self.moe is not None and self.moe.layers[layer]


def yarn_mscale(factor: float, mscale: float = 1.0) -> float:
    """Attention factor of YaRN (arXiv:2309.00071, section 3.4): 0.1 mscale ln(factor) + 1."""
    return 1.0 if factor <= 1 else 0.1 * mscale * math.log(factor) + 1.0
