"""Does attention over an eight-bit cache equal attention over the rows that the cache says it holds?"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")

from probe.engine.attention.dense import DenseAttention  # noqa: E402
from probe.engine.attention.metadata import BatchMetadata, GroupMetadata  # noqa: E402
from probe.engine.attention.quantised import QuantisedAttention  # noqa: E402
from probe.engine.attention.torch_paged import TorchPagedAttention  # noqa: E402
from probe.engine.errors import ProbeError  # noqa: E402
from probe.engine.interfaces import AttentionBackend  # noqa: E402
from probe.engine.kv.cache import LayerCache  # noqa: E402
from probe.engine.kv.quant import QuantisedLayerCache, dequantise_rows, kv_dtype, quantise_rows  # noqa: E402
from probe.engine.models.spec import AttentionSpec  # noqa: E402

GQA = AttentionSpec(4, 2, 8, 8, 0.3)
MLA = AttentionSpec(4, 1, 12, 8, 0.3, shares_key=True)
WINDOWED = AttentionSpec(4, 2, 8, 8, 0.3, window=5)
TABLES = [[9, 2, 6], [4, 1]]
NUM_PAST, NUM_NEW = [7, 0], [3, 6]


def batch_of(spec: AttentionSpec, tables: list[list[int]]) -> BatchMetadata:
    slots = [
        table[i // 4] * 4 + i % 4
        for table, past, new in zip(tables, NUM_PAST, NUM_NEW, strict=True)
        for i in range(past, past + new)
    ]
    group = GroupMetadata(spec.window, tables, torch.tensor(slots))
    return BatchMetadata(NUM_NEW, NUM_PAST, 4, torch.zeros(9, dtype=torch.long), [group], num_blocks=10)


@pytest.mark.parametrize("inner", [DenseAttention, TorchPagedAttention])
@pytest.mark.parametrize("spec", [pytest.param(s, id=n) for n, s in (("gqa", GQA), ("mla", MLA), ("window", WINDOWED))])
@pytest.mark.parametrize("name", ["int8", "fp8"])
def test_attention_over_codes_equals_attention_over_stored_rows(
    name: str, spec: AttentionSpec, inner: type[AttentionBackend]
) -> None:
    dtype, g = kv_dtype(name), torch.Generator().manual_seed(3)
    codes = QuantisedLayerCache.allocate(spec, 10, 4, dtype, torch.device("cpu"))
    plain = LayerCache.allocate(spec, 10, 4, torch.float32, torch.device("cpu"))
    past = torch.tensor([TABLES[0][i // 4] * 4 + i % 4 for i in range(7)])

    def rows(count: int, width: int) -> torch.Tensor:
        return torch.randn(count, spec.num_kv_heads, width, generator=g)

    def stored(given: torch.Tensor) -> torch.Tensor:
        return dequantise_rows(*quantise_rows(given, dtype), torch.float32)

    old_key, new_key = rows(7, spec.key_dim), rows(9, spec.key_dim)
    old_value, new_value = (None, None) if spec.shares_key else (rows(7, spec.value_dim), rows(9, spec.value_dim))
    query = torch.randn(9, spec.num_heads, spec.key_dim, generator=g)

    def attend(backend: AttentionBackend, cache: LayerCache, tables: list[list[int]]) -> torch.Tensor:
        batch = batch_of(spec, tables)
        backend.plan(batch)
        exact = cache is codes
        backend.write(
            new_key if exact else stored(new_key),
            None if new_value is None else new_value if exact else stored(new_value),
            cache,
            batch.groups[0],
        )
        return backend.attend(query, cache, batch.groups[0], spec, None)

    codes.store(old_key, old_value, past)
    plain.store(stored(old_key), None if old_value is None else stored(old_value), past)
    want = attend(DenseAttention(), plain, TABLES)
    torch.testing.assert_close(attend(QuantisedAttention(inner()), codes, TABLES), want, atol=1e-5, rtol=1e-5)
    assert float((want - attend(QuantisedAttention(inner()), codes, [[9, 6, 2], [4, 1]])).abs().max()) > 0.01


def test_a_cache_of_plain_rows_is_refused() -> None:
    backend, batch = QuantisedAttention(DenseAttention()), batch_of(GQA, TABLES)
    cache = LayerCache.allocate(GQA, 10, 4, torch.float32, torch.device("cpu"))
    backend.plan(batch)
    with pytest.raises(ProbeError, match=r"kv_cache_dtype: the cache holds torch.float32"):
        backend.write(torch.zeros(9, 2, 8), torch.zeros(9, 2, 8), cache, batch.groups[0])
