"""Who pays for a shared prefix, by hand, and does anything get lost?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.errors import InvalidInput
from accounting.selfhosted.imports.read_steps import read_steps
from accounting.selfhosted.prefix import Uses, amortised
from accounting.selfhosted.prefix_uses import uses_of
from tests.accounting.selfhosted.by_hand import CURVE
from tests.step_ledgers import content, prefill

BLOCK = 2_005_000_000
"""Picoseconds of 100 tokens at the start of a prompt: 2e-5 * 100 + 1e-9 * 100 * 50."""


def uses(*rows: tuple[int, int, int, bool], start: int = 0, tokens: int = 100) -> Uses:
    """(hour, request, block, computed) in order of time."""
    hour, request, block, computed = zip(*rows, strict=True)
    ints = (np.array(one, np.int64) for one in (hour, request, block))
    places = (np.full(len(rows), value, np.int64) for value in (start, tokens))
    return Uses(*ints, *places, np.array(computed))


def test_three_users_of_a_block_pay_a_third_each_and_the_smallest_the_rest() -> None:
    """2,005,000,000 in three: 668,333,333 and one over, for request 0; request 1 computed it."""
    found = amortised(CURVE, uses((0, 1, 7, True), (0, 0, 7, False), (0, 2, 7, False)), 3)
    assert found.tolist() == [668_333_334, 668_333_333 - BLOCK, 668_333_333]


def test_later_blocks_cost_the_attention_to_what_precedes_them() -> None:
    """100 tokens upon 1,000: 2e-5 * 100 + 1e-9 * 100 * 1,050 = 0.002105; halves."""
    found = amortised(CURVE, uses((0, 0, 7, True), (0, 1, 7, False), start=1_000), 2)
    assert found.tolist() == [-1_052_500_000, 1_052_500_000]


def test_a_block_computed_again_begins_anew() -> None:
    rows = [(0, 0, 7, True), (0, 1, 7, False), (0, 2, 7, True), (0, 3, 7, False)]
    found = amortised(CURVE, uses(*rows), 4)
    assert found.tolist() == [-BLOCK // 2, BLOCK // 2, -BLOCK // 2, BLOCK // 2]


def test_what_a_later_hour_finds_was_paid_for() -> None:
    found = amortised(CURVE, uses((0, 0, 7, True), (1, 1, 7, False), (1, 2, 7, False)), 3)
    assert found.tolist() == [0, 0, 0]


def test_a_column_of_another_length_is_refused() -> None:
    good = uses((0, 0, 7, True), (0, 1, 7, False))
    with pytest.raises(InvalidInput, match=r"uses\.computed"):
        Uses(good.hour, good.request, good.block, good.start, good.tokens, np.array([True]))


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.integers(0, 4), st.booleans()), max_size=60),
    st.integers(0, 5_000),
)
def test_seconds_only_move_and_stay_in_their_hour(rows: list[tuple[int, int, int, bool]], start: int) -> None:
    """A request is in one hour, so requests of an hour are those of its rows."""
    placed = [(number % 3, number, block, computed) for _, number, block, computed in rows]
    if not placed:
        return
    found = amortised(CURVE, uses(*placed, start=start), 10)
    for hour in range(3):
        assert found[hour::3].sum() == 0


def test_a_ledger_says_which_blocks_were_computed_and_which_were_found() -> None:
    """Blocks of 100. b finds x and computes z; of c, which finds 150 tokens, x; y lies across, and its z is not reached in these steps."""
    ledger = read_steps(content([
        ("10:00:00", 1_000, False, [prefill("a", 250, 0, 1.0, "xy")]),
        ("10:00:01", 1_000, False, [prefill("b", 60, 100, 1.0, "xz")]),
        ("10:00:02", 1_000, False, [prefill("b", 60, 160), prefill("c", 50, 150, 1.0, "xyz")]),
    ]))  # fmt: skip
    found = uses_of(ledger, np.array([10, 11, 12]), 0)
    rows = zip(found.request.tolist(), found.block.tolist(), found.start.tolist(), found.computed.tolist(), strict=True)
    names = ledger.block_names
    assert [(request, names[block], start, computed) for request, block, start, computed in rows] == [
        (10, b"x", 0, True),
        (10, b"y", 100, True),
        (11, b"x", 0, False),
        (11, b"z", 100, True),
        (12, b"x", 0, False),
    ]
    assert set(found.tokens.tolist()) == {100}


def test_equal_names_of_two_ledgers_are_two_blocks() -> None:
    ledger = read_steps(content([("10:00:00", 1_000, False, [prefill("a", 100, 0, 1.0, "x")])]))
    assert uses_of(ledger, np.array([0]), 0).block.tolist() != uses_of(ledger, np.array([0]), 1).block.tolist()
