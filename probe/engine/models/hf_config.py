"""Which model does a Hugging Face config.json describe? What the engine can't run is refused by the field's name."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from probe.engine.errors import UnsupportedConfig
from probe.engine.models.config import MlaConfig, ModelConfig, MoeConfig, RopeConfig

Raw = Mapping[str, Any]
_ROPE_NUMBERS = ("factor", "low_freq_factor", "high_freq_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim")


def load_config(path: Path) -> ModelConfig:
    """Reads config.json, or that of a folder."""
    file = path / "config.json" if path.is_dir() else path
    try:
        raw = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError) as error:
        raise UnsupportedConfig("config.json", str(file), str(error)) from error
    if not isinstance(raw, dict):
        raise UnsupportedConfig("config.json", type(raw).__name__, "not an object")
    return parse_config(raw)


def parse_config(raw: Raw) -> ModelConfig:
    """Raises UnsupportedConfig naming the field."""
    architecture = _ARCHITECTURES.get(raw.get("model_type", ""))
    if architecture is None:
        raise UnsupportedConfig("model_type", raw.get("model_type"), f"not one of {', '.join(_ARCHITECTURES)}")
    _refuse_unknown_maths(raw)
    return architecture(raw)


def _refuse_unknown_maths(raw: Raw) -> None:
    if raw.get("hidden_act", "silu") != "silu":
        raise UnsupportedConfig("hidden_act", raw["hidden_act"], "only silu")
    if raw.get("quantization_config"):
        method = raw["quantization_config"].get("quant_method")
        raise UnsupportedConfig(
            "quantization_config", method, "give unquantised weights; the engine quantises them itself"
        )
    if raw.get("partial_rotary_factor", 1.0) != 1.0:
        raise UnsupportedConfig("partial_rotary_factor", raw["partial_rotary_factor"], "only 1.0")
    if raw.get("pretraining_tp", 1) not in (None, 1):
        raise UnsupportedConfig("pretraining_tp", raw["pretraining_tp"], "only 1")


def _whole(raw: Raw, field: str, default: int | None = None, least: int = 1) -> int:
    value = raw.get(field)
    if value is None:
        value = default
    if value is None:
        raise UnsupportedConfig(field, None, "is missing")
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UnsupportedConfig(field, value, f"not a whole number of at least {least}")
    return value


def _base(raw: Raw) -> ModelConfig:
    """What all architectures have; all layers see all."""
    heads, layers = _whole(raw, "num_attention_heads"), _whole(raw, "num_hidden_layers")
    hidden = _whole(raw, "hidden_size")
    kv_heads = _whole(raw, "num_key_value_heads", heads)
    if heads % kv_heads:
        raise UnsupportedConfig("num_key_value_heads", kv_heads, f"does not divide num_attention_heads ({heads})")
    if raw.get("head_dim") is None and hidden % heads:
        raise UnsupportedConfig("hidden_size", hidden, f"not a multiple of num_attention_heads ({heads})")
    eos = raw.get("eos_token_id")
    return ModelConfig(
        model_type=raw["model_type"],
        vocab_size=_whole(raw, "vocab_size"),
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=_whole(raw, "head_dim", hidden // heads),
        intermediate_size=_whole(raw, "intermediate_size"),
        rope=_rope(raw),
        windows=(None,) * layers,
        rms_norm_eps=float(raw.get("rms_norm_eps", 1e-6)),
        max_position_embeddings=_whole(raw, "max_position_embeddings", 8192),
        tie_word_embeddings=bool(raw.get("tie_word_embeddings", False)),
        attention_bias=bool(raw.get("attention_bias", False)),
        mlp_bias=bool(raw.get("mlp_bias", False)),
        eos_token_ids=tuple(eos) if isinstance(eos, list) else () if eos is None else (eos,),
    )


def _rope(raw: Raw) -> RopeConfig:
    """Old form (rope_theta, rope_scaling) or new (rope_parameters)."""
    given = dict(raw.get("rope_parameters") or {})
    if not given:
        given = dict(raw.get("rope_scaling") or {})
    theta = given.get("rope_theta", raw.get("rope_theta"))
    if theta is None:
        theta = 10000.0
    kind = given.get("rope_type", given.get("type", "default"))
    if kind not in ("default", "linear", "llama3", "yarn"):
        raise UnsupportedConfig("rope_scaling.rope_type", kind, "only default, linear, llama3, yarn")
    if kind != "default" and "factor" not in given:
        raise UnsupportedConfig("rope_scaling.factor", None, f"is missing for {kind}")
    numbers: dict[str, Any] = {name: float(given[name]) for name in _ROPE_NUMBERS if given.get(name) is not None}
    original = given.get("original_max_position_embeddings") or raw.get("max_position_embeddings") or 0
    factor = given.get("attention_factor")
    rope = RopeConfig(
        rope_theta=float(theta),
        rope_type=kind,
        original_max_position_embeddings=int(original),
        attention_factor=None if factor is None else float(factor),
        truncate=bool(given.get("truncate", True)),
    )
    return replace(rope, **numbers)


def _window(raw: Raw, default: int | None) -> int | None:
    """Tokens that windowed layers see. A field that is null is not absent: its layers see all."""
    return None if raw.get("sliding_window", default) is None else _whole(raw, "sliding_window", default)


def _typed_windows(types: list[str], layers: int, window: int | None) -> tuple[int | None, ...]:
    if len(types) != layers:
        raise UnsupportedConfig("layer_types", len(types), f"not num_hidden_layers ({layers}) entries")
    unknown = set(types) - {"full_attention", "sliding_attention"}
    if unknown:
        raise UnsupportedConfig("layer_types", sorted(unknown), "only full_attention, sliding_attention")
    if "sliding_attention" in types and window is None:
        raise UnsupportedConfig("sliding_window", None, "is missing for sliding_attention layers")
    return tuple(window if kind == "sliding_attention" else None for kind in types)


def _mistral(raw: Raw, window: int | None = 4096) -> ModelConfig:
    """window: where the file doesn't say. One for all layers, whatever else the file says of windows."""
    config = _base(raw)
    windows = (_window(raw, window),) * config.num_hidden_layers
    return replace(config, windows=windows, attention_bias=False, mlp_bias=False)


