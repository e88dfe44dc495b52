"""Is money exact, and does nothing get lost in rounding, splitting and summing?"""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.errors import MoneyError
from accounting.money import (
    Money,
    exact_sum,
    format_minor,
    format_plain,
    format_scaled,
    from_minor,
    parse_amount,
    parse_unit_price,
    round_to_cents,
    split,
    statement_cents,
    to_minor,
)

CENT = 10**13
minor_amounts = st.integers(-(10**22), 10**22)


@pytest.mark.parametrize("bad", ["1e3", "NaN", "Infinity", "1,000", " 1", "1.", ".5", "", "+1", "0x1", "1" * 39])
def test_text_that_is_no_plain_decimal_is_refused(bad: str) -> None:
    with pytest.raises(MoneyError, match="amount="):
        parse_amount(bad)


@pytest.mark.parametrize(
    "bad", [0.1, 1.0, float("nan"), True, None, Decimal("NaN"), Decimal("Infinity"), Decimal("1e50")]
)
def test_floats_and_what_is_not_finite_are_refused(bad: object) -> None:
    with pytest.raises(MoneyError):
        parse_amount(bad)  # type: ignore[arg-type]


def test_the_error_names_field_and_value() -> None:
    with pytest.raises(MoneyError, match=r"reported_cost_usd='1e-5'"):
        parse_amount("1e-5", "reported_cost_usd")


def test_money_refuses_a_float() -> None:
    with pytest.raises(MoneyError):
        Money(1.5, "USD")  # type: ignore[arg-type]


def test_money_of_two_currencies_does_not_add() -> None:
    with pytest.raises(MoneyError, match="stated rate"):
        Money(Decimal(1), "USD") + Money(Decimal(1), "EUR")


def test_money_adds_exactly_beyond_28_digits() -> None:
    large, small = Money(Decimal(10**20), "USD"), Money(Decimal("0.000000000000000001"), "USD")
    assert str(large + small) == "100000000000000000000.000000000000000001 USD"
    assert str(-(large - small)) == "-99999999999999999999.999999999999999999 USD"


def test_minor_units_hold_fifteen_decimals() -> None:
    assert to_minor("0.000000000000001") == 1
    assert to_minor("-9000") == -9_000_000_000_000_000_000


def test_a_sixteenth_decimal_is_refused_not_rounded() -> None:
    with pytest.raises(MoneyError, match="more than 15 decimals"):
        to_minor("0.0000000000000001")


def test_unit_prices_count_in_billionths() -> None:
    assert parse_unit_price("0.0028") == 2_800_000
    assert parse_unit_price(Decimal("600")) == 600_000_000_000
    assert parse_unit_price(0) == 0


def test_float_noise_in_a_price_is_normalised() -> None:
    assert parse_unit_price("0.18000000000000002") == 180_000_000
    assert parse_unit_price("1.0399999999999998") == 1_040_000_000


@pytest.mark.parametrize("bad", ["0.08333333333333334", "0.0000000001", "0.0000001234", "-1"])
def test_a_price_that_nobody_could_state_in_nine_decimals_is_refused(bad: str) -> None:
    with pytest.raises(MoneyError, match="cache_write="):
        parse_unit_price(bad, "cache_write")


@pytest.mark.parametrize(
    ("amount", "text"),
    [("7.5E-8", "0.000000075"), ("1E+3", "1000"), ("-0.00", "0"), ("1.500", "1.5"), ("0", "0"), ("-2.50", "-2.5")],
)
def test_amounts_are_written_without_exponent_or_idle_zeros(amount: str, text: str) -> None:
    assert format_plain(Decimal(amount)) == text


def test_whole_numbers_of_a_scale_are_written_as_decimals() -> None:
    assert format_minor(1) == "0.000000000000001"
    assert format_minor(-1_200_006_000_000_000) == "-1.200006"
    assert format_minor(0) == "0"
    assert format_scaled(25, 2) == "0.25"


@given(minor_amounts)
def test_minor_units_survive_text(minor: int) -> None:
    assert to_minor(format_minor(minor)) == minor
    assert format_plain(from_minor(minor)) == format_minor(minor)


