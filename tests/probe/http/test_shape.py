"""Does a named architecture bring what the fit needs and a server does not say?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from probe.curve.setup_shape import Shape
from probe.engine.errors import ProbeError
from probe.http.shape import shape_named


def test_a_mixture_brings_its_experts() -> None:
    """Qwen3-30B-A3B: 8 of 128 experts, 32 query heads on 4 key heads."""
    shape = shape_named("Qwen3-30B-A3B")
    assert (shape.fields["num_experts"], shape.fields["num_experts_per_tok"]) == (128, 8)
    assert (shape.attention, shape.sliding_window) == ("gqa", None)


def test_a_latent_and_a_window_are_named() -> None:
    assert shape_named("DeepSeek-V3").attention == "mla"
    assert shape_named("gpt-oss-20b").sliding_window == 128


def test_a_config_file_is_read(tmp_path: Path) -> None:
    config = {"model_type": "llama", "vocab_size": 256, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
              "num_key_value_heads": 1, "intermediate_size": 96, "rms_norm_eps": 1e-5, "rope_theta": 10000.0}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    for named in (tmp_path, tmp_path / "config.json"):
        shape = shape_named(str(named))
        assert (shape.fields["num_hidden_layers"], shape.attention) == (2, "mqa")


def test_nothing_named_is_nothing_known_and_an_unknown_name_is_refused() -> None:
    assert shape_named(None) == Shape()
    with pytest.raises(ProbeError, match="GPT-9"):
        shape_named("GPT-9")
