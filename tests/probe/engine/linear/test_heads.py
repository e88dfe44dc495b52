"""Is each head multiplied by its own weight, and by no other?"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")

from probe.engine.linear.base import LinearError  # noqa: E402
from probe.engine.linear.heads import HeadsLinear  # noqa: E402
from probe.engine.native import pool  # noqa: E402

HEADS, OUT, IN = 3, 40, 24
needs_kernel = pytest.mark.skipif(not pool.available(), reason="needs numba, and torch with libgomp")


def drawn(*shape: int, seed: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


@pytest.mark.parametrize("tokens", [1, 2, 7, 13])
@pytest.mark.parametrize("dtype", [torch.float32, pytest.param(torch.bfloat16, marks=needs_kernel)])
def test_parts_of_wider_rows_are_read_and_written(dtype: torch.dtype, tokens: int) -> None:
    """As MLA's are: queries with their rotary part behind, and what is written before theirs."""
    weight, x = drawn(HEADS, OUT, IN, seed=1, dtype=dtype), drawn(tokens, HEADS, IN + 8, seed=2, dtype=dtype)
    out = torch.full((tokens, HEADS, OUT + 4), 9.0, dtype=dtype)
    HeadsLinear(weight, "w")(x[..., :IN], out[..., :OUT])
    wanted = torch.einsum("thi,hoi->tho", x[..., :IN].float(), weight.float())
    # bf16 is rounded once from sums in float32
    torch.testing.assert_close(out[..., :OUT].float(), wanted, rtol=1.01 * 2.0**-8, atol=1e-3)
    assert out[..., OUT:].unique().tolist() == [9.0]


def test_bf16_without_the_kernel_is_torch_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "available", lambda: False)
    weight, x = (drawn(*shape, seed=1, dtype=torch.bfloat16) for shape in ((HEADS, OUT, IN), (5, HEADS, IN)))
    out = torch.empty(5, HEADS, OUT, dtype=torch.bfloat16)
    HeadsLinear(weight, "w")(x, out)
    assert torch.equal(out, torch.bmm(x.transpose(0, 1), weight.transpose(1, 2)).transpose(0, 1))


@pytest.mark.parametrize(
    ("x", "out"),
    [
        (torch.zeros(2, HEADS, IN + 1), torch.zeros(2, HEADS, OUT)),
        (torch.zeros(2, HEADS, IN), torch.zeros(3, HEADS, OUT)),
        (torch.zeros(2, HEADS + 1, IN), torch.zeros(2, HEADS + 1, OUT)),
        (torch.zeros(2, HEADS, IN), torch.zeros(2, HEADS, OUT, dtype=torch.bfloat16)),
        (torch.zeros(2, HEADS, 2 * IN)[..., ::2], torch.zeros(2, HEADS, OUT)),
    ],
)
def test_what_does_not_fit_is_refused_by_name(x: torch.Tensor, out: torch.Tensor) -> None:
    with pytest.raises(LinearError, match=r"kv_b: \(2, 3, 24\) to \(2, 3, 40\) of torch.float32, columns together"):
        HeadsLinear(torch.zeros(HEADS, OUT, IN), "kv_b")(x, out)
