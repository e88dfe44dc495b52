"""What does a token of each kind cost, by hand?"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from accounting.errors import InvalidInput
from accounting.selfhosted.curve import Domain, TableCurve
from accounting.selfhosted.grid import Grid
from accounting.selfhosted.pool import Cells
from accounting.selfhosted.shares import attribute
from accounting.selfhosted.spent import Spent
from accounting.selfhosted.unit_costs import as_billed, at_point, at_utilisation, per_million, token_seconds
from tests.accounting.selfhosted.by_hand import CURVE, HEADER, POOL, alone


def test_the_plain_figure_is_the_bill_over_its_tokens() -> None:
    assert per_million(Fraction("2.49"), 3_000_000) == Fraction("0.83")
    with pytest.raises(InvalidInput, match="tokens=0"):
        per_million(1, 0)


def test_half_the_utilisation_doubles_the_cost() -> None:
    assert at_utilisation(Fraction(36), Fraction(1_000), Fraction(1)) == 10
    assert at_utilisation(Fraction(36), Fraction(1_000), Fraction(1, 2)) == 20
    with pytest.raises(InvalidInput, match="utilisation"):
        at_utilisation(Fraction(36), Fraction(1_000), Fraction(0))


def test_tokens_cost_their_own_work_and_their_part_of_the_step() -> None:
    """Batch 10, context 1,000: 0.0005 + 0.00001 + 0.0001; a prompt in one chunk: (0.0205 + 0.0005) / 1,000."""
    found = token_seconds(CURVE, np.array([10.0]), np.array([1_000.0]), 2_048)
    assert found.output == pytest.approx([0.00061], rel=1e-12)
    assert found.uncached_input == pytest.approx([0.000021], rel=1e-12)
    assert found.cached_input.tolist() == [1e-8]


def test_a_prompt_in_two_chunks_pays_two_steps_and_reads_the_first_one_again() -> None:
    """509 tokens a step beside 9 decoding ones: chunks of 500; (0.0205 + 500 * 1e-8 + 2 * 0.0005) / 1,000."""
    found = token_seconds(CURVE, np.array([10.0]), np.array([1_000.0]), 509)
    assert found.uncached_input == pytest.approx([0.000021505], rel=1e-12)


def test_experts_are_shared_by_the_tokens_of_the_step() -> None:
    """10 tokens touch 8 * (1 - 0.75^10) of 8 experts, 9 and a prompt of 1,000 all of them."""
    moe = replace(CURVE, e=1e-4, experts=8, experts_per_token=2)
    found = token_seconds(moe, np.array([10.0]), np.array([1_000.0]), 2_048)
    assert found.output == pytest.approx([0.00061 + 0.8e-4 * (1 - 0.75**10)], rel=1e-12)
    assert found.uncached_input == pytest.approx([0.000021 + 8e-4 / 1_009], rel=1e-12)


def test_a_full_step_is_priced_by_what_the_replica_costs_an_hour() -> None:
    """36 an hour are 0.01 a second: 610 s, 21 s and 0.01 s of a million tokens."""
    found = at_point(CURVE, 10, 1_000, 2_048, Fraction(36))
    kinds = (found.uncached_input, found.cached_input, found.output)
    assert [float(one) for one in kinds if one is not None] == pytest.approx([0.21, 0.0001, 6.1], rel=1e-12)


def test_kinds_of_tokens_pay_the_whole_bill() -> None:
    """0.026 s of 1,000 new tokens, 5 us of 500 cached ones, 0.516505 s of 101 given out; the hour's bill is split by these."""
    requests = alone()
    found = attribute(CURVE, POOL, requests, Cells.of_hours([0], 1))
    costs = as_billed(CURVE, 542_510_000, Spent.of(found.lines), 1_000, 500, 101)
    assert (costs.uncached_input, costs.cached_input) == (26_000_000_000, 10_000_000)
    assert costs.output == Fraction(516_505_000 * 1_000_000, 101)
    with pytest.raises(InvalidInput, match="lines=0"):
        as_billed(CURVE, 1, Spent.of(found.lines.between(0, 0)), 1, 1, 1)


def test_a_kind_without_tokens_has_no_cost() -> None:
    requests = alone(cached=0, output=1)
    found = attribute(CURVE, POOL, requests, Cells.of_hours([0], 1))
    costs = as_billed(CURVE, 7_000, Spent.of(found.lines), 1_500, 0, 1)
    assert costs.cached_input is None
    assert costs.uncached_input == Fraction(7_000 * 1_000_000, 1_500)
    assert costs.output == 0


def test_in_a_pool_of_decode_steps_output_pays_all() -> None:
    costs = as_billed(CURVE, 1_000, Spent(2.0, 0.0, 0.0, 1.5, 0.5, 0.0, 200.0, 100.0), 1_000, 500, 100)
    assert (costs.uncached_input, costs.cached_input, costs.output) == (0, 0, 10_000_000)


def test_cached_tokens_of_prompts_that_ran_before_take_nothing_of_those_that_run_now() -> None:
    """Two seconds of shares, 0.026 of them before a first token that found 500 tokens: 0.026 - 5e-6, 5e-6 and 1.974 s of a bill of
    2,000,000, a microsecond each. The other request of the 10,000,500 cached tokens only decodes here."""
    spent = Spent(2.0, 0.026, 0.021, 1.5, 0.479, 0.0, 200.0, 100.0, found=500)
    costs = as_billed(CURVE, 2_000_000, spent, 1_000, 10_000_500, 100)
    assert (costs.uncached_input, costs.output) == (25_995_000, 19_740_000_000)
    assert costs.cached_input == Fraction(5_000_000, 10_000_500)


def test_cached_tokens_take_no_longer_than_the_prompts_that_found_them() -> None:
    """10,000,500 tokens at 1e-8 s would take 0.100005 s, more than the 0.026 s before first tokens."""
    spent = Spent(2.0, 0.026, 0.021, 1.5, 0.479, 0.0, 200.0, 100.0)
    costs = as_billed(CURVE, 2_000_000, spent, 1_000, 10_000_500, 100)
    assert (costs.uncached_input, costs.output) == (0, 19_740_000_000)


def test_a_table_does_not_say_what_a_cached_token_costs() -> None:
    """Half of the shares before first tokens: 500 over 1,000 new tokens, 500 over 100 given out."""
    steps = Grid(np.array([1.0]), np.array([1_000.0]), np.array([[0.01]]))
    table = TableCurve(HEADER, Domain((1, 8), (1, 8_192)), steps)
    costs = as_billed(table, 1_000, Spent(2.0, 1.0, 0.0, 0.0, 2.0, 0.0, 200.0, 200.0), 1_000, 500, 100)
    assert (costs.uncached_input, costs.cached_input, costs.output) == (500_000, None, 5_000_000)
