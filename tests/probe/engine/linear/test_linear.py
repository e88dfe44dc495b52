"""Does each linear backend compute x @ w.T with the weight it stored, and store the weight it was given?"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")

from probe.engine.errors import ProbeError  # noqa: E402
from probe.engine.linear import LinearError, linear_factory  # noqa: E402
from probe.engine.linear.base import LinearBackend  # noqa: E402
from probe.engine.linear.fp8 import Fp8Linear  # noqa: E402
from probe.engine.linear.int4 import Int4Linear, inner_tiles  # noqa: E402
from probe.engine.linear.int8 import Int8Linear  # noqa: E402
from probe.engine.linear.packed import PackedLinear, packing_available  # noqa: E402
from probe.engine.linear.panels import PanelLinear  # noqa: E402
from probe.engine.linear.plain import PlainLinear  # noqa: E402
from probe.engine.linear.w8a8 import W8A8Linear  # noqa: E402
from probe.engine.native import pool  # noqa: E402

OUT, IN = 48, 96
needs_packing = pytest.mark.skipif(not packing_available(), reason="this processor or torch has no oneDNN bf16")
needs_numba = pytest.mark.skipif(not pool.available(), reason="needs numba, and torch with libgomp")
BACKENDS = [
    pytest.param(PlainLinear, torch.float32, 1e-6, id="plain-fp32"),
    pytest.param(PlainLinear, torch.bfloat16, 8e-3, id="plain-bf16"),
    pytest.param(PackedLinear, torch.bfloat16, 8e-3, id="packed-bf16", marks=needs_packing),
    pytest.param(PackedLinear, torch.float32, 1e-6, id="packed-fp32", marks=needs_packing),
    pytest.param(PanelLinear, torch.bfloat16, 8e-3, id="panels-bf16", marks=needs_numba),
    pytest.param(Int8Linear, torch.float32, 1e-6, id="int8-fp32"),
    pytest.param(Int8Linear, torch.bfloat16, 1.2e-2, id="int8-bf16"),
    pytest.param(Int4Linear, torch.float32, 1e-6, id="int4-fp32"),
    pytest.param(Int4Linear, torch.bfloat16, 1.2e-2, id="int4-bf16"),
    pytest.param(W8A8Linear, torch.float32, 1.2e-2, id="w8a8"),
    pytest.param(Fp8Linear, torch.bfloat16, 5e-2, id="fp8"),
]


def weight(dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    return torch.randn(OUT, IN, generator=torch.Generator().manual_seed(seed)).to(dtype)


def relative_error(got: torch.Tensor, want: torch.Tensor) -> float:
    return float((got.float() - want).norm() / want.norm())


@pytest.mark.parametrize("tokens", [1, 5, 40])
@pytest.mark.parametrize(("backend", "dtype", "tolerance"), BACKENDS)
def test_a_product_equals_the_one_with_the_stored_weight(
    backend: type[LinearBackend], dtype: torch.dtype, tolerance: float, tokens: int
) -> None:
    linear = backend(weight(dtype), weight(dtype, seed=1)[:, 0], "w")
    x = torch.randn(tokens, IN, generator=torch.Generator().manual_seed(2)).to(dtype)
    want = x.float() @ linear.stored_weight().T + weight(dtype, seed=1)[:, 0].float()
    got = linear(x)
    assert got.dtype == dtype
    assert got.shape == (tokens, OUT)
    assert relative_error(got, want) < tolerance


@pytest.mark.parametrize(("backend", "most"), [(PlainLinear, 0.0), (Int8Linear, 0.5), (W8A8Linear, 0.5)])
def test_a_row_is_stored_within_half_a_step(backend: type[LinearBackend], most: float) -> None:
    w = weight(torch.float32)
    step = w.abs().amax(dim=1, keepdim=True) / 127
    assert ((backend(w, None, "w").stored_weight() - w).abs() <= most * step * 1.0001).all()


def test_int4_stores_each_group_within_half_a_step() -> None:
    w = weight(torch.float32)
    groups = w.view(OUT, IN // 32, 32)
    half = (groups.amax(2) - groups.amin(2)) / 30
    error = (Int4Linear(w, None, "w").stored_weight() - w).view(OUT, IN // 32, 32).abs().amax(2)
    assert (error <= half * 1.0001).all()


def test_int4_on_a_gpu_is_packed_by_tiles_that_divide_the_inputs() -> None:
    assert [inner_tiles(columns) for columns in (4096, 2880, 192, 96)] == [8, 4, 4, 2]


def test_int4_reproduces_sixteen_equidistant_levels() -> None:
    w = torch.arange(16.0).repeat(16, 2)
    torch.testing.assert_close(Int4Linear(w, None, "w").stored_weight(), w, atol=1e-5, rtol=0)


def test_fp8_stores_each_value_within_a_sixteenth() -> None:
    w = weight(torch.bfloat16)
    error = (Fp8Linear(w, None, "w").stored_weight() - w.float()).abs()
    subnormal = w.float().abs().amax(dim=1, keepdim=True) / 448 * 2.0**-10
    assert (error <= w.float().abs() / 16 + subnormal).all()


def test_w8a8_with_whole_numbers_is_exact() -> None:
    w = torch.zeros(16, 4)
    w[0] = torch.tensor([127.0, -2.0, 0.0, 5.0])
    x = torch.tensor([[127.0, 3.0, 1.0, -4.0]])
    assert W8A8Linear(w, None, "w")(x)[0, 0].item() == 127 * 127 - 2 * 3 - 5 * 4


@pytest.mark.parametrize("backend", [Int8Linear, Int4Linear, W8A8Linear, Fp8Linear])
def test_a_weight_of_zeros_stays_zero(backend: type[LinearBackend]) -> None:
    linear = backend(torch.zeros(OUT, IN), None, "w")
    assert torch.count_nonzero(linear(torch.ones(2, IN))) == 0


@needs_numba
def test_panels_refuse_what_the_kernel_would_read_as_other_numbers() -> None:
    """It is given an address: float32, or rows of another width, would be taken for bf16 of its own."""
    linear = PanelLinear(weight(torch.bfloat16), None, "w")
    with pytest.raises(LinearError, match=r"w: tokens of bf16 by 96 are expected, got .* of torch.float32"):
        linear(torch.ones(2, IN))
    with pytest.raises(LinearError, match=r"got \(2, 48\) of torch.bfloat16"):
        linear.gated(torch.ones(2, IN // 2, dtype=torch.bfloat16))
    with pytest.raises(LinearError, match=r"w: a bias of torch.bfloat16 is expected, got torch.float32"):
        PanelLinear(weight(torch.bfloat16), torch.ones(OUT), "w")


def test_bytes_read_are_codes_scales_and_zeros() -> None:
    w = torch.ones(64, 128, dtype=torch.bfloat16)
    sizes = {name: linear_factory(name)(w, None, "w").weight_bytes for name in ("none", "int8", "int4", "w8a8", "fp8")}
    assert sizes == {
        "none": 64 * 128 * 2,
        "int8": 64 * 128 + 64 * 2,
        "int4": 64 * 128 // 2 + 64 * 4 * 4,
        "w8a8": 64 * 128 + 64 * 4,
        "fp8": 64 * 128 + 64 * 4,
    }


@needs_packing
def test_dense_bf16_on_a_cpu_is_laid_out_anew_and_fp32_is_not() -> None:
    make = linear_factory("none", "cpu")
    assert isinstance(make(weight(torch.bfloat16), None, "w"), PanelLinear if pool.available() else PackedLinear)
    assert isinstance(make(weight(torch.float32), None, "w"), PlainLinear)


@pytest.mark.parametrize("name", ["lm_head", "layers.3.mlp.gate", "layers.0.mlp.router"])
def test_the_head_and_the_routers_stay_dense_in_a_quantised_run(name: str) -> None:
    assert isinstance(linear_factory("int8")(weight(torch.float32), None, name), PlainLinear)


def test_a_gate_projection_is_no_router() -> None:
    assert isinstance(linear_factory("int8")(weight(torch.float32), None, "layers.3.mlp.gate_proj"), Int8Linear)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: linear_factory("int3"), "quantization must be one of none, int8, int4, w8a8, fp8, got 'int3'"),
        (lambda: Int4Linear(torch.ones(40, 64), None, "l.0.o"), "l.0.o: out_features 40 is no multiple of 16"),
        (lambda: Int4Linear(torch.ones(48, 40), None, "l.0.o"), "l.0.o: in_features 40 is no multiple of group 32"),
        (lambda: Int4Linear(torch.ones(48, 40), None, "x", 20), r"group_size must be one of .*, got 20"),
        (lambda: PlainLinear(torch.ones(3), None, "norm"), r"norm: a linear weight has 2 dimensions, got \(3,\)"),
    ],
)
def test_what_cannot_be_held_is_named(make: object, message: str) -> None:
    with pytest.raises(LinearError, match=message) as caught:
        make()  # type: ignore[operator]
    assert isinstance(caught.value, ProbeError)
