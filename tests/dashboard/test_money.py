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
        ("12345678901234567890.123456789012345678", "$12,345,678,901,234,567,890.12"),
    ],
)
def test_an_amount_has_cents_and_small_ones_two_digits(exact: str, shown: str) -> None:
    assert money.amount(exact, "USD") == shown


def test_unknown_is_a_dash_and_never_0() -> None:
    assert (money.amount(None, "USD"), money.percent(None), money.count(None)) == ("—", "—", "—")
    assert money.exactly(None, "USD") == "not known"


@pytest.mark.parametrize(
    ("exact", "shown"), [("999999.994", "$999,999.99"), ("1000000", "$1.00 m"), ("-2345000000", "−$2.34 bn")]
)
def test_a_heading_shortens_from_a_million_on(exact: str, shown: str) -> None:
    assert money.short(exact, "USD") == shown


def test_a_currency_without_a_sign_of_its_own_is_named() -> None:
    assert money.amount("3", "CHF") == "CHF 3.00"


def test_every_digit_is_kept_for_hovering() -> None:
    assert money.exactly("0.000000000000000001", "USD") == "0.000000000000000001 USD"
