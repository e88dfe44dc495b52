"""Are bytes and operations of a step those of the model: parameters and cache as the engine has them, for every architecture?"""

from __future__ import annotations

import math

import msgspec
import pytest

pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")

from probe.curve.printing import print_use
from probe.curve.schema import DeviceInfo, EngineInfo, ModelInfo, Point, ResultFile, Run
from probe.curve.setup_shape import shape_in_file, shape_of
from probe.engine.models.presets import PRESETS, preset
from probe.engine.models.shapes import weight_shapes


def result(name: str) -> ResultFile:
    shape = shape_in_file(preset(name))
    return ResultFile(
        version=1,
        result_id=name,
        run=Run(measured_at="2026-12-01", via="in_process"),
        model=ModelInfo(
            name=name, architecture=shape.fields, attention=shape.attention, sliding_window=shape.sliding_window
        ),
        engine=EngineInfo(name="e"),
        device=DeviceInfo(gpu="g"),
    )


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_parameters_and_cache_are_the_engines(name: str) -> None:
    config, found = preset(name), shape_of(result(name))
    assert found is not None
    every = sum(math.prod(shape) for shape in weight_shapes(config).values())
    assert found.parameters == pytest.approx(every, rel=1e-3)
    layers = range(config.num_hidden_layers)
    assert found.kv_bytes_per_token(2) == sum(config.attention_spec(layer).bytes_per_token(2) for layer in layers)


def test_a_token_of_deepseek_v3_uses_37_billion_parameters_and_few_tokens_stream_few_experts() -> None:
    """8 routed and one shared expert of 256 in 58 of 61 layers (its report: 37B active of 671B)."""
    found = shape_of(result("DeepSeek-V3"))
    assert found is not None
    assert found.used == pytest.approx(37e9, rel=0.03)
    assert found.used - found.vocab * found.hidden < found.streamed(1) < 1.01 * found.used
    assert found.streamed(4096) == pytest.approx(found.parameters - found.vocab * found.hidden, rel=0.01)


def test_a_pair_of_a_latent_model_is_its_keys_and_values_and_a_token_all_that_it_uses() -> None:
    """DeepSeek-V3: 61 layers x 128 heads x 2 x (128 + 64 + 128) operations a pair; the head is met by one row of the two tokens."""
    found = shape_of(result("DeepSeek-V3"))
    assert found is not None
    pairs = 2 * 61 * 128 * (128 + 64 + 128)
    assert found.flops(2, 10, 1) - found.flops(2, 0, 1) == pytest.approx(10 * pairs)
    assert found.flops(2, 0, 2) - found.flops(2, 0, 1) == 2 * found.vocab * found.hidden
    assert found.kv_bytes_per_token(2) == 61 * (512 + 64) * 2


def test_a_step_is_told_beside_the_measured_ceilings(capsys: pytest.CaptureFixture[str]) -> None:
    """DeepSeek-V3 on a device of 1e15 bytes and 1e18 operations a second: one sequence streams, 65,536 prompt tokens compute."""
    device = DeviceInfo(gpu="g", measured_bytes_per_second=1e15, measured_flops=1e18)
    points = [
        Point(kind="decode", seconds=0.001, batch=1, context_sum=1_000, n=3),
        Point(kind="prefill", seconds=0.02, new=65_536, pairs=65_536**2 / 2, n=3),
    ]
    found = msgspec.structs.replace(result("DeepSeek-V3"), device=device, points=points)
    print_use(msgspec.structs.replace(found, model=msgspec.structs.replace(found.model, dtype="bfloat16")))
    decode, prefill = capsys.readouterr().out.splitlines()
    assert decode.startswith("decode 1x1000: 7% of the measured bandwidth, 0% of operations: bound by bandwidth")
    assert prefill.startswith("prefill of 65536: 7% of the measured bandwidth, ")
    assert prefill.endswith("bound by operations")


def test_a_windowed_layer_looks_at_its_window_alone() -> None:
    """gpt-oss-20b: 12 of 24 layers see 128 tokens, 8 heads of 64: a sequence of 1,000 reads 12 x 1,000 + 12 x 128 rows of 2,048 bytes."""
    found = shape_of(result("gpt-oss-20b"))
    assert found is not None
    assert (found.window, found.windowed_layers, found.layers) == (128, 12, 24)
    cache = found.bytes(1, 1, 1_000, (2, 2)) - found.bytes(1, 1, 0, (2, 2))
    assert cache == pytest.approx((12 * 1_000 + 12 * 128) * 2 * 8 * 64 * 2)
    pairs = found.flops(1, 1_000, 1) - found.flops(1, 0, 1)
    assert pairs == pytest.approx((12 * 1_000 + 12 * 128) * 4 * 64 * 64)
    short = found.bytes(1, 1, 100, (2, 2)) - found.bytes(1, 1, 0, (2, 2))
    assert short == pytest.approx(24 * 100 * 2 * 8 * 64 * 2)


def test_a_file_that_does_not_say_how_many_layers_have_the_window_has_no_shape() -> None:
    found = result("gpt-oss-20b")
    known = {name: value for name, value in found.model.architecture.items() if name != "windowed_layers"}
    assert (
        shape_of(msgspec.structs.replace(found, model=msgspec.structs.replace(found.model, architecture=known))) is None
    )
