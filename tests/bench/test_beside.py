"""Are rounds of a server and of this process compared cell by cell, each with its own seconds?"""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")

from probe.curve.schema import Sample
from probe.measure import shapes
from tests.bench.beside import Beside, by_round, shares


def decode(seconds: float, contexts: list[int], round_: int, contaminated: bool = False) -> Sample:
    return Sample(kind="decode", seconds=seconds, contexts=contexts, round=round_, contaminated=contaminated)


def test_steps_are_sorted_by_batch_prompt_and_round() -> None:
    """Contexts 65 and 87 are of a prompt of 64, 257 of one of 256; a prompt's own step has its tokens; contaminated ones count nowhere."""
    samples = [
        decode(0.010, [65], 0),
        decode(0.011, [87], 0),
        decode(0.012, [257, 257], 1),
        decode(0.500, [70], 0, contaminated=True),
        Sample(kind="prefill", seconds=0.040, prefills=[(256, 0)], round=1),
    ]
    found = by_round(samples, (64, 256))
    assert {cell: dict(rounds) for cell, rounds in found.items()} == {
        ("decode", 1, 64): {0: [0.010, 0.011]},
        ("decode", 2, 256): {1: [0.012]},
        ("prefill", 1, 256): {1: [0.040]},
    }


def test_a_round_is_compared_with_its_own_seconds() -> None:
    """The machine is twice as slow in round 1: 11 for 10 ms and 21 for 20 ms are 10 and 5 % more. Round 2 and the cell of two have one
    side only."""
    outside = {("decode", 1, 64): {0: [0.011, 0.011, 0.9], 1: [0.021], 2: [0.5]}, ("decode", 2, 64): {0: [0.01]}}
    inside = {("decode", 1, 64): {0: [0.010, 0.001, 0.020], 1: [0.020]}}
    found = shares(outside, inside)
    assert list(found) == [("decode", 1, 64)]
    assert found["decode", 1, 64] == pytest.approx([0.10, 0.05])


def test_a_round_without_a_load_makes_no_point_in_process() -> None:
    """Of two rounds of 10 and 30 ms the second has no load beside it."""
    here = Beside.__new__(Beside)
    here.samples = [(shapes.decode(1, 76), decode(0.010, [76], 0)), (shapes.decode(1, 76), decode(0.030, [76], 1))]
    found = here.points(by_round([decode(0.011, [76], 0)], (64,)), (64,))
    assert [(one.seconds, one.n) for one in found] == [(0.010, 1)]
