"""Do the kernels give what torch's float32 gives for the same bf16 numbers?"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")

from torch.nn import functional  # noqa: E402

from probe.engine.attention.dense import DenseAttention  # noqa: E402
from probe.engine.attention.metadata import BatchMetadata, GroupMetadata  # noqa: E402
from probe.engine.attention.torch_paged import TorchPagedAttention  # noqa: E402
from probe.engine.kv.cache import LayerCache  # noqa: E402
from probe.engine.models.rope import rotate  # noqa: E402
from probe.engine.models.spec import AttentionSpec  # noqa: E402
from probe.engine.native import calls, pool  # noqa: E402

pytestmark = pytest.mark.skipif(not pool.available(), reason="needs numba, and torch with libgomp")

HALF_STEP = 2.0**-8  # bf16 keeps 8 bits: rounding once is at most half of 2^-7


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).bfloat16()


def near(got: torch.Tensor, wanted: torch.Tensor) -> None:
    """Rounded once from float32 sums, and no more."""
    torch.testing.assert_close(got.float(), wanted, rtol=1.01 * HALF_STEP, atol=1e-3)


def product(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, *, gated: bool = False
) -> torch.Tensor:
    return calls.product(x, calls.panels(weight), bias, len(weight), gated=gated)


@pytest.mark.parametrize("columns", [7, 16, 38, 64, 200])
@pytest.mark.parametrize("tokens", [1, 2, 3, 4, 5, 6, 7, 13, 40])
def test_a_product_is_rounded_once(tokens: int, columns: int) -> None:
    x, w, b = drawn(tokens, 194), drawn(columns, 194, seed=1), drawn(columns, seed=2)
    near(product(x, w), x.float() @ w.float().T)
    near(product(x, w, b), x.float() @ w.float().T + b.float())


@pytest.mark.parametrize("columns", [32, 96])
@pytest.mark.parametrize("tokens", [1, 2, 6, 11])
def test_a_gated_product_is_silu_of_the_first_half_times_the_second(tokens: int, columns: int) -> None:
    x, w, b = 3 * drawn(tokens, 64), drawn(columns, 64, seed=1), drawn(columns, seed=2)
    gate, up = (x.float() @ w.float().T + b.float()).chunk(2, dim=-1)
    near(product(x, w, b, gated=True), functional.silu(gate) * up)
    gate, up = (x.float() @ w.float().T).chunk(2, dim=-1)
    near(product(x, w, gated=True), functional.silu(gate) * up)


def test_a_token_gets_the_same_bits_with_whomever_it_comes() -> None:
    x, w = drawn(40, 256), drawn(64, 256, seed=1)
    together = product(x, w)
    for tokens in range(1, 40):
        assert torch.equal(product(x[:tokens], w), together[:tokens])
        assert torch.equal(product(x[tokens:], w), together[tokens:])


def test_one_thread_and_two_give_the_same_bits() -> None:
    x, w, threads = drawn(8, 256), drawn(66, 256, seed=1), torch.get_num_threads()
    found = []
    for count in (1, 2):
        torch.set_num_threads(count)
        found.append(product(x, w))
    torch.set_num_threads(threads)
    assert torch.equal(*found)


def test_two_engines_of_one_process_do_not_get_each_other_s_numbers() -> None:
    """The interpreter's lock is free while a kernel runs."""
    inputs = [(drawn(2, 512, seed=seed), drawn(4096, 512, seed=seed + 9)) for seed in range(2)]
    inputs = [(x, calls.panels(w)) for x, w in inputs]
    wanted = [calls.product(x, w, None, 4096) for x, w in inputs]

    def repeated(which: int) -> bool:
        return all(torch.equal(calls.product(*inputs[which], None, 4096), wanted[which]) for _ in range(200))

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(repeated, range(2))) == [True, True]


def test_room_for_scores_is_replaced_by_larger_room_and_not_kept_beside_it() -> None:
    small = pool.scratch(1000)
    assert pool.scratch(900) is small
    large = pool.scratch(len(small))
    assert len(large) >= len(small) * (os.cpu_count() or 1)
    assert pool.scratch(1000) is large


def test_columns_of_a_view_are_read_as_the_view_has_them() -> None:
    wide, w = drawn(2, 128), drawn(6, 64, seed=1)
    near(product(wide[:, 64:], w), wide[:, 64:].float() @ w.float().T)