def test_largest_remainders_get_what_is_left_over() -> None:
    assert split(100, [1, 1, 1], ["b", "a", "c"]) == [33, 34, 33]
    assert split(-100, [1, 1, 1], ["b", "a", "c"]) == [-33, -34, -33]
    assert split(10, [7, 2, 1], ["a", "b", "c"]) == [7, 2, 1]
    assert split(1, [0, 3], ["a", "b"]) == [0, 1]
    assert split(0, [1, 2], ["a", "b"]) == [0, 0]


def test_a_pool_without_weight_can_not_be_shared() -> None:
    with pytest.raises(MoneyError, match="nothing to share 5 by"):
        split(5, [0, 0], ["a", "b"])


def test_doubtful_split_arguments_are_refused() -> None:
    for weights, ids in (([1, -1], ["a", "b"]), ([1, 1], ["a", "a"]), ([1], ["a", "b"]), ([1.5, 1], ["a", "b"])):
        with pytest.raises(MoneyError):
            split(10, weights, ids)  # type: ignore[arg-type]


@given(minor_amounts, st.lists(st.integers(0, 10**15), min_size=1, max_size=12))
def test_parts_add_up_to_the_total(total: int, weights: list[int]) -> None:
    weights[0] += 1
    parts = split(total, weights, [f"{at:03}" for at in range(len(weights))])
    assert sum(parts) == total
    pool = sum(weights)
    for part, weight in zip(parts, weights, strict=True):
        assert abs(part * pool - total * weight) < pool


@given(minor_amounts, st.lists(st.integers(1, 5), min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_a_split_does_not_depend_on_the_order_of_its_receivers(total: int, weights: list[int], random: object) -> None:
    pairs = [(f"{at:03}", weight) for at, weight in enumerate(weights)]
    parts = dict(
        zip([one for one, _ in pairs], split(total, [w for _, w in pairs], [one for one, _ in pairs]), strict=True)
    )
    random.shuffle(pairs)  # type: ignore[attr-defined]
    again = split(total, [w for _, w in pairs], [one for one, _ in pairs])
    assert dict(zip([one for one, _ in pairs], again, strict=True)) == parts


@pytest.mark.parametrize(
    ("amount", "cents"),
    [("0.125", 12), ("0.135", 14), ("0.1250000001", 13), ("-0.125", -12), ("-0.126", -13), ("2", 200)],
)
def test_cents_are_rounded_half_to_even(amount: str, cents: int) -> None:
    assert round_to_cents(to_minor(amount)) == cents


def test_statement_lines_foot() -> None:
    lines = [to_minor("0.333"), to_minor("0.333"), to_minor("0.334")]
    assert statement_cents(lines, ["a", "b", "c"]) == [33, 33, 34]
    assert statement_cents([to_minor("0.005")] * 3, ["a", "b", "c"]) == [1, 1, 0]


@given(st.lists(minor_amounts, min_size=1, max_size=20))
def test_rounded_lines_add_up_to_the_rounded_total(lines: list[int]) -> None:
    cents = statement_cents(lines, [f"{at:03}" for at in range(len(lines))])
    assert sum(cents) == round_to_cents(sum(lines))
    assert all(abs(cent * CENT - line) < CENT for cent, line in zip(cents, lines, strict=True))


def test_a_sum_past_the_int64_limit_does_not_wrap() -> None:
    nine_thousand = np.full(1_000, 9 * 10**18, np.int64)
    assert exact_sum(nine_thousand) == 9 * 10**21
    assert int(nine_thousand.sum()) != 9 * 10**21
    assert exact_sum(-nine_thousand) == -9 * 10**21
    assert exact_sum(np.array([], np.int64)) == 0


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=50))
def test_a_sum_of_int64_is_the_sum_of_integers(values: list[int]) -> None:
    assert exact_sum(np.array(values, np.int64)) == sum(values)


def test_only_int64_is_summed() -> None:
    with pytest.raises(MoneyError):
        exact_sum(np.array([0.5]))  # type: ignore[arg-type]
