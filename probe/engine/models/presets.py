"""Which public architectures can be named without a download? Their config.json values; weights are seeded random ones."""

from __future__ import annotations

from typing import Any

from probe.engine.errors import UnsupportedConfig
from probe.engine.models.config import ModelConfig
from probe.engine.models.hf_config import parse_config

_LLAMA3_ROPE = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}


def _dense(
    kind: str, layers: int, hidden: int, heads: int, kv_heads: int, width: int, vocab: int, **more: Any
) -> dict[str, Any]:
    return {
        "model_type": kind,
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "intermediate_size": width,
        "vocab_size": vocab,
        "rms_norm_eps": 1e-5,
        **more,
    }


def _llama(layers: int, hidden: int, heads: int, width: int) -> dict[str, Any]:
    more = {"rope_theta": 500000.0, "rope_scaling": _LLAMA3_ROPE, "max_position_embeddings": 131072}
    return _dense("llama", layers, hidden, heads, 8, width, 128256, **more)


def _qwen(kind: str, layers: int, hidden: int, heads: int, kv_heads: int, width: int, **more: Any) -> dict[str, Any]:
    common = {"head_dim": 128, "rope_theta": 1000000.0, "max_position_embeddings": 40960, "rms_norm_eps": 1e-6}
    return _dense(kind, layers, hidden, heads, kv_heads, width, 151936, **{**common, **more})


def _qwen_experts(width: int) -> dict[str, Any]:
    return {"num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": width, "norm_topk_prob": True}


def _gpt_oss(layers: int, experts: int) -> dict[str, Any]:
    rope = {
        "rope_type": "yarn",
        "factor": 32.0,
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "truncate": False,
        "original_max_position_embeddings": 4096,
    }
    return _dense(
        "gpt_oss",
        layers,
        2880,
        64,
        8,
        2880,
        201088,
        head_dim=64,
        sliding_window=128,
        num_local_experts=experts,
        num_experts_per_tok=4,
        rope_theta=150000.0,
        rope_scaling=rope,
        max_position_embeddings=131072,
    )


def _deepseek(kind: str, layers: int, hidden: int, heads: int, width: int, vocab: int, **more: Any) -> dict[str, Any]:
    rope = {
        "type": "yarn",
        "factor": 40,
        "beta_fast": 32,
        "beta_slow": 1,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
        "original_max_position_embeddings": 4096,
    }
    mla = {"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}
    common = {"rope_theta": 10000.0, "rope_scaling": rope, "max_position_embeddings": 163840, "rms_norm_eps": 1e-6}
    return _dense(kind, layers, hidden, heads, heads, width, vocab, **{**mla, **common, **more})


def _routed(
    experts: int, chosen: int, shared: int, width: int, dense: int, groups: int, top: int, scale: float
) -> dict[str, Any]:
    return {
        "n_routed_experts": experts,
        "num_experts_per_tok": chosen,
        "n_shared_experts": shared,
        "moe_intermediate_size": width,
        "first_k_dense_replace": dense,
        "n_group": groups,
        "topk_group": top,
        "routed_scaling_factor": scale,
    }


_V2_ROPE = {
    "type": "yarn",
    "factor": 40,
    "beta_fast": 32,
    "beta_slow": 1,
    "mscale": 0.707,
    "mscale_all_dim": 0.707,
    "original_max_position_embeddings": 4096,
}

PRESETS: dict[str, dict[str, Any]] = {
    "Llama-3.1-8B": _llama(32, 4096, 32, 14336),
    "Llama-3.1-70B": _llama(80, 8192, 64, 28672),
    "Llama-3.1-405B": _llama(126, 16384, 128, 53248),
    "Llama-248M": _dense("llama", 12, 1024, 16, 4, 4096, 32000, rope_theta=10000.0, max_position_embeddings=4096),
    "Mistral-7B-v0.1": _dense(
        "mistral", 32, 4096, 32, 8, 14336, 32000, sliding_window=4096, rope_theta=10000.0, max_position_embeddings=32768
    ),
    "Qwen3-8B": _qwen("qwen3", 36, 4096, 32, 8, 12288),
    "Qwen3-32B": _qwen("qwen3", 64, 5120, 64, 8, 25600),
    "Qwen3-30B-A3B": _qwen("qwen3_moe", 48, 2048, 32, 4, 6144, **_qwen_experts(768)),
    "Qwen3-235B-A22B": _qwen("qwen3_moe", 94, 4096, 64, 4, 12288, **_qwen_experts(1536)),
    "Mixtral-8x7B": _dense(
        "mixtral",
        32,
        4096,
        32,
        8,
        14336,
        32000,
        num_local_experts=8,
        num_experts_per_tok=2,
        rope_theta=1000000.0,
        max_position_embeddings=32768,
    ),
    "gpt-oss-20b": _gpt_oss(24, 32),
    "gpt-oss-120b": _gpt_oss(36, 128),
    "DeepSeek-V2": _deepseek(
        "deepseek_v2",
        60,
        5120,
        128,
        12288,
        102400,
        topk_method="group_limited_greedy",
        rope_scaling=_V2_ROPE,
        **_routed(160, 6, 2, 1536, 1, 8, 3, 16.0),
    ),
    "DeepSeek-V3": _deepseek("deepseek_v3", 61, 7168, 128, 18432, 129280, **_routed(256, 8, 1, 2048, 3, 8, 4, 2.5)),
    "Kimi-K2": _deepseek(
        "kimi_k2",
        61,
        7168,
        64,
        18432,
        163840,
        rope_theta=50000.0,
        rope_scaling={
            "type": "yarn",
            "factor": 32.0,
            "beta_fast": 1.0,
            "beta_slow": 1.0,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
            "original_max_position_embeddings": 4096,
        },
        max_position_embeddings=131072,
        **_routed(384, 8, 1, 2048, 1, 1, 1, 2.827),
    ),
}


def preset(name: str) -> ModelConfig:
    """Raises UnsupportedConfig naming the presets."""
    if name not in PRESETS:
        raise UnsupportedConfig("model", name, f"neither a folder nor one of {', '.join(PRESETS)}")
    return parse_config(PRESETS[name])
