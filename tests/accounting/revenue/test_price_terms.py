"""Do dated prices, seats, trials, terms, pauses and coupons earn what a pencil says?"""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from accounting.errors import InvalidInput
from accounting.money import to_minor
from accounting.revenue.monthly import Subscription
from accounting.revenue.price_terms import Earned, PlanPrice, Term, months_later, subscription_revenue

APRIL, MAY = date(2026, 4, 1), date(2026, 5, 1)
PRO = [PlanPrice(date(2026, 1, 1), 1, to_minor("30"))]


def sold(**changed: object) -> Subscription:
    given: dict[str, object] = {"starts_on": date(2026, 1, 1), "ends_on": None, "revenue_from": "plan"}
    return Subscription("s1", "pro", "u1", None, 0, "USD", **(given | changed))  # type: ignore[arg-type]


def april(subscription: Subscription, prices: list[PlanPrice], *terms: Term) -> tuple[Decimal, Decimal]:
    found = subscription_revenue(subscription, prices, terms, APRIL, MAY)
    return Decimal(found.gross).scaleb(-15), Decimal(found.discounts).scaleb(-15)


def test_seats_multiply_the_price() -> None:
    assert april(sold(quantity=3), PRO) == (90, 0)


def test_a_new_price_holds_from_its_day() -> None:
    """15 days at 30 and 15 at 36: 15 + 18."""
    assert april(sold(), [*PRO, PlanPrice(date(2026, 4, 16), 1, to_minor("36"))]) == (33, 0)


def test_nothing_is_earned_before_the_trial_ends() -> None:
    assert april(sold(trial_until=date(2026, 4, 21)), PRO) == (10, 0)


def test_a_comped_subscription_earns_nothing() -> None:
    assert april(sold(comped=True), PRO) == (0, 0)


def test_what_is_earned_by_invoice_lines_is_not_earned_twice() -> None:
    assert april(sold(revenue_from="lines"), PRO) == (0, 0)


def test_its_own_price_goes_before_the_plans() -> None:
    own = Subscription("s1", "pro", "u1", None, to_minor("12"), "USD", date(2026, 1, 1), None)
    assert april(own, PRO) == (12, 0)


def test_a_pause_earns_nothing_on_its_days() -> None:
    assert april(sold(), PRO, Term("pause", date(2026, 4, 11), date(2026, 4, 21))) == (20, 0)


def test_coupons_are_discounts_and_not_a_lower_price() -> None:
    """20 % of 15 days at 30, that is 20 % of 15."""
    assert april(sold(), PRO, Term("coupon", date(2026, 4, 16), None, percent_off=Decimal(20))) == (30, -3)
    assert april(sold(), PRO, Term("coupon", APRIL, None, amount_off=to_minor("4.50"))) == (30, Decimal("-4.5"))


def test_coupons_together_take_no_more_than_the_price() -> None:
    both = [
        Term("coupon", APRIL, None, percent_off=Decimal(80)),
        Term("coupon", APRIL, None, amount_off=to_minor("10")),
    ]
    assert april(sold(), PRO, *both) == (30, -30)


def test_a_year_is_spread_over_the_days_of_its_term() -> None:
    """292 a year from 10 April: 0.80 a day, 21 days of April."""
    yearly = sold(starts_on=date(2026, 4, 10), interval_months=12)
    prices = [PlanPrice(date(2026, 1, 1), 12, to_minor("292"))]
    assert april(yearly, prices) == (Decimal("16.8"), 0)
    whole = subscription_revenue(yearly, prices, (), date(2026, 4, 10), date(2027, 4, 10))
    assert whole == Earned(to_minor("292"), 0)


def test_a_term_keeps_the_price_and_coupon_of_its_first_day() -> None:
    yearly = sold(starts_on=date(2025, 4, 10), interval_months=12)
    prices = [PlanPrice(date(2025, 1, 1), 12, to_minor("365")), PlanPrice(date(2026, 4, 11), 12, to_minor("730"))]
    coupon = Term("coupon", date(2025, 4, 1), date(2025, 5, 1), percent_off=Decimal(10))
    # 9 days of the first term, discounted by a tenth; the second begins on 10 April at the old price, without the coupon.
    assert april(yearly, prices, coupon) == (30, Decimal("-0.9"))


def test_the_31st_of_a_shorter_month_is_its_last_day() -> None:
    assert months_later(date(2026, 1, 31), 1) == date(2026, 2, 28)
    assert months_later(date(2026, 1, 31), 12) == date(2027, 1, 31)


def test_a_plan_without_a_price_in_force_is_refused_by_name_and_day() -> None:
    with pytest.raises(InvalidInput, match=r"plan='pro'.*1 months.*2026-04-01"):
        april(sold(), [PlanPrice(date(2026, 4, 2), 1, to_minor("30"))])


def test_an_amount_off_a_year_is_off_each_of_its_months() -> None:
    """A year of 365 days for 292 less 3 a month: 36 off, of which April's 30 days are 2.958904..., and 24 of the price."""
    year = [PlanPrice(date(2026, 1, 1), 12, to_minor("292"))]
    found = april(sold(interval_months=12), year, Term("coupon", date(2026, 1, 1), None, None, to_minor("3")))
    assert found == (24, -Decimal("2.958904109589041"))
