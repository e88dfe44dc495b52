"""Are weights read from safetensors under the names in use, and are random ones the same in any order?"""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")
pytest.importorskip("transformers", reason="the comparison needs the extra `probe-test`")

from safetensors.torch import save_file  # noqa: E402
from transformers import AutoModelForCausalLM  # noqa: E402

from probe.engine.linear.factory import linear_factory  # noqa: E402
from probe.engine.models.hf_config import load_config, parse_config  # noqa: E402
from probe.engine.models.mlp import Moe  # noqa: E402
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


@pytest.mark.parametrize(
    ("model", "kept"),
    [("deepseek_v3", {"weight", "e_score_correction_bias"}), ("deepseek_v2", {"weight"}), ("qwen3_moe", set())],
)
def test_what_chooses_among_experts_keeps_its_precision_where_the_reference_keeps_it(
    model: str, kept: set[str], tmp_path: Path
) -> None:
    """4.083 is 4.09375 in bf16, which may choose another expert; all else is of the type asked for."""
    config = parse_config(SMALL[model])
    shapes = RandomWeights(config, seed=0).shapes
    names = [name for name in shapes if ".layers.2." not in name and (".gate." in name or name == "model.norm.weight")]
    given = {name: torch.full(shapes[name], 4.083) for name in names}
    save_file(given, tmp_path / "model.safetensors")
    weights = SafetensorsWeights(config, tmp_path, torch.bfloat16)
    read = {name: weights.get(name) for name in names}
    whole = {name for name in names if read[name].dtype == torch.float32}
    assert {name.rpartition(".gate.")[2] for name in whole} == kept
    assert all(torch.equal(read[name], given[name]) for name in whole)


def test_a_loaded_deepseek_chooses_the_experts_that_transformers_chooses(tmp_path: Path) -> None:
    """Both keep the router's float32 in a bf16 model."""
    theirs(SMALL["deepseek_v3"]).save_pretrained(tmp_path)
    peer = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.bfloat16).model.layers[1].mlp.gate
    config = load_config(tmp_path)
    moe = Moe("model.layers.1.mlp", config, SafetensorsWeights(config, tmp_path, torch.bfloat16), linear_factory())
    x = torch.randn(64, 64, generator=torch.Generator().manual_seed(1)).bfloat16()
    factors, chosen = moe.route(x)
    _, wanted, experts = peer(x)
    every = torch.zeros(64, 16)
    torch.testing.assert_close(every.scatter(1, chosen, factors), every.scatter(1, experts, wanted), atol=1e-5, rtol=0)


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
