"""Are weights read from safetensors under the names in use, and are random ones the same in any order?"""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")
pytest.importorskip("transformers", reason="the comparison needs the extra `probe-test`")

from safetensors.torch import save_file  # noqa: E402

from probe.engine.models.hf_config import load_config, parse_config  # noqa: E402
from probe.engine.models.weights import RandomWeights, SafetensorsWeights, WeightError  # noqa: E402
from tests.probe.engine.models.peers import theirs  # noqa: E402
from tests.probe.engine.models.small import SMALL  # noqa: E402


@pytest.mark.parametrize("name", ["llama tied with biases", "mixtral", "qwen3_moe", "gpt_oss", "deepseek_v3"])
def test_what_transformers_saves_is_read_back(name: str, tmp_path: Path) -> None:
    """save_pretrained writes the hub's names: one tensor an expert, w1, w2, w3 for Mixtral."""
    theirs(SMALL[name]).save_pretrained(tmp_path)
    config = load_config(tmp_path)
    given, read = RandomWeights(config, seed=3), SafetensorsWeights(config, tmp_path, torch.float32)
    assert config.windows == parse_config(SMALL[name]).windows
    for key in given.shapes:
        torch.testing.assert_close(read.get(key), given.get(key), atol=0, rtol=0)


def test_what_corrects_the_choice_of_experts_keeps_its_precision(tmp_path: Path) -> None:
    """4.083 is 4.09375 in bf16, which may choose another expert; the others are of the type asked for."""
    config, name = parse_config(SMALL["deepseek_v3"]), "model.layers.1.mlp.gate.e_score_correction_bias"
    bias = torch.full(RandomWeights(config, seed=0).shapes[name], 4.083)
    save_file({name: bias, "model.norm.weight": torch.ones(64)}, tmp_path / "model.safetensors")
    weights = SafetensorsWeights(config, tmp_path, torch.bfloat16)
    assert torch.equal(weights.get(name), bias)
    assert weights.get("model.norm.weight").dtype == torch.bfloat16


def test_a_missing_tensor_and_a_wrong_shape_are_named(tmp_path: Path) -> None:
    config = parse_config(SMALL["llama"])
    save_file({"model.norm.weight": torch.ones(63)}, tmp_path / "model.safetensors")
    weights = SafetensorsWeights(config, tmp_path, torch.float32)
    with pytest.raises(WeightError, match=r"lm_head\.weight: not in"):
        weights.get("lm_head.weight")
    with pytest.raises(WeightError, match=r"model\.norm\.weight: shape \(63,\), the configuration says \(64,\)"):
        weights.get("model.norm.weight")


def test_a_folder_without_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WeightError, match=r"no \*\.safetensors file"):
        SafetensorsWeights(parse_config(SMALL["llama"]), tmp_path, torch.float32)


def test_a_random_weight_depends_on_its_name_and_seed_alone() -> None:
    config = parse_config(SMALL["llama"])
    name, other = "lm_head.weight", "model.norm.weight"
    first = RandomWeights(config, seed=1)
    first.get(other)
    assert torch.equal(first.get(name), RandomWeights(config, seed=1).get(name))
    assert not torch.equal(first.get(name), RandomWeights(config, seed=2).get(name))