def _qwen3(raw: Raw) -> ModelConfig:
    config, window, types = _base(raw), _qwen3_window(raw), raw.get("layer_types")
    layers, first = config.num_hidden_layers, _whole(raw, "max_window_layers", 28, least=0)
    if types is None:
        types = [
            "full_attention" if window is None or layer < first else "sliding_attention" for layer in range(layers)
        ]
    return replace(config, qk_norm=True, windows=_typed_windows(types, layers, window))


def _qwen3_window(raw: Raw) -> int | None:
    return _window(raw, 4096) if raw.get("use_sliding_window", False) else None


def _mixtral(raw: Raw) -> ModelConfig:
    config = _mistral(raw, window=None)
    every = (True,) * config.num_hidden_layers
    experts, chosen = _whole(raw, "num_local_experts", 8), _experts_per_token(raw, "num_local_experts", 8)
    return replace(config, moe=MoeConfig(experts, chosen, config.intermediate_size, every))


def _experts_per_token(raw: Raw, field: str, default: int | None = None) -> int:
    chosen, experts = _whole(raw, "num_experts_per_tok"), _whole(raw, field, default)
    if chosen > experts:
        raise UnsupportedConfig("num_experts_per_tok", chosen, f"more than {field} ({experts})")
    return chosen


def _qwen3_moe(raw: Raw) -> ModelConfig:
    field = "num_experts" if "num_experts" in raw else "num_local_experts"
    config = _base(raw)
    dense, every = raw.get("mlp_only_layers") or [], _whole(raw, "decoder_sparse_step", 1)
    layers = tuple(i not in dense and (i + 1) % every == 0 for i in range(config.num_hidden_layers))
    moe = MoeConfig(
        _whole(raw, field),
        _experts_per_token(raw, field),
        _whole(raw, "moe_intermediate_size"),
        layers,
        norm_topk_prob=bool(raw.get("norm_topk_prob", False)),
    )
    return replace(config, qk_norm=True, windows=(_qwen3_window(raw),) * config.num_hidden_layers, moe=moe)


