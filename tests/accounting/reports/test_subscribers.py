"""Are caps, break-even, distribution and intervals what their definitions say?"""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounting.errors import InvalidInput
from accounting.reports.bootstrap import intervals, mean_intervals
from accounting.reports.distribution import cumulative_shares, gini, nearest_rank, top_share
from accounting.reports.subscribers import NO_CAP_HELPS, NO_CAP_NEEDED, Subscriber, break_even, cap, losing

UNIT = 10**18


def user(name: str, net: int, cost: int, requests: int = 100, comped: bool = False, fees: int = 0) -> Subscriber:
    return Subscriber(
        name, net * UNIT, fees * UNIT, cost * UNIT, requests, requests * 1000, "comped" if comped else "", 30
    )


def test_the_cap_is_the_largest_use_that_lets_that_part_break_even() -> None:
    """19 users are in profit; the one who uses 400 for 80 on 20 can use 100. 95 % of 20 are the 19, 99 % all of them."""
    members = [user(f"u{number}", 20, 5) for number in range(19)] + [user("heavy", 20, 80, 400)]
    assert cap(members, 95, "requests").note == NO_CAP_NEEDED
    assert cap(members, 99, "requests").limit == 100
    assert cap(members, 99, "tokens").limit == 100_000


def test_fees_leave_less_to_use() -> None:
    assert cap([user("a", 20, 80, 400, fees=4)], 95, "requests").limit == 80


def test_no_cap_helps_where_even_no_use_loses() -> None:
    assert cap([user("a", 1, 5, fees=2)], 95, "requests").note == NO_CAP_HELPS


def test_who_is_comped_does_not_make_the_cap_nothing() -> None:
    assert cap([user("a", 20, 5), user("gift", 0, 5, comped=True)], 95, "requests").note == NO_CAP_NEEDED


@settings(max_examples=80)
@given(
    members=st.lists(st.tuples(st.integers(0, 50), st.integers(1, 200), st.integers(1, 500)), min_size=1, max_size=30),
    percent=st.sampled_from([50, 95, 99]),
)
def test_a_cap_holds_and_one_more_does_not(members: list[tuple[int, int, int]], percent: int) -> None:
    people = [user(f"u{at}", net, cost, requests) for at, (net, cost, requests) in enumerate(members)]

    def fine(limit: int) -> int:
        return sum(one.net * one.requests >= one.cost * min(one.requests, limit) for one in people)

    needed = -(-len(people) * percent // 100)
    found = cap(people, percent, "requests")
    if found.limit is None:
        assert fine(10**9) >= needed
    else:
        assert fine(found.limit) >= needed > fine(found.limit + 1)


def test_break_even_is_net_revenue_over_the_blended_unit_cost() -> None:
    """(30 + 10) / 2 = 20 a user; 60 for 200 requests is 0.30 each: 66.67 requests."""
    found = break_even([user("a", 30, 20), user("b", 10, 40)], "requests")
    assert (found.use, found.above) == (Fraction(200, 3), 2)


def test_who_uses_exactly_the_break_even_use_is_not_above_it() -> None:
    """Each pays 10 and costs 10 for 100 requests."""
    found = break_even([user("a", 10, 10), user("b", 10, 10)], "requests")
    assert (found.use, found.above) == (100, 0)


def test_the_largest_loss_comes_first() -> None:
    assert [one.user_id for one in losing([user("a", 10, 12), user("b", 10, 50), user("c", 10, 10)])] == ["b", "a"]


def test_percentiles_are_amounts_that_somebody_has() -> None:
    assert [nearest_rank([1, 2, 3, 4], percent) for percent in (50, 75, 90, 100)] == [2, 3, 4, 4]
    with pytest.raises(InvalidInput):
        nearest_rank([], 50)


def test_gini_and_top_shares_by_hand() -> None:
    # 2 * (1*1 + 2*1 + 3*2) / (3 * 4) - 4/3 = 18/12 - 16/12
    assert gini([1, 1, 2]) == Fraction(1, 6)
    assert gini([5, 5]) == 0
    assert gini([0, 0]) is None
    assert top_share([1, 1, 2], 10) == Fraction(1, 2)


def test_the_heavy_user_curve_rises_above_one_where_some_lose() -> None:
    assert cumulative_shares([6, 4, -5], [0, 1, 2, 3]) == [0, Fraction(6, 5), 2, 1]


def test_intervals_hold_the_estimate_and_repeat() -> None:
    members = [user(f"u{at}", 20, 1 + at % 30, 100 + at) for at in range(120)]
    found = intervals(members)
    assert found == intervals(members)
    mean = found["cost_mean"]
    assert mean.low is not None
    assert mean.high is not None
    assert mean.low < 15_500_000 < mean.high
    assert mean.low > 13_000_000
    assert mean.high < 18_000_000


def test_subscribers_who_are_all_alike_leave_no_doubt() -> None:
    """Of 120 the dearest 10 % are 12, 5 % are 6 and 1 % rounds up to 2; each has an equal part."""
    found = intervals([user(f"u{at}", 20, 5) for at in range(120)])
    for name, value in (
        ("top_10_pct", 10),
        ("top_5_pct", 5),
        ("net_revenue_mean", 20_000_000),
        ("cost_mean", 5_000_000),
    ):
        assert (found[name].low, found[name].high) == (value, value), name
    assert (found["top_1_pct"].low, found["top_1_pct"].high) == (pytest.approx(5 / 3), pytest.approx(5 / 3))


def test_means_of_columns_have_an_interval_around_them() -> None:
    """Two in the first column throughout; 0 to 99 in the second, mean 49.5 with a standard error of 2.9."""
    same, spread = mean_intervals([[2 * 10**18, at * 10**18] for at in range(100)])
    assert (same.low, same.high) == (2_000_000, 2_000_000)
    assert spread.low is not None
    assert spread.high is not None
    assert 42_000_000 < spread.low < 46_000_000
    assert 53_000_000 < spread.high < 57_000_000
    assert mean_intervals([[1]] * 19) == []


def test_an_interval_leaves_out_one_in_forty_on_either_side() -> None:
    """0 to 99, mean 49.5: 1.96 standard errors of 2.887 on either side are 43.84 and 55.16; 1.64 would be 44.75 and 54.25."""
    (spread,) = mean_intervals([[at * 10**18] for at in range(100)])
    assert spread.low == pytest.approx(43_840_000, abs=450_000)
    assert spread.high == pytest.approx(55_160_000, abs=450_000)


def test_who_is_comped_is_no_payer_in_any_draw() -> None:
    """Each of the payers has 20 and a request costs 0.05: 400 requests, however many comped ones are drawn."""
    members = [user(f"u{at}", 20, 5) for at in range(40)] + [user(f"g{at}", 0, 5, comped=True) for at in range(20)]
    found = intervals(members)["break_even_requests"]
    assert (found.low, found.high) == (pytest.approx(400), pytest.approx(400))


def test_few_subscribers_have_no_intervals() -> None:
    assert intervals([user(f"u{at}", 20, 5) for at in range(19)]) == {}