@pytest.mark.parametrize("tokens", [1, 5, 23])
def test_a_norm_of_a_sum(tokens: int) -> None:
    x, y, w = drawn(tokens, 96), drawn(tokens, 96, seed=1), drawn(96, seed=2)
    whole, normed = calls.norm_of_sum(x, y, w, 1e-5)
    assert torch.equal(whole, x + y)
    near(normed, functional.rms_norm((x + y).float(), (96,), w.float(), 1e-5))
    same, normed = calls.norm_of_sum(x, None, w, 1e-3)
    assert same is x
    near(normed, functional.rms_norm(x.float(), (96,), w.float(), 1e-3))


@pytest.mark.parametrize("tokens", [2, 9])
def test_a_gate_is_silu_of_the_first_half_times_the_second(tokens: int) -> None:
    x = 30 * drawn(tokens, 192)
    near(calls.gate(x), functional.silu(x[:, :96].float()) * x[:, 96:].float())


def test_an_eps_that_counts_is_not_lost() -> None:
    x, w = torch.full((1, 64), 2.0**-8, dtype=torch.bfloat16), torch.ones(64, dtype=torch.bfloat16)
    # squares are 2^-16 = 1.526e-5 in the mean: 2^-8 / sqrt(1.526e-5 + 1e-5) = 0.777
    assert calls.norm_of_sum(x, None, w, 1e-5)[1][0, 0].item() == pytest.approx(0.777, abs=0.003)


@pytest.mark.parametrize("normed", [False, True])
@pytest.mark.parametrize("tokens", [3, 17])
def test_heads_are_turned_and_keys_and_values_written_to_their_slots(normed: bool, tokens: int) -> None:
    spec = AttentionSpec(4, 2, 64, 64, 1.0)
    cache = LayerCache.allocate(spec, 4, 8, torch.bfloat16, torch.device("cpu"))
    qkv, angle, slots = (
        drawn(tokens, 8 * 64),
        torch.arange(32.0 * tokens).view(tokens, 1, 32),
        torch.arange(tokens) * 7 % 32,
    )
    angles = angle.cos().bfloat16(), angle.sin().bfloat16()
    norms = calls.HeadNorms(drawn(64, seed=3), drawn(64, seed=4), 1e-6) if normed else None
    query, key, value = torch.split(qkv.view(tokens, 8, 64).clone(), [4, 2, 2], dim=1)

    def wanted(x: torch.Tensor, weight: torch.Tensor | None) -> torch.Tensor:
        x = x.float() if weight is None else functional.rms_norm(x.float(), (64,), weight.float(), 1e-6).bfloat16()
        return rotate(x.float(), *(one.float() for one in angles))

    assert cache.memory is not None
    got = calls.turn_and_write(qkv, angles, norms, cache.memory, slots, spec)
    keys, values = cache.slots()
    near(got, wanted(query, norms and norms.query))
    near(keys[slots], wanted(key, norms and norms.key))
    assert torch.equal(values[slots], value)
    assert torch.count_nonzero(values.any(-1).any(-1)) == tokens


SPECS = {
    "gqa": AttentionSpec(8, 2, 64, 64, 0.125),
    "mha": AttentionSpec(2, 2, 128, 128, 0.09),
    "six to a head": AttentionSpec(12, 2, 32, 32, 0.2),
    "wide": AttentionSpec(4, 2, 96, 96, 0.1),
    "windowed": AttentionSpec(4, 1, 32, 32, 0.2, window=21),
    "mla": AttentionSpec(8, 1, 160, 128, 0.08, shares_key=True),
    "mla of six heads": AttentionSpec(6, 1, 64, 32, 0.12, shares_key=True),
}


NEW = [1, 3, 1, 1, 40, 2, 131, 7, 2, 25]
PAST = [70, 5, 0, 31, 0, 130, 61, 64, 0, 63]


