"""What does a curve answer, what does it refuse, and does it come back from its file?"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from accounting.errors import InvalidInput
from accounting.selfhosted.curve import Domain, Header, StepCurve, TableCurve, best_batch
from accounting.selfhosted.curve_json import dump_curve, load_curve
from accounting.selfhosted.grid import Grid
from accounting.selfhosted.memory import LayerGroup, Memory, replication

HEADER = Header("c1", "m", "e", "H200", "bf16", "2026-10-01")
DENSE = StepCurve(HEADER, Domain((1, 64), (128, 8_192)), t_0=0.005, a=0.00001, c=1e-7, d=0.00002, f=1e-9, r=1e-8)
MOE = StepCurve(
    HEADER, Domain((1, 64), (128, 8_192)), 0.005, 0.0, 0.0, 0.0, 0.0, 0.0, e=0.001, experts=8, experts_per_token=2
)
TABLE = TableCurve(
    HEADER,
    Domain((1, 4), (100, 200)),
    Grid(np.array([1.0, 4.0]), np.array([100.0, 200.0]), np.array([[0.01, 0.02], [0.04, 0.05]])),
)


def test_a_step_is_the_sum_of_its_terms() -> None:
    """10 of 1,000 tokens: 0.005 + 10*0.00001 + 10,000*1e-7; the first token of 1,000 beside nine: that with nine, and 0.02 + 0.0005."""
    found = DENSE.answer(10, 1_000)
    assert found.step_seconds == pytest.approx(0.0061, rel=1e-12)
    assert found.tokens_per_second == pytest.approx(10 / 0.0061, rel=1e-12)
    assert found.ttft_seconds == pytest.approx(0.005 + 0.00009 + 0.0009 + 0.0205, rel=1e-12)


def test_experts_touched_follow_the_coverage() -> None:
    """8 experts, 2 a token: 1 token touches 2, 2 tokens 8*(1 - 0.75^2) = 3.5."""
    assert MOE.coverage(np.array([0.0, 1.0, 2.0])).tolist() == [0.0, 2.0, 3.5]
    assert MOE.answer(2, 128).step_seconds == pytest.approx(0.005 + 0.0035, rel=1e-12)


def test_a_prefix_saves_its_tokens_and_their_attention_less_reading_it() -> None:
    whole = DENSE.prefill_seconds(np.array(1_000.0), np.array(0.0))
    rest = DENSE.prefill_seconds(np.array(200.0), np.array(800.0))
    assert whole - rest == pytest.approx(DENSE.saved_by_prefix(np.array(800.0)), rel=1e-12)
    assert whole - rest == pytest.approx(0.00002 * 800 + 1e-9 * 800**2 / 2 - 1e-8 * 800, rel=1e-12)


def test_a_point_beyond_the_range_is_refused_or_flagged() -> None:
    with pytest.raises(InvalidInput, match=r"context=\[9000\.0\]: measured from 128 to 8192 only"):
        DENSE.answer(1, 9_000)
    assert DENSE.answer([1, 1], [9_000, 8_192], "flag").extrapolated.tolist() == [True, False]


def test_the_residual_corrects_answers_and_keeps_its_edge() -> None:
    ratio = Grid(np.array([1.0, 2.0]), np.array([100.0, 200.0]), np.array([[1.1, 1.1], [1.2, 1.2]]))
    corrected = StepCurve(HEADER, Domain((1, 2), (100, 200)), 0.005, 0.0, 0.0, 0.0, 0.0, 0.0, residual=ratio)
    assert corrected.answer([1, 2, 5], 150, "flag").step_seconds == pytest.approx([0.0055, 0.006, 0.006], rel=1e-12)
    assert corrected.shared_seconds(np.array(1.0), np.array(1.0)) == 0.005


def test_a_table_answers_between_its_points() -> None:
    found = TABLE.answer([1, 2, 4], [100, 150, 200])
    assert found.step_seconds == pytest.approx([0.01, 0.025, 0.05], rel=1e-12)
    assert np.isnan(found.ttft_seconds).all()


def test_a_batch_that_a_table_has_at_another_context_only_is_refused_or_flagged() -> None:
    """At 100 tokens 1 to 4 were served, at 200 only 1: between the two a batch needs both."""
    known = np.array([[True, True], [True, False]])
    table = replace(TABLE, steps=replace(TABLE.steps, measured=known))
    points = [4, 4, 1, 4], [100, 200, 200, 101]
    assert table.answer(*points, "flag").extrapolated.tolist() == [False, True, False, True]
    with pytest.raises(InvalidInput, match=r"batch=\[4\.0, 4\.0\]: no run had it at context 200, 101"):
        table.answer(*points)
    assert [table.measured_batches(context) for context in (100, 150, 200)] == [(1, 4), (1, 1), (1, 1)]
    assert (best_batch(TABLE, 200), best_batch(table, 200)) == (4, 1)
    assert load_curve(dump_curve(table)).answer(*points, "flag").extrapolated.tolist() == [False, True, False, True]


def test_a_context_of_a_table_at_which_nothing_was_measured_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"grid\.measured='context 200': no batch was measured there"):
        replace(TABLE.steps, measured=np.array([[True, False], [True, False]]))


def test_the_best_batch_holds_its_targets() -> None:
    """At context 1,000 a step takes 0.005 + b*0.00011 s: 0.010 holds up to 45; memory for 20 of them cuts it there."""
    assert best_batch(DENSE, 1_000) == 64
    assert best_batch(DENSE, 1_000, itl_seconds=0.010) == 45
    room = Memory(20 * 1_008 * 1_000, 16, 1, (LayerGroup(1, 1_000),))
    small = StepCurve(HEADER, DENSE.domain, 0.005, 0.00001, 1e-7, 0.00002, 1e-9, 1e-8, memory=room)
    assert best_batch(small, 1_000) == 20
    assert best_batch(DENSE, 1_000, itl_seconds=0.001) is None
    with pytest.raises(InvalidInput, match="did not measure time to first token"):
        best_batch(TABLE, 150, ttft_seconds=1.0)


def test_memory_counts_blocks_windows_and_copies() -> None:
    """100 tokens in blocks of 16 are 7 blocks; 2 layers of 10 bytes whole, 2 with a window of 32: 16*(2*10*7 + 2*10*2) = 2,880, twice."""
    memory = Memory(100_000, 16, 2, (LayerGroup(2, 10), LayerGroup(2, 10, 32)))
    assert memory.sequence_bytes(100) == 5_760
    assert memory.achievable_batch(100) == 17
    assert memory.capacity_tokens() is None
    assert (replication(4, 8), replication(8, 2), replication(8, None)) == (1, 4, 8)


def test_llama_caches_131072_bytes_a_token() -> None:
    assert Memory(10**9, 16, 1, (LayerGroup(32, 2 * 8 * 128 * 2),)).sequence_bytes(16) == 16 * 131_072


@pytest.mark.parametrize("curve", [DENSE, MOE, TABLE], ids=["dense", "moe", "table"])
def test_a_curve_comes_back_from_its_file(curve: Any) -> None:
    again = load_curve(dump_curve(curve))
    assert dump_curve(load_curve(dump_curve(again))) == dump_curve(again)
    assert (again.header, again.domain) == (curve.header, curve.domain)
    points = np.random.default_rng(1).uniform([1, 128], [4, 200], (100, 2)).T
    assert np.array_equal(again.answer(*points).step_seconds, curve.answer(*points).step_seconds)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, r"curve\.version=2: this reads version 1"),
        ({"unknown": 1}, "unknown field `unknown`"),
        ({"measured_at": "yesterday"}, r"curve\.measured_at='yesterday': ISO 8601, or unknown, is expected"),
        ({"form": "spline"}, "Invalid enum value 'spline'"),
        ({"parameters": None}, r"curve\.parameters=None: a curve of form=step states its parameters"),
        ({"steps": {"batch": [1], "context": [1], "values": [[1]]}}, r"curve\.steps='present'"),
        ({"parameters": {"t_0": "-1", "a": 0, "c": 0, "d": 0, "f": 0, "r": 0}}, r"parameters\.t_0=-1\.0"),
        ({"parameters": {"t_0": "1/3", "a": 0, "c": 0, "d": 0, "f": 0, "r": 0}}, r"parameters\.t_0"),
    ],
)
def test_a_file_that_can_not_be_read_names_the_field(change: dict[str, Any], message: str) -> None:
    file = json.loads(dump_curve(DENSE)) | change
    with pytest.raises(InvalidInput, match=message):
        load_curve(json.dumps(file))


def test_numbers_may_be_decimal_texts() -> None:
    file = json.loads(dump_curve(DENSE))
    file["parameters"] |= {"t_0": "0.00493", "c": "3.4e-8"}
    found = load_curve(json.dumps(file))
    assert isinstance(found, StepCurve)
    assert (found.t_0, found.c) == (0.00493, 3.4e-8)
