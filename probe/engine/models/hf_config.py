"""Which model does a Hugging Face config.json describe? What the engine can't run is refused by the field's name.

A field that is missing has the value that transformers' configuration of the architecture gives it where that is the plain one; where a
model without it would be another model (a shape, groups of experts, gpt-oss' stretched positions) it is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from probe.engine.errors import UnsupportedConfig
from probe.engine.models.config import MlaConfig, ModelConfig, MoeConfig, RopeConfig
from probe.engine.models.fields import Raw, even, flag, number, part, texts, whole, wholes

_ROPE_NUMBERS = ("factor", "low_freq_factor", "high_freq_factor", "beta_fast", "beta_slow")
_ROPE_NEEDED = {
    "linear": ("factor",),
    "yarn": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor"),
}
"""What transformers asks of each kind of stretched positions."""
_THETA = {"mixtral": 1e6, "gpt_oss": 150_000.0}
_EPS = {"mixtral": 1e-5, "gpt_oss": 1e-5}
"""Where transformers' own value differs from 10,000 and from 1e-6."""


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
    kind = raw.get("model_type")
    architecture = _ARCHITECTURES.get(kind) if isinstance(kind, str) else None
    if architecture is None:
        raise UnsupportedConfig("model_type", raw.get("model_type"), f"not one of {', '.join(_ARCHITECTURES)}")
    _refuse_unknown_maths(raw)
    return architecture(raw)


def _refuse_unknown_maths(raw: Raw) -> None:
    if raw.get("hidden_act", "silu") != "silu":
        raise UnsupportedConfig("hidden_act", raw["hidden_act"], "only silu")
    if quantised := part(raw, "quantization_config"):
        method = quantised.get("quant_method")
        raise UnsupportedConfig(
            "quantization_config", method, "give unquantised weights; the engine quantises them itself"
        )
    for where in (raw, part(raw, "rope_parameters"), part(raw, "rope_scaling")):
        if where.get("partial_rotary_factor") not in (None, 1.0):
            raise UnsupportedConfig("partial_rotary_factor", where["partial_rotary_factor"], "only 1.0")
    if raw.get("pretraining_tp", 1) not in (None, 1):
        raise UnsupportedConfig("pretraining_tp", raw["pretraining_tp"], "only 1")