@pytest.mark.parametrize("size", [4, 16])
@pytest.mark.parametrize("name", SPECS)
def test_tokens_attend_through_their_block_tables(name: str, size: int) -> None:
    """One new token or several, nothing before them or much, borders of tiles met and missed, in scattered blocks."""
    spec, tokens, blocks = SPECS[name], sum(NEW), 200
    order = iter(torch.randperm(blocks, generator=torch.Generator().manual_seed(5)).tolist())
    tables = [[next(order) for _ in range(-(-(n + p) // size))] for n, p in zip(NEW, PAST, strict=True)]
    cache = LayerCache.allocate(spec, blocks, size, torch.bfloat16, torch.device("cpu"))
    cache.key.copy_(drawn(*cache.key.shape, seed=6))
    cache.value.copy_(drawn(*cache.value.shape, seed=7))
    group = GroupMetadata(spec.window, tables, torch.zeros(tokens, dtype=torch.long))
    batch = BatchMetadata(NEW, PAST, size, torch.zeros(tokens, dtype=torch.long), [group], num_blocks=blocks)
    query, sinks = drawn(tokens, spec.num_heads, spec.key_dim, seed=8), drawn(spec.num_heads, seed=9)
    dense, paged = DenseAttention(), TorchPagedAttention(torch.bfloat16)
    for joined in (None, sinks):
        dense.plan(batch)
        wanted = dense.attend(query, cache, group, spec, joined).float()
        paged.plan(batch)
        got = paged.attend(query, cache, group, spec, joined).float()
        torch.testing.assert_close(got, wanted, rtol=2.0**-6, atol=4e-3)
    assert "all" not in vars(group.plan), "torch attended"
    assert group.plan.decode.rows.tolist() == [0, 4, 5]
    assert [fact[0] for fact in group.plan.several.facts] == [1, 6, 46, 48, 179, 186, 188]


@pytest.mark.parametrize("name", ["mla", "mla of six heads", "six to a head"])
def test_a_sequence_whose_heads_several_threads_share_gets_the_same_bits(name: str) -> None:
    """A thread takes all heads of a key where there are sequences enough, else four of them."""
    spec, length, batch = SPECS[name], 70, 4 * torch.get_num_threads()
    cache = LayerCache.allocate(spec, batch * 5, 16, torch.bfloat16, torch.device("cpu"))
    cache.key.copy_(drawn(*cache.key.shape, seed=6))
    if not spec.shares_key:
        cache.value.copy_(drawn(*cache.value.shape, seed=7))
    query = drawn(batch, spec.num_heads, spec.key_dim, seed=8)

    def attended(first: int, last: int) -> torch.Tensor:
        count = last - first
        tables = torch.arange(5 * batch).view(batch, 5)[first:last].contiguous()
        firsts = max(0, length - (spec.window or length))
        plan = calls.DecodePlan(
            slice(0, count), tables, torch.full((count,), length), torch.full((count,), firsts), length - firsts, 16
        )
        out = torch.empty(count, spec.num_heads, spec.value_dim, dtype=torch.bfloat16)
        assert cache.memory is not None
        calls.decode(query[first:last], cache.memory, plan, spec, out, torch.empty(out.shape[:2]))
        return out

    together = attended(0, batch)
    for number in range(batch):
        assert torch.equal(attended(number, number + 1), together[number : number + 1])


@pytest.mark.parametrize("size", [4, 16])
@pytest.mark.parametrize("new", [1, 5])
def test_what_lies_behind_a_sequence_is_not_read(new: int, size: int) -> None:
    """Not even where its last tile is not full: another's numbers, or none, may be there."""
    spec, past = SPECS["gqa"], 18
    cache = LayerCache.allocate(spec, 8, size, torch.bfloat16, torch.device("cpu"))
    keys, values = cache.slots()
    for each, seed in ((keys, 6), (values, 7)):
        each.fill_(float("nan"))
        each[: past + new] = drawn(past + new, *each.shape[1:], seed=seed)
    group = GroupMetadata(None, [list(range(-(-(past + new) // size)))], torch.zeros(new, dtype=torch.long))
    batch = BatchMetadata([new], [past], size, torch.zeros(new, dtype=torch.long), [group], num_blocks=8)
    paged = TorchPagedAttention(torch.bfloat16)
    paged.plan(batch)
    assert not paged.attend(drawn(new, spec.num_heads, 64, seed=8), cache, group, spec, None).isnan().any()


@pytest.mark.parametrize("size", [4, 7, 16])
@pytest.mark.parametrize("new", [1, 5, 70])
def test_what_a_window_has_passed_is_not_read(new: int, size: int) -> None:
    """Its blocks are another's by now; here they, and its slots of the first block still held, hold no numbers."""
    spec, past = AttentionSpec(4, 1, 32, 32, 0.2, window=21), 140
    first, length = past - 21 + 1, past + new
    table = [-1] * (first // size) + list(range(1, 1 + -(-length // size) - first // size))
    cache = LayerCache.allocate(spec, 1 + len(table), size, torch.bfloat16, torch.device("cpu"))
    keys, values = cache.slots()
    slots = torch.tensor([table[i // size] * size + i % size for i in range(first, length)])
    for each, seed in ((keys, 6), (values, 7)):
        each.fill_(float("nan"))
        each[slots] = drawn(length - first, *each.shape[1:], seed=seed)
    group = GroupMetadata(21, [table], torch.zeros(new, dtype=torch.long))
    batch = BatchMetadata([new], [past], size, torch.zeros(new, dtype=torch.long), [group], num_blocks=1 + len(table))
    query, dense, paged = drawn(new, 4, 32, seed=8), DenseAttention(), TorchPagedAttention(torch.bfloat16)
    paged.plan(batch)
    got = paged.attend(query, cache, group, spec, None).float()
    for each in (keys, values):
        each[each.isnan()] = 0
    dense.plan(batch)
    assert "all" not in vars(group.plan), "torch attended"
    torch.testing.assert_close(got, dense.attend(query, cache, group, spec, None).float(), rtol=2.0**-6, atol=4e-3)


@pytest.mark.parametrize(
    ("window", "size", "length"), [(32, 16, 67), (64, 16, 129), (None, 3, 48), (None, 5, 48), (48, 7, 61)]
)
def test_no_probability_is_read_behind_the_scores(window: int | None, size: int, length: int) -> None:
    """Keys are a multiple of 16 and the last block holds an odd number of them: the last pair's second is none of them. Behind the
    probabilities stand what is left of the scores; each is 1 + 255 / 2^16, whose second half is bf16's infinity."""
    spec = AttentionSpec(4, 1, 32, 32, 0.2, window=window)
    table = list(range(-(-length // size)))
    cache = LayerCache.allocate(spec, len(table), size, torch.bfloat16, torch.device("cpu"))
    cache.key[..., 0], cache.key[..., 1] = 1, 255 * 2.0**-16
    cache.value.copy_(drawn(*cache.value.shape, seed=7))
    group = GroupMetadata(window, [table], torch.tensor([length - 1]))
    batch = BatchMetadata([1], [length - 1], size, torch.tensor([length - 1]), [group], num_blocks=len(table))
    query, dense, paged = torch.zeros(1, 4, 32).bfloat16(), DenseAttention(), TorchPagedAttention(torch.bfloat16)
    query[..., :2] = 1
    dense.plan(batch)
    wanted = dense.attend(query, cache, group, spec, None).float()
    paged.plan(batch)
    got = paged.attend(query, cache, group, spec, None).float()
    assert "all" not in vars(group.plan), "torch attended"
    torch.testing.assert_close(got, wanted, rtol=2.0**-6, atol=4e-3)


def test_a_tile_s_scores_have_room_wherever_its_window_lies() -> None:
    """Six tokens see window + 5 keys, from any of 64 places of a tile on."""
    for window in range(1, 200):
        tiles = [-(-(place + window + 5) // 64) for place in range(64)]
        assert calls.most_laid(window) == 64 * max(tiles)


def test_far_apart_scores_are_weighed_without_overflow() -> None:
    """Scores 0 and 200: the second has all the weight, and the log-sum-exp is 200."""
    spec = AttentionSpec(1, 1, 32, 32, 1.0)
    cache = LayerCache.allocate(spec, 1, 16, torch.bfloat16, torch.device("cpu"))
    cache.key[0, 1, 0, 0] = 200
    cache.value[0, 0], cache.value[0, 1] = 1, 3
    query = torch.zeros(1, 1, 32, dtype=torch.bfloat16)
    query[0, 0, 0] = 1
    plan = calls.DecodePlan(slice(0, 1), torch.tensor([[0]]), torch.tensor([2]), torch.tensor([0]), 2, 16)
    assert cache.memory is not None
    out, lse = torch.empty(1, 1, 32, dtype=torch.bfloat16), torch.empty(1, 1)
    calls.decode(query, cache.memory, plan, spec, out, lse)
    assert out.unique().tolist() == [3]
    assert lse.item() == 200


def test_a_processor_s_own_bf16_products_are_used_where_it_has_them() -> None:
    flags = Path("/proc/cpuinfo")
    if not flags.exists():
        pytest.skip("this system does not say what its processor has")
    script = "from probe.engine.native import emit; print(emit.HAS_DOT)"
    found = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.strip()
    assert found == str("avx512_bf16" in flags.read_text(encoding="utf-8").split())


def test_a_processor_without_bf16_products_gets_the_same_sums() -> None:
    script = """
import torch
from probe.engine.native import calls, emit
emit.HAS_DOT = False
x, w = torch.randn(3, 128).bfloat16(), torch.randn(10, 128).bfloat16()
torch.testing.assert_close(calls.product(x, calls.panels(w), None, 10).float(), x.float() @ w.float().T, rtol=2**-8, atol=1e-3)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_keys_and_values_that_lie_apart_otherwise_are_for_no_kernel() -> None:
    """It is given one stride for both; MLA's values are the keys' first columns, so these have it."""
    key, value = (torch.zeros(4, 16, 2, width, dtype=torch.bfloat16) for width in (64, 32))
    assert LayerCache(key, value).memory is None
    assert LayerCache(key, key.clone()).memory is not None
    mla = LayerCache.allocate(SPECS["mla"], 4, 16, torch.bfloat16, torch.device("cpu"))
    assert mla.memory is not None
    assert mla.memory.keys == mla.memory.values
