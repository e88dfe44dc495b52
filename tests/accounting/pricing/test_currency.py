"""Is the rate of a day the one that the rule states, and is a conversion repeatable with a pencil?"""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from accounting.errors import InvalidInput, MissingRate, MoneyError
from accounting.pricing.currency import RateTable, ReferenceRate
from accounting.pricing.currency_codes import currency_code, minor_digits

WED, THU, FRI = date(2026, 7, 1), date(2026, 7, 2), date(2026, 7, 3)


def _published(currency: str, day: date, per_eur: str) -> ReferenceRate:
    return ReferenceRate(currency, day, Decimal(per_eur), "bank", "file 1")


TABLE = RateTable(
    [
        _published("USD", WED, "1.25"),
        _published("USD", FRI, "1.6"),
        _published("JPY", WED, "175"),
        _published("JPY", THU, "176"),
        _published("ISK", date(2026, 6, 1), "136"),
    ]
)


def test_the_rate_of_the_day_holds_on_that_day() -> None:
    found = TABLE.rate("USD", "EUR", WED)
    assert (found.rate, found.rate_date, found.from_per_eur, found.to_per_eur) == (
        Decimal("0.8"),
        WED,
        Decimal("1.25"),
        1,
    )
    assert (found.source, found.source_version) == ("bank", "file 1")


def test_into_a_currency_the_published_figure_is_the_rate() -> None:
    assert TABLE.rate("EUR", "USD", FRI).rate == Decimal("1.6")


@pytest.mark.parametrize("day", [4, 5, 6, 10])
def test_on_a_weekend_and_after_a_holiday_the_last_one_before_holds(day: int) -> None:
    found = TABLE.rate("EUR", "USD", date(2026, 7, day))
    assert (found.rate, found.rate_date, found.on.day) == (Decimal("1.6"), FRI, day)


def test_the_rate_is_never_from_a_later_day() -> None:
    with pytest.raises(MissingRate, match="USD on 2026-06-30"):
        TABLE.rate("USD", "EUR", date(2026, 6, 30))


def test_eight_days_back_is_too_old_and_the_error_names_currency_and_day() -> None:
    with pytest.raises(MissingRate) as caught:
        TABLE.rate("EUR", "USD", date(2026, 7, 11))
    assert caught.value.field == "currency"
    assert str(caught.value).startswith(
        "currency='USD on 2026-07-11': no exchange rate is known for 2026-07-11 or the 7 days"
    )
    assert "`tokencogs fx import --file eurofxref-hist.zip`" in str(caught.value)
    assert str(caught.value).endswith("https://www.ecb.europa.eu/stats/eurofxref/eurofxref-hist.zip")


def test_only_the_currency_that_lacks_rates_is_named() -> None:
    with pytest.raises(MissingRate, match="currency='ISK on 2026-07-01'"):
        TABLE.rate("USD", "ISK", WED)


def test_a_cross_rate_goes_through_the_euro_on_a_day_that_has_both() -> None:
    # Thursday has no dollar, so both are Wednesday's: 175 / 1.25 = 140.
    found = TABLE.rate("USD", "JPY", THU)
    assert (found.rate, found.rate_date) == (Decimal("140"), WED)


def test_a_rate_that_does_not_end_has_34_digits() -> None:
    # 1.6 / 176 = 0.0090909...
    table = RateTable([_published("USD", WED, "1.6"), _published("JPY", WED, "176")])
    assert str(table.rate("JPY", "USD", WED).rate) == "0.009090909090909090909090909090909091"


def test_one_currency_into_itself_needs_no_rate() -> None:
    found = TABLE.rate("CNY", "CNY", date(1990, 1, 1))
    assert found.convert(Decimal("0.000000000000001")) == Decimal("0.000000000000001")


def test_an_amount_is_rounded_once_half_to_even_at_18_decimals() -> None:
    table = RateTable([_published("USD", WED, "2")])
    rate = table.rate("USD", "EUR", WED)
    assert rate.convert(Decimal("0.000000000000000001")) == Decimal("0")
    assert rate.convert(Decimal("0.000000000000000003")) == Decimal("0.000000000000000002")
    assert rate.convert(Decimal("-0.000000000000000003")) == Decimal("-0.000000000000000002")


def test_what_was_converted_can_be_worked_out_again_from_the_printed_rate() -> None:
    # 123.45 x 0.009090909090909090909090909090909091 = 1.12227272727272727272727272727272728...
    table = RateTable([_published("USD", WED, "1.6"), _published("JPY", WED, "176")])
    assert table.rate("JPY", "USD", WED).convert(Decimal("123.45")) == Decimal("1.122272727272727273")


def test_a_float_is_no_amount() -> None:
    with pytest.raises(MoneyError, match="float"):
        TABLE.rate("USD", "EUR", WED).convert(0.1)  # type: ignore[arg-type]


@pytest.mark.parametrize("code", ["usd", "USDT", "XXQ", "", None, "$"])
def test_what_is_no_iso_currency_is_refused(code: object) -> None:
    with pytest.raises(InvalidInput, match="ISO 4217"):
        currency_code(code)


def test_an_unknown_currency_is_refused_before_any_rate_is_looked_for() -> None:
    with pytest.raises(InvalidInput, match="currency='BTC'"):
        TABLE.rate("BTC", "EUR", WED)


@pytest.mark.parametrize("per_eur", ["0", "-1.2", "NaN", "Infinity"])
def test_a_published_rate_is_a_positive_number(per_eur: str) -> None:
    with pytest.raises(MoneyError, match="rate of USD on 2026-07-01"):
        _published("USD", WED, per_eur)


@pytest.mark.parametrize(
    ("code", "digits"), [("USD", 2), ("EUR", 2), ("CNY", 2), ("JPY", 0), ("KRW", 0), ("KWD", 3), ("CLF", 4)]
)
def test_statements_print_each_currency_to_its_smallest_unit(code: str, digits: int) -> None:
    assert minor_digits()[code] == digits
