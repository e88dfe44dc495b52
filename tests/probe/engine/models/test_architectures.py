"""Do parameters and cached bytes equal the published ones, and does scaling keep an architecture's ratios?"""

from __future__ import annotations

import csv
from fractions import Fraction

import pytest

from probe.engine.models.presets import PRESETS, preset
from probe.engine.models.scale import scaled
from probe.engine.models.shapes import num_active_parameters, num_parameters, weight_shapes
from tests.shared_data import shared

GPT_OSS = ("gpt-oss-20b", "gpt-oss-120b")  # their published active counts leave one embedding out


def published() -> list[dict[str, str]]:
    with shared("published-throughput/architectures.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_parameters_are_within_a_thousandth_of_the_published() -> None:
    for row in published():
        count = num_parameters(preset(row["model"])) / 1e9
        assert count == pytest.approx(float(row["params_billion"]), rel=1e-3), row["model"]


def test_active_parameters_are_within_a_thousandth_of_the_published() -> None:
    for row in published():
        config = preset(row["model"])
        count = num_active_parameters(config)
        if row["model"] in GPT_OSS:
            count -= config.vocab_size * config.hidden_size
        assert count / 1e9 == pytest.approx(float(row["active_params_billion"]), rel=1e-3), row["model"]


def test_cached_bytes_a_token_equal_the_published() -> None:
    assert {row["model"]: preset(row["model"]).kv_bytes_per_token(2) for row in published()} == {
        row["model"]: int(row["kv_bytes_per_token_bf16"]) for row in published()
    }


def test_latent_attention_of_deepseek_v3_caches_71_times_less_than_its_heads_would() -> None:
    """61 layers of 128 heads with keys of 192 and values of 128, 2 bytes each: 4,997,120; the latent: 70,272."""
    assert 61 * 128 * (192 + 128) * 2 == 4_997_120
    assert round(Fraction(4_997_120, preset("DeepSeek-V3").kv_bytes_per_token(2))) == 71


def test_windowed_layers_stop_growing() -> None:
    """gpt-oss-20b at 1,000 tokens: 12 layers hold all, 12 hold 128; 2,048 bytes a token and layer."""
    config = preset("gpt-oss-20b")
    assert config.kv_bytes(1000, 2) == 12 * 2048 * 1000 + 12 * 2048 * 128
    assert config.kv_bytes(1001, 2) - config.kv_bytes(1000, 2) == 24_576


@pytest.mark.parametrize(
    ("model", "kind"),
    [("Llama-3.1-8B", "gqa"), ("DeepSeek-V3", "mla"), ("Mixtral-8x7B", "gqa")],
)
def test_one_specification_knows_its_kind(model: str, kind: str) -> None:
    assert preset(model).attention_spec(0).kind == kind


@pytest.mark.parametrize("model", PRESETS)
def test_any_architecture_scaled_down_keeps_its_ratios_and_is_small(model: str) -> None:
    big, small = preset(model), scaled(preset(model), 1 / 16)
    assert num_parameters(small) < num_parameters(big) / 50
    assert big.num_attention_heads // big.num_key_value_heads == small.num_attention_heads // small.num_key_value_heads
    assert set(small.windows) == set(big.windows)
    assert small.head_dim * small.num_attention_heads / small.hidden_size == pytest.approx(
        big.head_dim * big.num_attention_heads / big.hidden_size, rel=0.15
    )
    if big.moe and small.moe:
        assert small.moe.num_experts / small.moe.num_experts_per_tok == pytest.approx(
            big.moe.num_experts / big.moe.num_experts_per_tok, rel=0.08
        )
        assert set(small.moe.layers) == set(big.moe.layers)
    assert weight_shapes(small)


def test_scale_one_changes_nothing_and_others_are_refused() -> None:
    config = preset("Qwen3-8B")
    assert scaled(config, 1.0) is config
    with pytest.raises(ValueError, match=r"scale: 1\.5"):
        scaled(config, 1.5)
