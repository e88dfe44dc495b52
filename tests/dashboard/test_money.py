"""Are amounts shown as people read them, with nothing lost and nothing invented?"""

from __future__ import annotations

import pytest

from dashboard import money


@pytest.mark.parametrize(
    ("exact", "shown"),
    [
        ("0", "$0.00"),
        ("1234.5", "$1,234.50"),
        ("0.125", "$0.12"),
        ("0.135", "$0.14"),
        ("-5", "−$5.00"),
        ("0.01", "$0.01"),
        ("0.009949", "$0.0099"),
        ("0.000123456", "$0.00012"),
        ("-0.0000075", "−$0.0000075"),
        ("0.000000001", "$0.0000000010"),
        ("0.000000000999", "≈$0.00"),
        ("-0.000000000999", "≈$0.00"),
        ("12345678901234567890.123456789012345678", "$12,345,678,901,234,567,890.12"),
    ],
)
def test_an_amount_has_cents_and_small_ones_two_digits(exact: str, shown: str) -> None:
    assert money.amount(exact, "USD") == shown


def test_unknown_is_a_dash_and_never_0() -> None:
    assert (money.amount(None, "USD"), money.percent(None), money.count(None)) == ("—", "—", "—")
    assert money.exactly(None, "USD") == "not known"


@pytest.mark.parametrize(
    ("exact", "shown"),
    [
        ("0", "0"),
        ("100", "100"),
        ("1234.567", "1,234.57"),
        ("99.98765", "99.9876"),
        ("-0.5000", "−0.5"),
        ("0.0001", "0.0001"),
        ("0.00009", "0.000090"),
        ("-0.0000012345", "−0.0000012"),
    ],
)
def test_a_ratio_has_four_decimals_and_is_never_shown_as_0_unless_it_is(exact: str, shown: str) -> None:
    assert money.number(exact) == shown


@pytest.mark.parametrize(
    ("exact", "shown"),
    [
        ("0", "0"),
        ("200", "200"),
        ("200.5", "200"),
        ("0.0000001234", "0.000000123"),
        ("999.4", "999"),
        ("999.5", "1k"),
        ("12345", "12.3k"),
        ("-999900", "−1m"),
        ("4567000", "4.57m"),
        ("123456789012", "123bn"),
        ("1234567890123", "1230bn"),
    ],
)
def test_a_cell_of_a_picture_has_three_digits_and_no_exponent(exact: str, shown: str) -> None:
    assert money.brief(exact) == shown


@pytest.mark.parametrize(
    ("exact", "shown"),
    [
        ("99.949", "99.9 %"),
        ("99.95", ">99.9 %"),
        ("100", "100.0 %"),
        ("100.04", "100.0 %"),
        ("0", "0.0 %"),
        ("0.04", "<0.1 %"),
        ("-0.04", "−<0.1 %"),
        ("-99.99", "−100.0 %"),
        ("-1234.56", "−1,234.6 %"),
    ],
)
def test_a_percentage_has_one_decimal_and_nearly_nothing_or_all_is_not_shown_as_such(exact: str, shown: str) -> None:
    assert money.percent(exact) == shown


@pytest.mark.parametrize(
    ("exact", "shown"), [("999999.994", "$999,999.99"), ("1000000", "$1.00 m"), ("-2345000000", "−$2.34 bn")]
)
def test_a_heading_shortens_from_a_million_on(exact: str, shown: str) -> None:
    assert money.short(exact, "USD") == shown


def test_a_currency_without_a_sign_of_its_own_is_named() -> None:
    assert money.amount("3", "CHF") == "CHF 3.00"


def test_every_digit_is_kept_for_hovering() -> None:
    assert money.exactly("0.000000000000000001", "USD") == "0.000000000000000001 USD"