def _base(raw: Raw) -> ModelConfig:
    """What all architectures have; all layers see all."""
    kind: str = raw["model_type"]
    heads, layers = whole(raw, "num_attention_heads"), whole(raw, "num_hidden_layers")
    hidden = whole(raw, "hidden_size")
    if kind != "llama" and "num_key_value_heads" not in raw:
        raise UnsupportedConfig("num_key_value_heads", None, "is missing")
    kv_heads = whole(raw, "num_key_value_heads", heads)
    if heads % kv_heads:
        raise UnsupportedConfig("num_key_value_heads", kv_heads, f"does not divide num_attention_heads ({heads})")
    if raw.get("head_dim") is None and hidden % heads:
        raise UnsupportedConfig("hidden_size", hidden, f"not a multiple of num_attention_heads ({heads})")
    return ModelConfig(
        model_type=kind,
        vocab_size=whole(raw, "vocab_size"),
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=even(raw, "head_dim", None if kind in ("qwen3", "gpt_oss") else hidden // heads),
        intermediate_size=whole(raw, "intermediate_size"),
        rope=_rope(raw),
        windows=(None,) * layers,
        rms_norm_eps=number(raw, "rms_norm_eps", _EPS.get(kind, 1e-6)),
        max_position_embeddings=whole(raw, "max_position_embeddings", 8192),
        tie_word_embeddings=flag(raw, "tie_word_embeddings", False),
        attention_bias=flag(raw, "attention_bias", kind == "gpt_oss"),
        mlp_bias=kind == "llama" and flag(raw, "mlp_bias", False),
        eos_token_ids=wholes(raw, "eos_token_id"),
    )


def _rope(raw: Raw) -> RopeConfig:
    """Old form (rope_theta, rope_scaling) or new (rope_parameters)."""
    where = "rope_parameters" if part(raw, "rope_parameters") else "rope_scaling"
    given = part(raw, where)
    if raw["model_type"] == "gpt_oss" and not given:
        raise UnsupportedConfig(where, raw.get(where), "is missing: gpt-oss' positions are stretched")
    kind = given.get("rope_type", given.get("type", "default"))
    if kind != "default" and (not isinstance(kind, str) or kind not in _ROPE_NEEDED):
        raise UnsupportedConfig(f"{where}.rope_type", kind, "only default, linear, llama3, yarn")
    for name in _ROPE_NEEDED.get(kind, ()):
        number(given, name, name=f"{where}.{name}")
    numbers: dict[str, Any] = {
        name: number(given, name, name=f"{where}.{name}") for name in _ROPE_NUMBERS if given.get(name) is not None
    }
    # 0 switches these off, as in DeepSeek's files.
    numbers |= {
        name: _scale(given, where, name) for name in ("mscale", "mscale_all_dim") if given.get(name) is not None
    }
    theta = given if given.get("rope_theta") is not None else raw
    factor = given.get("attention_factor")
    rope = RopeConfig(
        rope_theta=number(theta, "rope_theta", _THETA.get(raw["model_type"], 10_000.0)),
        rope_type=kind,
        original_max_position_embeddings=_original(raw, given, where),
        attention_factor=None
        if factor is None
        else number(given, "attention_factor", name=f"{where}.attention_factor"),
        truncate=flag(given, "truncate", True, name=f"{where}.truncate"),
    )
    found = replace(rope, **numbers)
    if kind == "llama3" and found.low_freq_factor >= found.high_freq_factor:
        why = f"not below high_freq_factor ({found.high_freq_factor})"
        raise UnsupportedConfig(f"{where}.low_freq_factor", found.low_freq_factor, why)
    return found


def _scale(given: Raw, where: str, name: str) -> float:
    return 0.0 if given[name] == 0 and given[name] is not False else number(given, name, name=f"{where}.{name}")


def _original(raw: Raw, given: Raw, where: str) -> int:
    field = "original_max_position_embeddings"
    if given.get(field) is not None:
        return whole(given, field, name=f"{where}.{field}")
    return whole(raw, "max_position_embeddings", 0, least=0)


def _window(raw: Raw, default: int | None) -> int | None:
    """Tokens that windowed layers see. A field that is null is not absent: its layers see all."""
    return None if raw.get("sliding_window", default) is None else whole(raw, "sliding_window", default)


def _typed_windows(types: Sequence[str], layers: int, window: int | None) -> tuple[int | None, ...]:
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
    config, window, types = _base(raw), _qwen3_window(raw), texts(raw, "layer_types")
    layers, first = config.num_hidden_layers, whole(raw, "max_window_layers", 28, least=0)
    if types is None:
        types = [
            "full_attention" if window is None or layer < first else "sliding_attention" for layer in range(layers)
        ]
    return replace(config, qk_norm=True, windows=_typed_windows(types, layers, window))


def _qwen3_window(raw: Raw) -> int | None:
    return _window(raw, 4096) if flag(raw, "use_sliding_window", False) else None


def _mixtral(raw: Raw) -> ModelConfig:
    config = _mistral(raw, window=None)
    every = (True,) * config.num_hidden_layers
    experts, chosen = whole(raw, "num_local_experts", 8), _experts_per_token(raw, "num_local_experts", 8)
    return replace(config, moe=MoeConfig(experts, chosen, config.intermediate_size, every))


def _experts_per_token(raw: Raw, field: str, default: int | None = None) -> int:
    chosen, experts = whole(raw, "num_experts_per_tok"), whole(raw, field, default)
    if chosen > experts:
        raise UnsupportedConfig("num_experts_per_tok", chosen, f"more than {field} ({experts})")
    return chosen


def _qwen3_moe(raw: Raw) -> ModelConfig:
    field = "num_local_experts" if "num_local_experts" in raw else "num_experts"
    config = _base(raw)
    dense, every = wholes(raw, "mlp_only_layers"), whole(raw, "decoder_sparse_step", 1)
    layers = tuple(i not in dense and (i + 1) % every == 0 for i in range(config.num_hidden_layers))
    moe = MoeConfig(
        whole(raw, field),
        _experts_per_token(raw, field),
        whole(raw, "moe_intermediate_size"),
        layers,
        norm_topk_prob=flag(raw, "norm_topk_prob", False),
    )
    return replace(config, qk_norm=True, windows=(_qwen3_window(raw),) * config.num_hidden_layers, moe=moe)


def _gpt_oss(raw: Raw) -> ModelConfig:
    config = _base(raw)
    layers, types = config.num_hidden_layers, texts(raw, "layer_types")
    if types is None:
        types = ["full_attention" if i % 2 else "sliding_attention" for i in range(layers)]
    windows = _typed_windows(types, layers, _window(raw, 128))
    moe = MoeConfig(
        whole(raw, "num_local_experts"),
        _experts_per_token(raw, "num_local_experts"),
        config.intermediate_size,
        (True,) * layers,
        scoring="softmax_after_topk",
        fused_bias=True,
        swiglu_alpha=number(raw, "swiglu_alpha", 1.702),
        swiglu_limit=number(raw, "swiglu_limit", 7.0),
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
    if "q_lora_rank" not in raw:
        raise UnsupportedConfig("q_lora_rank", None, "is missing; null where queries are not compressed")
    mla = MlaConfig(
        None if raw["q_lora_rank"] is None else whole(raw, "q_lora_rank"),
        whole(raw, "kv_lora_rank"),
        whole(raw, "qk_nope_head_dim"),
        even(raw, "qk_rope_head_dim"),
        whole(raw, "v_head_dim"),
    )
    config = replace(_base({**raw, "head_dim": 2}), head_dim=mla.qk_head_dim)
    dense = whole(raw, "first_k_dense_replace", least=0)
    grouped = version == 3 or method == "group_limited_greedy"
    moe = MoeConfig(
        whole(raw, "n_routed_experts"),
        _experts_per_token(raw, "n_routed_experts"),
        whole(raw, "moe_intermediate_size"),
        tuple(layer >= dense for layer in range(config.num_hidden_layers)),
        n_shared_experts=whole(raw, "n_shared_experts", least=0),
        scoring="softmax" if version == 2 else "sigmoid",
        norm_topk_prob=version == 3 and flag(raw, "norm_topk_prob", True),
        routed_scaling_factor=number(raw, "routed_scaling_factor", 1.0 if version == 2 else None),
        n_group=whole(raw, "n_group") if grouped else 1,
        topk_group=whole(raw, "topk_group") if grouped else 1,
        group_score="max" if version == 2 else "top2",
        correction_bias=version == 3,
    )
    if moe.num_experts % moe.n_group:
        raise UnsupportedConfig("n_group", moe.n_group, f"does not divide n_routed_experts ({moe.num_experts})")
    if moe.topk_group > moe.n_group:
        raise UnsupportedConfig("topk_group", moe.topk_group, f"more than n_group ({moe.n_group})")
    within = moe.topk_group * moe.num_experts // moe.n_group
    if moe.num_experts_per_tok > within:
        raise UnsupportedConfig(
            "num_experts_per_tok", moe.num_experts_per_tok, f"more than topk_group groups have ({within})"
        )
    rope = replace(config.rope, interleaved=version == 2 or flag(raw, "rope_interleave", True))
    return replace(config, mla=mla, moe=moe, rope=rope)


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
