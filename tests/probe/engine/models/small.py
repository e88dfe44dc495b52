"""One small model of each architecture, as config.json, with everything in it that its big sister has."""

from __future__ import annotations

from typing import Any

COMMON: dict[str, Any] = {
    "vocab_size": 256,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "intermediate_size": 96,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "pad_token_id": None,
    "bos_token_id": None,
    "eos_token_id": None,
}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0, "original_max_position_embeddings": 64}
MLA = {
    "num_key_value_heads": 8,
    "q_lora_rank": 32,
    "kv_lora_rank": 24,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 16,
    "moe_intermediate_size": 32,
    "n_routed_experts": 16,
    "num_experts_per_tok": 3,
    "first_k_dense_replace": 1,
    "routed_scaling_factor": 2.5,
    "n_group": 4,
    "topk_group": 2,
    "rope_scaling": {**YARN, "mscale": 1.0, "mscale_all_dim": 0.7},
}

SMALL: dict[str, dict[str, Any]] = {
    "llama": {**COMMON, "model_type": "llama", "rope_scaling": LLAMA3},
    "llama tied with biases": {
        **COMMON,
        "model_type": "llama",
        "tie_word_embeddings": True,
        "attention_bias": True,
        "mlp_bias": True,
    },
    "mistral": {**COMMON, "model_type": "mistral", "sliding_window": 9, "head_dim": 16},
    "qwen3": {**COMMON, "model_type": "qwen3", "head_dim": 16},
    "mixtral": {
        **COMMON,
        "model_type": "mixtral",
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
        "sliding_window": None,
    },
    "qwen3_moe": {
        **COMMON,
        "model_type": "qwen3_moe",
        "head_dim": 16,
        "num_experts": 8,
        "num_experts_per_tok": 3,
        "moe_intermediate_size": 32,
        "norm_topk_prob": True,
        "num_hidden_layers": 3,
        "mlp_only_layers": [1],
    },
    "gpt_oss": {
        **COMMON,
        "model_type": "gpt_oss",
        "head_dim": 16,
        "sliding_window": 9,
        "num_local_experts": 8,
        "num_experts_per_tok": 3,
        "rope_scaling": {**YARN, "truncate": False},
    },
    "deepseek_v2": {
        **COMMON,
        **MLA,
        "model_type": "deepseek_v2",
        "n_shared_experts": 2,
        "topk_method": "group_limited_greedy",
        "rms_norm_eps": 1e-6,
    },
    "deepseek_v2 lite": {
        **COMMON,
        **MLA,
        "model_type": "deepseek_v2",
        "q_lora_rank": None,
        "n_shared_experts": 1,
        "topk_method": "greedy",
        "n_group": None,
        "topk_group": None,
        "rope_scaling": None,
        "rms_norm_eps": 1e-6,
    },
    "deepseek_v3": {**COMMON, **MLA, "model_type": "deepseek_v3", "n_shared_experts": 1, "rms_norm_eps": 1e-6},
}
