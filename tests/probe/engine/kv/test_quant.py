"""Are eight-bit keys and values the ones that were written, within half a step, wherever they lie?"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")

from probe.engine.errors import ProbeError  # noqa: E402
from probe.engine.kv.quant import (  # noqa: E402
    QuantisedLayerCache,
    bytes_per_token,
    dequantise_rows,
    kv_dtype,
    quantise_rows,
)
from probe.engine.models.spec import AttentionSpec  # noqa: E402

GQA = AttentionSpec(num_heads=8, num_kv_heads=2, key_dim=4, value_dim=4, scale=0.5)
MLA = AttentionSpec(num_heads=8, num_kv_heads=1, key_dim=6, value_dim=4, scale=0.5, shares_key=True)


def rows(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def test_int8_rows_come_back_within_half_a_step() -> None:
    given = rows(50, 64)
    codes, scale = quantise_rows(given, torch.int8)
    error = (dequantise_rows(codes, scale, torch.float32) - given).abs()
    assert (error <= 0.5 * scale.float()[:, None] + given.abs().amax(1, keepdim=True) * 2.0**-11).all()


def test_fp8_rows_come_back_within_a_sixteenth() -> None:
    given = rows(50, 64)
    codes, scale = quantise_rows(given, torch.float8_e4m3fn)
    error = (dequantise_rows(codes, scale, torch.float32) - given).abs()
    assert (error <= given.abs() / 16 + scale.float()[:, None] * 2.0**-10 + given.abs().amax() * 2.0**-11).all()


def test_a_row_by_hand() -> None:
    codes, scale = quantise_rows(torch.tensor([[127.0, -63.6, 0.0, 1.4]]), torch.int8)
    assert codes.tolist() == [[127, -64, 0, 1]]
    assert scale.tolist() == [1.0]


def test_a_row_of_zeros_is_stored_as_zeros() -> None:
    codes, scale = quantise_rows(torch.zeros(2, 4), torch.int8)
    assert torch.count_nonzero(dequantise_rows(codes, scale, torch.float32)) == 0


@pytest.mark.parametrize("name", ["int8", "fp8"])
def test_a_token_is_read_from_the_slot_it_was_written_to(name: str) -> None:
    cache = QuantisedLayerCache.allocate(GQA, 5, 2, kv_dtype(name), torch.device("cpu"))
    key, value = torch.full((2, 2, 4), 3.0), torch.full((2, 2, 4), -7.0)
    cache.store(key, value, torch.tensor([2 * 3 + 1, 2 * 1 + 0]))  # block 3 offset 1, block 1 offset 0
    read = cache.blocks(torch.tensor([1, 3]), torch.float32)
    torch.testing.assert_close(read.key[0, 0], key[0], rtol=1e-3, atol=0)
    torch.testing.assert_close(read.value[1, 1], value[0], rtol=1e-3, atol=0)
    assert torch.count_nonzero(read.key[0, 1]) == 0


def test_the_latent_is_stored_once_and_read_as_key_and_value() -> None:
    cache = QuantisedLayerCache.allocate(MLA, 2, 1, torch.int8, torch.device("cpu"))
    cache.store(torch.tensor([[[1.0, 2, 3, 4, 5, 127]]]), None, torch.tensor([1]))
    read = cache.blocks(torch.tensor([1]), torch.float32)
    assert read.key.flatten().tolist() == [1, 2, 3, 4, 5, 127]
    assert read.value.flatten().tolist() == [1, 2, 3, 4]


def test_a_copied_block_carries_its_scales() -> None:
    cache = QuantisedLayerCache.allocate(GQA, 2, 1, torch.int8, torch.device("cpu"))
    cache.store(torch.full((1, 2, 4), 9.0), torch.full((1, 2, 4), 4.0), torch.tensor([0]))
    cache.copy_block(0, 1)
    read = cache.blocks(torch.tensor([1]), torch.float32)
    torch.testing.assert_close(read.key, torch.full((1, 1, 2, 4), 9.0), rtol=1e-3, atol=0)
    torch.testing.assert_close(read.value, torch.full((1, 1, 2, 4), 4.0), rtol=1e-3, atol=0)


def test_bytes_a_token_count_the_scales() -> None:
    assert bytes_per_token(GQA) == 2 * 2 * 4 + 2 * 2 * 2
    assert bytes_per_token(MLA) == 6 + 2


def test_an_unknown_cache_dtype_is_named() -> None:
    with pytest.raises(ProbeError, match="kv_cache_dtype must be one of int8, fp8, got 'fp4'"):
        kv_dtype("fp4")
