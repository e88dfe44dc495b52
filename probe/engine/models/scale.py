"""How does a model look that is shaped like a large one and runs on a CPU? Every width by one factor, ratios kept."""

from __future__ import annotations

from dataclasses import replace

from probe.engine.models.config import MlaConfig, ModelConfig, MoeConfig

_STEP = 8  # widths stay multiples of this, head widths among them
_LEAST_VOCABULARY = 256


def scaled(config: ModelConfig, factor: float) -> ModelConfig:
    """`config` with widths, depth, vocabulary and expert count times `factor` (0 < factor <= 1).

    Kept: query heads per kv head, head width times heads per hidden width (within rounding to 8), experts per chosen one, which
    layers are dense, windowed or routed. Lengths (windows, positions) are tokens, not widths, and stay.
    Raises ValueError naming the factor.
    """
    if not 0.0 < factor <= 1.0:
        raise ValueError(f"scale: {factor} is not in (0, 1]")
    if factor == 1.0:
        return config
    kv_heads = max(1, round(config.num_key_value_heads * factor))
    heads = kv_heads * (config.num_attention_heads // config.num_key_value_heads)
    layers = _layers_kept(config, max(2, round(config.num_hidden_layers * factor)))
    return replace(
        config,
        vocab_size=max(_LEAST_VOCABULARY, _multiple(config.vocab_size * factor)),
        hidden_size=_multiple(config.hidden_size * factor),
        num_hidden_layers=len(layers),
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=_multiple(config.head_dim * config.num_attention_heads * factor / heads),
        intermediate_size=_multiple(config.intermediate_size * factor),
        windows=tuple(config.windows[layer] for layer in layers),
        mla=config.mla and _latent(config.mla, factor, config.num_attention_heads * factor / heads),
        moe=config.moe and _experts(config.moe, factor, layers),
        eos_token_ids=(),
    )


def _multiple(width: float) -> int:
    return max(_STEP, round(width / _STEP) * _STEP)


def _layers_kept(config: ModelConfig, count: int) -> list[int]:
    """One dense layer before routed ones where the model has some; windows keep their pattern from the first layer on."""
    dense_first = config.moe is not None and not config.moe.layers[0]
    start = (config.moe.layers.index(True) - 1) if config.moe and dense_first else 0
    pattern = len(set(config.windows))
    count = -(-count // pattern) * pattern
    return list(range(start, min(start + count, config.num_hidden_layers)))


def _latent(mla: MlaConfig, factor: float, head_factor: float) -> MlaConfig:
    return MlaConfig(
        None if mla.q_lora_rank is None else _multiple(mla.q_lora_rank * factor),
        _multiple(mla.kv_lora_rank * factor),
        _multiple(mla.qk_nope_head_dim * head_factor),
        _multiple(mla.qk_rope_head_dim * head_factor),
        _multiple(mla.v_head_dim * head_factor),
    )


def _experts(moe: MoeConfig, factor: float, layers: list[int]) -> MoeConfig:
    chosen = max(min(2, moe.num_experts_per_tok), round(moe.num_experts_per_tok * factor))
    experts = round(chosen * moe.num_experts / moe.num_experts_per_tok / moe.n_group) * moe.n_group
    return replace(
        moe,
        num_experts=max(experts, 2 * moe.n_group if moe.n_group > 1 else chosen),
        num_experts_per_tok=chosen,
        moe_intermediate_size=_multiple(moe.moe_intermediate_size * factor),
        layers=tuple(moe.layers[layer] for layer in layers),
    )
