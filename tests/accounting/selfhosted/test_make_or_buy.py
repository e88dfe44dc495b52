"""When is an own pool cheaper than a price list, by hand?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import pytest

from accounting.errors import InvalidInput
from accounting.selfhosted.make_or_buy import Case, make_or_buy, sensitivity
from accounting.selfhosted.steady import Targets
from accounting.selfhosted.what_if import Setup
from accounting.selfhosted.workload import Workload
from tests.accounting.selfhosted.by_hand import CURVE, HEADER, POOL, workload

SETUP = Setup("pool", CURVE, POOL, Fraction(36))
WORK = workload(count=1_000)
ONE = Fraction(1)


def price(work: Workload) -> Mapping[str, Fraction | None]:
    """One unit a million tokens; a tenth; 2 a million uncached input tokens and nothing else; not to be had; free."""
    new = int(work.uncached_input_tokens.sum())
    return {
        "flat": Fraction(work.tokens, 10**6),
        "cheap": Fraction(work.tokens, 10**7),
        "input": Fraction(2 * new, 10**6),
        "none": None,
        "free": Fraction(0),
    }


def test_a_pool_pays_from_the_tokens_a_day_that_cost_as_much_elsewhere() -> None:
    """864 a day are 864 million tokens at 1 a million. At R* a request of 1,101 tokens takes 0.0398175 s: 2,389.06 million a day."""
    found = make_or_buy(SETUP, ONE, WORK, Fraction(1), price)
    by_name = {one.name: one for one in found.tariffs}
    assert (found.pool_day, found.tokens_day) == (864, 1_101_000)
    assert float(found.most_day or 0) == pytest.approx(2_389_060_000, rel=1e-5)
    assert found.utilisation == pytest.approx(1_101_000 / 2_389_060_000, rel=1e-5)
    assert by_name["flat"].break_even == 864_000_000
    assert by_name["flat"].turns_at == pytest.approx(0.361648501, rel=1e-8)
    assert by_name["cheap"].turns_at == pytest.approx(3.61648501, rel=1e-8)
    assert float(found.full_per_million or 0) == pytest.approx(0.361648501, rel=1e-8)
    assert found.made_per_million == Fraction(864_000_000, 1_101_000)


def test_the_cheapest_tariff_stands_first_and_what_can_not_serve_last() -> None:
    found = make_or_buy(SETUP, ONE, WORK, Fraction(1), price)
    assert [one.name for one in found.tariffs] == ["free", "cheap", "flat", "input", "none"]
    free, none = found.tariffs[0], found.tariffs[-1]
    assert (free.per_million, free.break_even, free.turns_at) == (0, None, None)
    assert (none.cost, none.per_million, none.break_even) == (None, None, None)


def test_days_and_replicas_scale_what_is_asked_and_what_is_paid() -> None:
    found = make_or_buy(SETUP, Fraction(2), WORK, Fraction(1, 2), price)
    flat = next(one for one in found.tariffs if one.name == "flat")
    assert (found.pool_day, found.tokens_day, flat.break_even) == (1_728, 2_202_000, 1_728_000_000)
    assert flat.turns_at == pytest.approx(0.361648501, rel=1e-8)
    assert float(found.most_day or 0) == pytest.approx(4_778_120_000, rel=1e-5)


def test_where_no_batch_holds_the_targets_the_utilisation_is_unknown() -> None:
    found = make_or_buy(SETUP, ONE, WORK, Fraction(1), price, Targets(itl_seconds=0.001))
    assert (found.most_day, found.utilisation, found.full_per_million) == (None, None, None)
    assert [one.turns_at for one in found.tariffs] == [None] * 5


def test_each_assumption_moves_both_sides() -> None:
    """A GPU at twice the price: twice the tokens. Prompts twice as long: input costs 2 a million of 2,000,000. Half found: half of it."""
    cases = [Case("gpu_price", Fraction(2)), Case("context", Fraction(2)), Case("cache_hits", Fraction(1, 2))]
    found = {case.axis: result for case, result in sensitivity(SETUP, ONE, WORK, Fraction(1), price, cases)}
    flat, cost = ({axis: {one.name: one for one in result.tariffs} for axis, result in found.items()} for _ in range(2))
    assert flat["gpu_price"]["flat"].break_even == 1_728_000_000
    assert cost["context"]["input"].cost == 4
    assert cost["cache_hits"]["input"].cost == 1
    assert found["context"].tokens_day == 2_101_000
    # Own prefill 0.042 and 1e-8 * 1,000 read again by a second chunk, own decode 0.001 + 1e-7 * 205,050, steps 0.0078125.
    assert float(found["context"].most_day or 0) == pytest.approx(86_400 * 2_101 / 0.0713275, rel=1e-9)
    # Own prefill 2e-5 * 500 + 1e-9 * 500 * 750 + 1e-8 * 500.
    assert float(found["cache_hits"].most_day or 0) == pytest.approx(86_400 * 1_101 / 0.0296975, rel=1e-9)
    with pytest.raises(InvalidInput, match="axis='weather'"):
        sensitivity(SETUP, ONE, WORK, Fraction(1), price, [Case("weather", Fraction(1))])


def test_a_curve_that_changes_answers_says_so() -> None:
    plain = make_or_buy(SETUP, ONE, WORK, Fraction(1), price)
    changed = replace(SETUP, curve=replace(CURVE, header=replace(HEADER, behaviour_changing=True)))
    told = make_or_buy(changed, ONE, WORK, Fraction(1), price)
    assert (plain.behaviour_changing, told.behaviour_changing) == (False, True)


@pytest.mark.parametrize(("replicas", "days", "named"), [(0, 1, "replicas='0'"), (1, 0, "days='0'")])
def test_nothing_to_compare_is_refused(replicas: int, days: int, named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        make_or_buy(SETUP, Fraction(replicas), WORK, Fraction(days), price)
