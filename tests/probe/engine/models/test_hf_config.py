"""Is what the engine can't run refused by the field's name?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from probe.engine.errors import UnsupportedConfig
from probe.engine.models.hf_config import load_config, parse_config
from tests.probe.engine.models.small import SMALL


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"model_type": "gpt2"}, "model_type"),
        ({"hidden_act": "gelu"}, "hidden_act"),
        ({"hidden_size": "64"}, "hidden_size"),
        ({"hidden_size": None}, "hidden_size"),
        ({"num_hidden_layers": 0}, "num_hidden_layers"),
        ({"num_key_value_heads": 3}, "num_key_value_heads"),
        ({"rope_scaling": {"rope_type": "longrope", "factor": 2.0}}, "rope_scaling.rope_type"),
        ({"rope_scaling": {"type": "yarn"}}, "rope_scaling.factor"),
        ({"quantization_config": {"quant_method": "mxfp4"}}, "quantization_config"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor"),
        ({"pretraining_tp": 2}, "pretraining_tp"),
        ({"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.5}}, "partial_rotary_factor"),
        ({"model_type": ["llama"]}, "model_type"),
        ({"quantization_config": "fp8"}, "quantization_config"),
        ({"head_dim": 7}, "head_dim"),
        ({"rms_norm_eps": "1e-5"}, "rms_norm_eps"),
        ({"rms_norm_eps": 0}, "rms_norm_eps"),
        ({"rope_theta": "1e4"}, "rope_theta"),
        ({"rope_scaling": "yarn"}, "rope_scaling"),
        ({"rope_scaling": [1]}, "rope_scaling"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 0}}, "rope_scaling.factor"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": "4"}}, "rope_scaling.factor"),
        ({"rope_parameters": {"rope_type": "linear"}}, "rope_parameters.factor"),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8, "high_freq_factor": 4}}, "rope_scaling.low_freq_factor"),
        (
            {"rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 4}},
            "rope_scaling.low_freq_factor",
        ),
        ({"tie_word_embeddings": "false"}, "tie_word_embeddings"),
        ({"attention_bias": 1}, "attention_bias"),
        ({"eos_token_id": "</s>"}, "eos_token_id"),
        ({"eos_token_id": [1, -2]}, "eos_token_id"),
    ],
)
def test_an_unsupported_field_is_named(change: dict[str, Any], field: str) -> None:
    with pytest.raises(UnsupportedConfig) as refused:
        parse_config({**SMALL["llama"], **change})
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("name", "change", "field"),
    [
        ("deepseek_v3", {"scoring_func": "softmax"}, "scoring_func"),
        ("deepseek_v3", {"topk_method": "greedy"}, "topk_method"),
        ("deepseek_v3", {"n_group": 5}, "n_group"),
        ("deepseek_v2", {"norm_topk_prob": True}, "norm_topk_prob"),
        ("deepseek_v2", {"moe_layer_freq": 2}, "moe_layer_freq"),
        ("mixtral", {"num_experts_per_tok": 5}, "num_experts_per_tok"),
        ("deepseek_v2", {"kv_lora_rank": None}, "kv_lora_rank"),
        ("qwen3", {"layer_types": ["full_attention"]}, "layer_types"),
        ("qwen3", {"layer_types": ["full_attention", "chunked_attention"]}, "layer_types"),
        ("qwen3", {"layer_types": ["full_attention", "sliding_attention"]}, "sliding_window"),
        ("gpt_oss", {"sliding_window": None}, "sliding_window"),
        ("mistral", {"sliding_window": 0}, "sliding_window"),
        ("qwen3", {"layer_types": 5}, "layer_types"),
        ("qwen3_moe", {"mlp_only_layers": [-1]}, "mlp_only_layers"),
        ("gpt_oss", {"swiglu_limit": "7"}, "swiglu_limit"),
        ("gpt_oss", {"rope_scaling": None}, "rope_scaling"),
        ("deepseek_v3", {"qk_rope_head_dim": 7}, "qk_rope_head_dim"),
        ("deepseek_v3", {"topk_group": 9}, "topk_group"),
        ("deepseek_v3", {"topk_group": 1, "num_experts_per_tok": 6}, "num_experts_per_tok"),
        ("deepseek_v3", {"routed_scaling_factor": None}, "routed_scaling_factor"),
    ],
)
def test_an_unsupported_field_of_experts_latents_or_windows_is_named(
    name: str, change: dict[str, Any], field: str
) -> None:
    with pytest.raises(UnsupportedConfig) as refused:
        parse_config({**SMALL[name], **change})
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("name", "field"),
    [
        *(("qwen3", field) for field in ("head_dim", "num_key_value_heads")),
        *(("gpt_oss", field) for field in ("head_dim", "rope_scaling")),
        *(
            ("deepseek_v3", field)
            for field in ("q_lora_rank", "n_group", "topk_group", "n_shared_experts", "first_k_dense_replace")
        ),
        ("qwen3_moe", "num_experts"),
    ],
)
def test_what_a_model_would_be_another_one_without_is_asked_for(name: str, field: str) -> None:
    with pytest.raises(UnsupportedConfig, match="is missing") as refused:
        parse_config({key: value for key, value in SMALL[name].items() if key != field})
    assert refused.value.field == field


def test_a_folder_is_read_and_a_broken_file_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(SMALL["qwen3"]), encoding="utf-8")
    assert load_config(tmp_path).qk_norm
    (tmp_path / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(UnsupportedConfig, match=r"config\.json"):
        load_config(tmp_path)


def test_windows_alternate_where_the_architecture_says_so() -> None:
    assert parse_config({**SMALL["gpt_oss"], "num_hidden_layers": 4}).windows == (9, None, 9, None)
    assert parse_config(SMALL["mistral"]).windows == (9, 9)
    assert parse_config({**SMALL["qwen3"], "sliding_window": 9}).windows == (None, None)


def test_a_window_that_is_absent_is_the_architectures_own_and_null_is_none() -> None:
    """transformers' defaults; of Qwen3's layers the first 28 see all."""
    bare = {name: {k: v for k, v in SMALL[name].items() if k != "sliding_window"} for name in SMALL}
    assert parse_config(bare["mistral"]).windows == (4096, 4096)
    assert parse_config({**SMALL["mistral"], "sliding_window": None}).windows == (None, None)
    assert parse_config(bare["mixtral"]).windows == (None, None)
    assert parse_config(bare["gpt_oss"]).windows == (128, None)
    windowed = {**bare["qwen3"], "use_sliding_window": True, "num_hidden_layers": 30}
    assert parse_config(windowed).windows == (None,) * 28 + (4096, 4096)


def test_old_and_new_forms_of_rotary_settings_are_one() -> None:
    old = parse_config({**SMALL["llama"], "rope_theta": 5e5})
    scaling = {**SMALL["llama"]["rope_scaling"], "rope_theta": 5e5}
    new = {key: value for key, value in SMALL["llama"].items() if key not in ("rope_scaling", "rope_theta")}
    assert parse_config({**new, "rope_parameters": scaling}).rope == old.rope
