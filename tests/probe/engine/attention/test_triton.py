"""Do the Triton kernels compute what dense attention in fp32 computes, whatever the lengths, blocks, windows and heads?"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")
pytest.importorskip("triton", reason="the Triton kernels need the extra `gpu`")

from probe.engine.attention.metadata import BatchMetadata, GroupMetadata  # noqa: E402
from probe.engine.attention.triton_backend import TritonAttention  # noqa: E402
from probe.engine.attention.triton_common import HeadShape, device_tables, head_shape  # noqa: E402
from probe.engine.attention.triton_decode import decode, parts_for  # noqa: E402
from probe.engine.kv.cache import LayerCache  # noqa: E402
from probe.engine.models.spec import AttentionSpec  # noqa: E402

BLOCK = 4
GQA = AttentionSpec(num_heads=4, num_kv_heads=2, key_dim=16, value_dim=16, scale=0.25)
ODD = AttentionSpec(num_heads=3, num_kv_heads=1, key_dim=24, value_dim=20, scale=0.2)
TINY = AttentionSpec(num_heads=2, num_kv_heads=2, key_dim=8, value_dim=8, scale=0.35)
MLA = AttentionSpec(num_heads=18, num_kv_heads=1, key_dim=40, value_dim=32, scale=0.2, shares_key=True)
WINDOW = AttentionSpec(num_heads=4, num_kv_heads=2, key_dim=16, value_dim=16, scale=0.25, window=7)
SINKS = AttentionSpec(num_heads=4, num_kv_heads=2, key_dim=16, value_dim=16, scale=0.25, window=7, has_sinks=True)
SPECS = [pytest.param(spec, id=name) for name, spec in
         [("gqa", GQA), ("odd", ODD), ("tiny", TINY), ("mla", MLA), ("window", WINDOW), ("sinks", SINKS)]]  # fmt: skip


class Step:
    """A cache whose blocks lie scattered, filled with `num_past + num_new` tokens a sequence, and the step's queries."""

    def __init__(self, spec: AttentionSpec, num_past: list[int], num_new: list[int], dtype: torch.dtype) -> None:
        g = torch.Generator().manual_seed(len(num_new) + sum(num_past))
        self.spec = spec
        lengths = [past + new for past, new in zip(num_past, num_new, strict=True)]
        needed = [-(-length // BLOCK) for length in lengths]
        order = iter(torch.randperm(sum(needed) + 3, generator=g).tolist())
        tables = [[next(order) for _ in range(count)] for count in needed]
        self.cache = LayerCache.allocate(spec, sum(needed) + 3, BLOCK, dtype, torch.device("cpu"))
        # What the step must not read is not zero, so that an unmasked slot shows.
        self.cache.key.fill_(100.0)
        self.cache.value.fill_(100.0)
        self.query = torch.randn(sum(num_new), spec.num_heads, spec.key_dim, generator=g).to(dtype)
        self.sinks = torch.randn(spec.num_heads, generator=g) if spec.has_sinks else None
        self.keys, self.values, slots = [], [], []
        for table, past, length in zip(tables, num_past, lengths, strict=True):
            key = torch.randn(length, spec.num_kv_heads, spec.key_dim, generator=g).to(dtype)
            value = torch.randn(length, spec.num_kv_heads, spec.value_dim, generator=g).to(dtype)
            slot = [table[i // BLOCK] * BLOCK + i % BLOCK for i in range(length)]
            self.cache.key.flatten(0, 1)[slot] = key
            if not spec.shares_key:
                self.cache.value.flatten(0, 1)[slot] = value
            self.keys.append(key)
            self.values.append(key[..., : spec.value_dim] if spec.shares_key else value)
            slots += slot[past:]
        group = GroupMetadata(spec.window, tables, torch.tensor(slots))
        self.batch = BatchMetadata(num_new, num_past, BLOCK, torch.zeros(sum(num_new), dtype=torch.long), [group])

    def dense(self) -> torch.Tensor:
        """Attention of each query over all positions in fp32, masked by position."""
        spec, outs = self.spec, []
        for i, start in enumerate(self.batch.starts):
            new, past = self.batch.num_new[i], self.batch.num_past[i]
            query = self.query[start : start + new].float()
            key = self.keys[i].float().repeat_interleave(spec.group_size, 1)
            value = self.values[i].float().repeat_interleave(spec.group_size, 1)
            scores = torch.einsum("qhd,khd->hqk", query, key) * spec.scale
            back = (past + torch.arange(new))[:, None] - torch.arange(past + new)[None]
            seen = (back >= 0) if spec.window is None else (back >= 0) & (back < spec.window)
            scores = scores.masked_fill(~seen, float("-inf"))
            if self.sinks is not None:
                scores = torch.cat([scores, self.sinks[:, None, None].expand(-1, new, 1)], 2)
            weights = scores.softmax(2)[..., : past + new]
            outs.append(torch.einsum("hqk,khd->qhd", weights, value))
        return torch.cat(outs)

    def by_backend(self) -> torch.Tensor:
        backend = TritonAttention()
        backend.plan(self.batch)
        return backend.attend(self.query, self.cache, self.batch.groups[0], self.spec, self.sinks).float()


@pytest.mark.parametrize("spec", SPECS)
def test_decode_equals_dense_attention(spec: AttentionSpec) -> None:
    step = Step(spec, num_past=[0, 18, 69], num_new=[1, 1, 1], dtype=torch.float32)
    torch.testing.assert_close(step.by_backend(), step.dense(), atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("spec", SPECS)
def test_prefill_of_whole_prompts_chunks_and_decodes_equals_dense_attention(spec: AttentionSpec) -> None:
    step = Step(spec, num_past=[0, 5, 33], num_new=[9, 66, 1], dtype=torch.float32)
    torch.testing.assert_close(step.by_backend(), step.dense(), atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("num_new", [[1, 1], [6, 1]])
def test_bf16_stays_within_its_rounding(num_new: list[int]) -> None:
    step = Step(GQA, num_past=[30, 3], num_new=num_new, dtype=torch.bfloat16)
    torch.testing.assert_close(step.by_backend(), step.dense(), atol=2e-2, rtol=2e-2)


@pytest.mark.parametrize("parts", [1, 2, 5])
@pytest.mark.parametrize("spec", [pytest.param(GQA, id="gqa"), pytest.param(SINKS, id="sinks")])
def test_the_number_of_parts_changes_nothing(spec: AttentionSpec, parts: int) -> None:
    """With 5 parts of 70 tokens the sequences of 1 and of 19 have empty parts, and a window leaves most parts empty."""
    step = Step(spec, num_past=[0, 18, 69], num_new=[1, 1, 1], dtype=torch.float32)
    tables = device_tables(step.batch, step.batch.groups[0])
    got = decode(step.query, step.cache, tables, spec, step.sinks, parts=parts)
    torch.testing.assert_close(got, step.dense(), atol=2e-6, rtol=1e-5)


def test_blocks_that_a_window_has_passed_are_not_read() -> None:
    step = Step(WINDOW, num_past=[21], num_new=[1], dtype=torch.float32)
    want = step.dense()
    step.batch.groups[0].block_tables[0][:3] = [-1, -1, -1]
    torch.testing.assert_close(step.by_backend(), want, atol=2e-6, rtol=1e-5)


def test_a_block_table_off_by_one_is_seen() -> None:
    step = Step(GQA, num_past=[18], num_new=[1], dtype=torch.float32)
    want = step.dense()
    step.batch.groups[0].block_tables[0].reverse()
    assert float((step.by_backend() - want).abs().max()) > 0.1


def test_written_rows_are_attended_to() -> None:
    step = Step(GQA, num_past=[6], num_new=[1], dtype=torch.float32)
    want, group, backend = step.dense(), step.batch.groups[0], TritonAttention()
    step.cache.key.flatten(0, 1)[group.slot_mapping] = 0.0
    step.cache.value.flatten(0, 1)[group.slot_mapping] = 0.0
    backend.write(step.keys[0][6:], step.values[0][6:], step.cache, group)
    torch.testing.assert_close(step.by_backend(), want, atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize(
    ("key_dim", "value_dim", "shape"),
    [
        (128, 128, HeadShape(128, 0, 0, 128, 128)),
        (576, 512, HeadShape(512, 64, 64, 512, 512)),
        (192, 128, HeadShape(128, 64, 64, 128, 128)),
        (80, 80, HeadShape(64, 16, 16, 128, 80)),
        (8, 8, HeadShape(16, 0, 0, 16, 8)),
    ],
)
def test_key_rows_are_cut_in_powers_of_two(key_dim: int, value_dim: int, shape: HeadShape) -> None:
    assert head_shape(key_dim, value_dim) == shape


@pytest.mark.parametrize(
    ("programs", "longest", "parts"), [(8, 8192, 32), (1024, 8192, 1), (8, 300, 2), (8, 100, 1), (1, 65536, 64)]
)
def test_contexts_are_cut_until_the_device_is_full(programs: int, longest: int, parts: int) -> None:
    """132 processors, two programs each: 264."""
    assert parts_for(programs, longest, processors=132) == parts
