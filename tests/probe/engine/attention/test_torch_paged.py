"""Does attention over views of paged blocks equal the plain formula, wherever the blocks lie?"""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")

from probe.engine.attention import torch_paged  # noqa: E402
from probe.engine.attention.dense import DenseAttention, attend_dense, visible  # noqa: E402
from probe.engine.attention.runs import Run, runs_of, stride_of  # noqa: E402
from probe.engine.attention.torch_paged import TorchPagedAttention  # noqa: E402
from probe.engine.models.spec import AttentionSpec  # noqa: E402
from tests.probe.engine.attention.cases import GQA, SPECS, WINDOWED, step  # noqa: E402

LAYOUTS = {
    "evenly spaced runs": ([[0, 1, 2], [4, 5, 6], [8, 9, 10]], [1, 1, 1], [9, 10, 11]),
    "unevenly spaced runs": ([[0, 1, 2], [20, 21, 22], [30, 31, 32]], [1, 1, 1], [9, 10, 11]),
    "scattered blocks": ([[5, 3, 9], [1, 40, 2], [7, 6, 8]], [1, 1, 1], [9, 10, 11]),
    "one sequence": ([[5, 6, 7]], [1], [8]),
    "whole prompts": ([[0, 1, 2], [9, 4, 5]], [10, 12], [0, 0]),
    "chunks behind a past": ([[0, 1, 2, 3], [9, 4, 5, 30]], [3, 5], [10, 8]),
    "mixed step": ([[0, 1, 2], [4, 5, 6], [9, 4, 5], [20, 21, 22]], [1, 1, 6, 1], [9, 10, 4, 3]),
    "drafts to verify": ([[0, 1, 2, 3], [5, 9, 6, 7]], [4, 4], [9, 11]),
}


def both(spec: AttentionSpec, layout: str, *, with_sinks: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    batch, cache, query, sinks = step(spec, *LAYOUTS[layout])
    results = []
    for backend in (DenseAttention(), TorchPagedAttention()):
        backend.plan(batch)
        results.append(backend.attend(query, cache, batch.groups[0], spec, sinks if with_sinks else None))
    return results[0], results[1]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", SPECS)
def test_paged_equals_dense(kind: str, layout: str) -> None:
    dense, paged = both(SPECS[kind], layout)
    torch.testing.assert_close(paged, dense, atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sinks_take_their_part(layout: str) -> None:
    dense, paged = both(WINDOWED, layout, with_sinks=True)
    torch.testing.assert_close(paged, dense, atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("layout", ["scattered blocks", "chunks behind a past", "mixed step"])
@pytest.mark.parametrize("kind", ["gqa", "mla", "windowed"])
def test_pieces_merged_by_log_sum_exp_equal_the_whole(kind: str, layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_paged, "SHORTEST_VIEW", 0)  # every run by itself, none gathered
    dense, paged = both(SPECS[kind], layout)
    torch.testing.assert_close(paged, dense, atol=2e-6, rtol=1e-5)


def test_one_key_gives_its_value_and_two_equal_keys_their_mean() -> None:
    spec = AttentionSpec(1, 1, 1, 1, 1.0)
    key = torch.ones(2, 1, 1)
    value = torch.tensor([[[2.0]], [[4.0]]])
    out = attend_dense(torch.ones(2, 1, 1), key, value, spec, None)
    assert out.flatten().tolist() == [2.0, 3.0]


def test_a_sink_as_high_as_the_only_score_halves_the_output() -> None:
    spec = AttentionSpec(1, 1, 1, 1, 1.0)
    out = attend_dense(torch.ones(1, 1, 1), torch.ones(1, 1, 1), torch.full((1, 1, 1), 6.0), spec, torch.ones(1))
    assert math.isclose(out.item(), 3.0)


def test_a_window_of_two_sees_itself_and_the_one_before() -> None:
    seen = visible(past=1, new=2, length=3, window=2, device=torch.device("cpu"))
    assert seen.tolist() == [[True, True, False], [False, True, True]]


def test_neighbouring_blocks_are_one_run() -> None:
    assert runs_of([5, 6, 2], first=0, length=10, block_size=4) == [Run(20, 8), Run(8, 2)]
    assert runs_of([5, 6, 2], first=5, length=10, block_size=4) == [Run(25, 3), Run(8, 2)]


def test_a_passed_block_is_never_read() -> None:
    with pytest.raises(IndexError, match="token 0 has no block"):
        runs_of([-1, 6], first=0, length=5, block_size=4)


def test_stride_is_that_of_even_starts_only() -> None:
    assert (stride_of([0, 8, 16]), stride_of([0, 8, 17]), stride_of([16, 8, 0]), stride_of([3])) == (
        8,
        None,
        None,
        None,
    )


class TestMutants:
    """Faults that the comparison with the plain formula must find."""

    def test_an_unmasked_pad_is_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch_paged, "additive", lambda seen, dtype: torch.zeros(seen.shape, dtype=dtype))
        dense, paged = both(GQA, "evenly spaced runs")
        assert not torch.allclose(paged, dense, atol=1e-3)

    def test_a_block_table_off_by_one_is_found(self) -> None:
        batch, cache, query, _ = step(GQA, *LAYOUTS["scattered blocks"])
        right, wrong = TorchPagedAttention(), TorchPagedAttention()
        right.plan(batch)
        expected = right.attend(query, cache, batch.groups[0], GQA, None)
        batch.groups[0].block_tables[0] = [i + 1 for i in batch.groups[0].block_tables[0]]
        wrong.plan(batch)
        assert not torch.allclose(wrong.attend(query, cache, batch.groups[0], GQA, None), expected, atol=1e-3)
