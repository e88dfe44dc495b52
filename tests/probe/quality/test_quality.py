"""Do KL, flips and perplexity come out as by hand, and is a quantised model compared with itself where its weights are real?"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from probe.cli import probe
from probe.curve.schema import DeviceInfo, EngineInfo, ModelInfo, ResultFile, Run, dump_result, read_result
from probe.fit.result import with_curve
from probe.quality.divergence import Divergence
from probe.quality.errors import QualityRefused
from tests.probe.fit.points import DENSE, grid

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")


def test_kl_flips_and_perplexity_by_hand() -> None:
    """One position: (1/2, 1/2) against (3/4, 1/4), next token 1. KL = ln(2/3)/2 + ln(2)/2 = ln(4/3)/2; the next token's probability
    halves, so perplexity doubles. Both put token 0 first (a tie goes to the first): no flip."""
    found = Divergence()
    found.add([0, 1], np.log([[0.5, 0.5], [0.5, 0.5]]), np.log([[0.75, 0.25], [0.5, 0.5]]))
    quality = found.quality("x")
    assert quality.kl_mean == pytest.approx(math.log(4 / 3) / 2)
    assert quality.perplexity_ratio == pytest.approx(2)
    assert (quality.top1_flips, quality.tokens, quality.token_set) == (0, 1, "x")


def test_a_flip_is_another_likeliest_token_and_the_last_position_has_no_next() -> None:
    """Three positions, of which two count: one of them prefers the other token. What stands at the last one does not matter."""
    found = Divergence()
    found.add([0, 1, 0], np.log([[0.6, 0.4], [0.6, 0.4], [0.9, 0.1]]), np.log([[0.4, 0.6], [0.6, 0.4], [0.1, 0.9]]))
    assert found.quality("x").top1_flips == 0.5


def test_the_99th_percentile_is_over_positions_of_all_sequences() -> None:
    """Ninety-nine positions alike and one of ln(4/3)/2: at rank 98.01 of 0..99 the percentile is 0.01 of the way to it."""
    found = Divergence()
    same = np.log(np.full((100, 2), 0.5))
    found.add([0] * 100, same, same)
    found.add([0, 1], np.log([[0.5, 0.5], [0.5, 0.5]]), np.log([[0.75, 0.25], [0.5, 0.5]]))
    assert found.quality("x").kl_p99 == pytest.approx(0.01 * math.log(4 / 3) / 2, rel=1e-6)


def test_nothing_to_compare_is_refused() -> None:
    with pytest.raises(QualityRefused, match="token_set='x'"):
        Divergence().quality("x")
    with pytest.raises(QualityRefused, match="logits="):
        Divergence().add([0, 1], np.zeros((2, 3)), np.zeros((2, 4)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made("llama", tmp_path_factory.mktemp("model"))


def made(name: str, path: Path) -> Path:
    """A model of small layers with weights in a file: real, as far as the probe can know."""
    from safetensors.torch import save_file  # noqa: PLC0415 (an extra)

    from probe.engine.models.hf_config import parse_config  # noqa: PLC0415
    from probe.engine.models.shapes import weight_shapes  # noqa: PLC0415
    from tests.probe.engine.models.small import SMALL  # noqa: PLC0415

    raw = {**SMALL[name]}
    (path / "config.json").write_text(json.dumps(raw))
    drawn = torch.Generator().manual_seed(0)
    shapes = weight_shapes(parse_config(raw))
    save_file(
        {name: torch.randn(shape, generator=drawn) * 0.2 for name, shape in shapes.items()}, path / "model.safetensors"
    )
    (path / "tokens.json").write_text(json.dumps([[(7 * i * i + i) % 256 for i in range(40)], [5, 4, 3]]))
    return path


def asked(folder: Path, *options: str) -> str:
    tokens = ("--tokens", str(folder / "tokens.json"))
    done = CliRunner().invoke(
        probe, ["quality", str(folder), "--dtype", "float32", "--device", "cpu", *tokens, *options]
    )
    return done.output


def test_eight_bits_move_answers_a_little_and_four_bits_more(folder: Path) -> None:
    """41 positions have a next token: 39 and 2."""
    kl = {
        name: float(asked(folder, "--quantization", name).split("KL mean ")[1].split(",")[0])
        for name in ("int8", "int4")
    }
    assert 0 < kl["int8"] < kl["int4"]
    assert "41 tokens of tokens " in asked(folder, "--quantization", "int8")


def test_a_quantised_cache_moves_answers_too(folder: Path) -> None:
    assert float(asked(folder, "--kv-cache-dtype", "int8").split("KL mean ")[1].split(",")[0]) > 0


def test_layers_of_different_windows_are_compared(tmp_path: Path) -> None:
    """gpt-oss sees 9 tokens in every other layer. With its cache in eight bits its answers move, but little; and its
    unchanged logits are those of transformers, so what it is compared with is the model."""
    pytest.importorskip("transformers")
    from probe.quality.compare import _logits  # noqa: PLC0415 (needs torch)
    from tests.probe.engine.models.peers import ours, reference_logits, theirs  # noqa: PLC0415
    from tests.probe.engine.models.small import SMALL  # noqa: PLC0415

    tokens = [(17 * i * i + 5 * i + 3) % 256 for i in range(40)]
    got = _logits(ours(SMALL["gpt_oss"]), "auto", tokens)
    wanted = reference_logits(theirs(SMALL["gpt_oss"]), tokens)
    assert np.abs(got - wanted.numpy()).max() < 1e-4
    said = asked(made("gpt_oss", tmp_path), "--kv-cache-dtype", "int8")
    assert 0 < float(said.split("KL mean ")[1].split(",")[0]) < 0.1


def test_figures_go_into_the_result_file_and_its_curve(folder: Path, tmp_path: Path) -> None:
    made = ResultFile(
        version=1,
        result_id="r",
        run=Run(measured_at="2026-11-01", via="in_process"),
        model=ModelInfo(name="m", dtype="float32", quantization="int8"),
        engine=EngineInfo(name="e"),
        device=DeviceInfo(gpu="cpu"),
        points=grid(DENSE),
    )
    path = tmp_path / "r.json"
    path.write_bytes(dump_result(with_curve(made)))
    said = asked(folder, "--quantization", "int8", "--result", str(path))
    found = read_result(path)
    assert found.quality is not None
    assert found.quality.kl_mean is not None
    assert (found.curve or {})["kl_divergence"] == found.quality.kl_mean
    assert f"KL mean {found.quality.kl_mean:.4g}" in said


def test_of_random_weights_nothing_is_said() -> None:
    done = CliRunner().invoke(probe, ["quality", "Llama-3.1-8B", "--quantization", "int8"])
    assert (done.exit_code, done.output) == (0, "nothing can be said of random weights\n")


def test_a_name_that_is_no_model_s_is_refused() -> None:
    done = CliRunner().invoke(probe, ["quality", "Lama-3.1-8B", "--quantization", "int8"])
    assert done.exit_code != 0
    assert "'Lama-3.1-8B': neither a folder nor one of" in done.output


def test_figures_of_one_quantisation_do_not_go_into_a_result_of_another(tmp_path: Path) -> None:
    made = ResultFile(
        version=1,
        result_id="r",
        run=Run(measured_at="2026-11-01", via="in_process"),
        model=ModelInfo(name="m", quantization="int4"),
        engine=EngineInfo(name="e"),
        device=DeviceInfo(gpu="cpu"),
    )
    (tmp_path / "r.json").write_bytes(dump_result(made))
    words = ["quality", "Llama-3.1-8B", "--quantization", "int8", "--result", str(tmp_path / "r.json")]
    done = CliRunner().invoke(probe, words)
    assert "quantization='int8': r is of int4" in done.output
    assert read_result(tmp_path / "r.json").quality is None


@pytest.mark.parametrize(("options", "why"), [
    ((), "quantization='none': nothing is changed"),
    (("--quantization", "int8", "--tokens", "{bad}"), "a list of lists of at least two token ids"),
    (("--quantization", "int8", "--tokens", "{high}"), "tokens=256: not in 0..255"),
])  # fmt: skip
def test_refusals_name_the_field(options: tuple[str, ...], why: str, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("[[1]]")
    (tmp_path / "high").write_text("[[1, 256]]")
    given = [one.format(bad=tmp_path / "bad", high=tmp_path / "high") for one in options]
    assert why in asked(folder, *given)


def test_the_own_text_goes_through_the_model_s_tokenizer(tmp_path: Path) -> None:
    from probe.quality.tokens import own_prose  # noqa: PLC0415 (needs tokenizers)

    tokenizers = pytest.importorskip("tokenizers")
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE({letter: i for i, letter in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    found = own_prose(tmp_path / "tokenizer.json")
    assert len(found.sequences) == 9
    assert found.name.startswith("prose ")
    assert found == own_prose(tmp_path / "tokenizer.json")
