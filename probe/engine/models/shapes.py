"""Which weights does a model have, of which shapes, and how many parameters are they?"""

from __future__ import annotations

import math

from probe.engine.models.config import ModelConfig, MoeConfig

Shape = tuple[int, ...]


def weight_shapes(config: ModelConfig) -> dict[str, Shape]:
    """Every tensor by its canonical name: transformers' own state-dict names, experts of a layer in one tensor."""
    shapes: dict[str, Shape] = {"model.embed_tokens.weight": (config.vocab_size, config.hidden_size)}
    for layer in range(config.num_hidden_layers):
        for name, shape in layer_shapes(config, layer).items():
            shapes[f"model.layers.{layer}.{name}"] = shape
    shapes["model.norm.weight"] = (config.hidden_size,)
    if not config.tie_word_embeddings:
        shapes["lm_head.weight"] = (config.vocab_size, config.hidden_size)
    return shapes


def layer_shapes(config: ModelConfig, layer: int) -> dict[str, Shape]:
    attention = _mla(config) if config.mla else _attention(config)
    norms = {f"{name}.weight": (config.hidden_size,) for name in ("input_layernorm", "post_attention_layernorm")}
    if config.moe is not None and config.moe.layers[layer]:
        mlp = _experts(config, config.moe)
    else:
        mlp = _gated("mlp", config.hidden_size, config.intermediate_size, bias=config.mlp_bias)
    return {**attention, **mlp, **norms}


def _linear(name: str, out: int, width: int, *, bias: bool = False) -> dict[str, Shape]:
    return {f"{name}.weight": (out, width), **({f"{name}.bias": (out,)} if bias else {})}


def _gated(name: str, hidden: int, width: int, *, bias: bool = False) -> dict[str, Shape]:
    return {
        **_linear(f"{name}.gate_proj", width, hidden, bias=bias),
        **_linear(f"{name}.up_proj", width, hidden, bias=bias),
        **_linear(f"{name}.down_proj", hidden, width, bias=bias),
    }


def _attention(config: ModelConfig) -> dict[str, Shape]:
    hidden, bias = config.hidden_size, config.attention_bias
    query, kv = config.num_attention_heads * config.head_dim, config.num_key_value_heads * config.head_dim
    shapes = {
        **_linear("self_attn.q_proj", query, hidden, bias=bias),
        **_linear("self_attn.k_proj", kv, hidden, bias=bias),
        **_linear("self_attn.v_proj", kv, hidden, bias=bias),
        **_linear("self_attn.o_proj", hidden, query, bias=bias),
    }
    if config.qk_norm:
        shapes |= {"self_attn.q_norm.weight": (config.head_dim,), "self_attn.k_norm.weight": (config.head_dim,)}
    if config.has_sinks:
        shapes["self_attn.sinks"] = (config.num_attention_heads,)
    return shapes


def _mla(config: ModelConfig) -> dict[str, Shape]:
    mla, hidden, heads, bias = config.mla, config.hidden_size, config.num_attention_heads, config.attention_bias
    assert mla is not None
    if mla.q_lora_rank is None:
        query = _linear("self_attn.q_proj", heads * mla.qk_head_dim, hidden)
    else:
        query = {
            **_linear("self_attn.q_a_proj", mla.q_lora_rank, hidden, bias=bias),
            "self_attn.q_a_layernorm.weight": (mla.q_lora_rank,),
            **_linear("self_attn.q_b_proj", heads * mla.qk_head_dim, mla.q_lora_rank),
        }
    return {
        **query,
        **_linear("self_attn.kv_a_proj_with_mqa", mla.kv_lora_rank + mla.qk_rope_head_dim, hidden, bias=bias),
        "self_attn.kv_a_layernorm.weight": (mla.kv_lora_rank,),
        **_linear("self_attn.kv_b_proj", heads * (mla.qk_nope_head_dim + mla.v_head_dim), mla.kv_lora_rank),
        **_linear("self_attn.o_proj", hidden, heads * mla.v_head_dim, bias=bias),
    }


def _experts(config: ModelConfig, moe: MoeConfig) -> dict[str, Shape]:
    hidden, width, count = config.hidden_size, moe.moe_intermediate_size, moe.num_experts
    if moe.fused_bias:
        return {
            **_linear("mlp.router", count, hidden, bias=True),
            "mlp.experts.gate_up_proj": (count, hidden, 2 * width),
            "mlp.experts.gate_up_proj_bias": (count, 2 * width),
            "mlp.experts.down_proj": (count, width, hidden),
            "mlp.experts.down_proj_bias": (count, hidden),
        }
    shapes: dict[str, Shape] = {
        "mlp.gate.weight": (count, hidden),
        "mlp.experts.gate_up_proj": (count, 2 * width, hidden),
        "mlp.experts.down_proj": (count, hidden, width),
    }
    if moe.correction_bias:
        shapes["mlp.gate.e_score_correction_bias"] = (count,)
    if moe.n_shared_experts:
        shapes |= _gated("mlp.shared_experts", hidden, width * moe.n_shared_experts)
    return shapes


def num_parameters(config: ModelConfig) -> int:
    """All parameters; a tied embedding counts once."""
    return sum(math.prod(shape) for shape in weight_shapes(config).values())


def num_active_parameters(config: ModelConfig) -> int:
    """Parameters that one token uses: of routed experts, those chosen; both embeddings are counted."""
    if config.moe is None:
        return num_parameters(config)
    return num_parameters(config) - sum(
        math.prod(shape) * (config.moe.num_experts - config.moe.num_experts_per_tok) // config.moe.num_experts
        for name, shape in weight_shapes(config).items()
        if ".mlp.experts." in name
    )


def expert_parameters(config: ModelConfig) -> int:
    """Parameters of one routed expert of one layer; 0 where no layer is routed."""
    if config.routed is None:
        return 0
    layer = config.routed.layers.index(True)
    shapes = layer_shapes(config, layer)
    total = sum(math.prod(shape) for name, shape in shapes.items() if name.startswith("mlp.experts."))
    return total // config.routed.num_experts