def _gpt_oss(raw: Raw) -> ModelConfig:
    config = _base({"attention_bias": True, **raw})
    layers, types = config.num_hidden_layers, raw.get("layer_types")
    if types is None:
        types = ["full_attention" if i % 2 else "sliding_attention" for i in range(layers)]
    windows = _typed_windows(types, layers, _window(raw, 128))
    moe = MoeConfig(
        _whole(raw, "num_local_experts"),
        _experts_per_token(raw, "num_local_experts"),
        config.intermediate_size,
        (True,) * layers,
        scoring="softmax_after_topk",
        fused_bias=True,
        swiglu_alpha=float(raw.get("swiglu_alpha", 1.702)),
        swiglu_limit=float(raw.get("swiglu_limit", 7.0)),
    )
    return replace(config, windows=windows, has_sinks=True, moe=moe)


def _deepseek(raw: Raw, *, version: int) -> ModelConfig:
    expected = {2: ("softmax", ("greedy", "group_limited_greedy")), 3: ("sigmoid", ("noaux_tc",))}[version]
    if raw.get("scoring_func", expected[0]) != expected[0]:
        raise UnsupportedConfig("scoring_func", raw["scoring_func"], f"only {expected[0]}")
    method = raw.get("topk_method", expected[1][0])
    if method not in expected[1]:
        raise UnsupportedConfig("topk_method", method, f"only {', '.join(expected[1])}")
    if raw.get("moe_layer_freq", 1) != 1:
        raise UnsupportedConfig("moe_layer_freq", raw["moe_layer_freq"], "only 1")
    if version == 2 and raw.get("norm_topk_prob"):
        raise UnsupportedConfig("norm_topk_prob", True, "only false for deepseek_v2")
    mla = MlaConfig(
        None if raw.get("q_lora_rank") is None else _whole(raw, "q_lora_rank"),
        *(_whole(raw, name) for name in ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")),
    )
    config = _base({**raw, "head_dim": mla.qk_head_dim})
    dense = _whole(raw, "first_k_dense_replace", 0, least=0)
    grouped = version == 3 or method == "group_limited_greedy"
    moe = MoeConfig(
        _whole(raw, "n_routed_experts"),
        _experts_per_token(raw, "n_routed_experts"),
        _whole(raw, "moe_intermediate_size"),
        tuple(layer >= dense for layer in range(config.num_hidden_layers)),
        n_shared_experts=_whole(raw, "n_shared_experts", 0, least=0),
        scoring="softmax" if version == 2 else "sigmoid",
        norm_topk_prob=version == 3 and bool(raw.get("norm_topk_prob", True)),
        routed_scaling_factor=float(raw.get("routed_scaling_factor", 1.0)),
        n_group=_whole(raw, "n_group", 1) if grouped else 1,
        topk_group=_whole(raw, "topk_group", 1) if grouped else 1,
        group_score="max" if version == 2 else "top2",
        correction_bias=version == 3,
    )
    if moe.num_experts % moe.n_group:
        raise UnsupportedConfig("n_group", moe.n_group, f"does not divide n_routed_experts ({moe.num_experts})")
    rope = replace(config.rope, interleaved=bool(raw.get("rope_interleave", True)))
    return replace(config, mla=mla, moe=moe, rope=rope, mlp_bias=False)


_ARCHITECTURES: dict[str, Callable[[Raw], ModelConfig]] = {
    "llama": _base,
    "mistral": _mistral,
    "qwen3": _qwen3,
    "mixtral": _mixtral,
    "qwen3_moe": _qwen3_moe,
    "gpt_oss": _gpt_oss,
    "deepseek_v2": lambda raw: _deepseek(raw, version=2),
    "deepseek_v3": lambda raw: _deepseek(raw, version=3),
    "kimi_k2": lambda raw: _deepseek(raw, version=3),
}
