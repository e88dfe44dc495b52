"""Does exactly one row apply to an event, and does the book refuse rows that leave a doubt?"""

from datetime import UTC, datetime, time
from typing import Any

import pytest

from accounting.errors import PriceBookError
from accounting.pricing.book import PriceBook
from accounting.pricing.rate import rate
from accounting.pricing.reasons import REASONS
from accounting.pricing.tariff import Alias, Tariff
from tests.accounting.pricing.rating import batch

MARCH = datetime(2026, 3, 1, tzinfo=UTC)
APRIL = datetime(2026, 4, 1, 9, 30, 0, 1, tzinfo=UTC)


def row(price: int, **conditions: Any) -> Tariff:
    return Tariff(seller="s", model="m", prices={"uncached_input": price}, **conditions)


def prices(rows: list[Tariff], events: list[tuple[str, int]]) -> list[int | str]:
    """Price per token of events at (time, tokens), or the reason they have none."""
    book = PriceBook(rows, [Alias("s", "m", "m", "test")])
    out = rate(book, batch([{"provider": "s", "model": "m", "at": at, "uncached_input_tokens": n} for at, n in events]))
    found = zip(out.list_cost.tolist(), out.reason.tolist(), events, strict=True)
    return [REASONS[reason] if reason else cost // n for cost, reason, (_, n) in found]


def test_dates_are_half_open_to_the_microsecond() -> None:
    rows = [
        row(1, effective_until=MARCH),
        row(2, effective_from=MARCH, effective_until=APRIL),
        row(3, effective_from=APRIL),
    ]
    events = [
        ("2026-02-28T23:59:59.999999+00:00", 1),
        ("2026-03-01T00:00:00+00:00", 1),
        ("2026-04-01T09:30:00.000000+00:00", 1),
        ("2026-04-01T09:30:00.000001+00:00", 1),
        ("1900-01-01T00:00:00+00:00", 1),
        ("2199-01-01T00:00:00+00:00", 1),
    ]
    assert prices(rows, events) == [1, 2, 2, 3, 1, 3]


def test_a_date_without_a_row_has_no_price() -> None:
    rows = [row(2, effective_from=MARCH, effective_until=APRIL)]
    events = [("2026-02-28T23:59:59+00:00", 1), ("2026-03-15T00:00:00+00:00", 1), ("2026-05-01T00:00:00+00:00", 1)]
    assert prices(rows, events) == ["no_price_in_force", 2, "no_price_in_force"]


def test_an_event_with_an_offset_has_the_price_of_its_utc_time() -> None:
    rows = [row(1, effective_until=MARCH), row(2, effective_from=MARCH)]
    events = [("2026-02-28T20:00:00-05:00", 1), ("2026-03-01T05:00:00+05:45", 1)]
    assert prices(rows, events) == [2, 1]


def test_windows_of_the_day_are_half_open_and_may_wrap_midnight() -> None:
    rows = [
        row(1, window_start=time(0, 30), window_end=time(16, 30)),
        row(2, window_start=time(16, 30), window_end=time(0, 30)),
    ]
    at = ("00:00", "00:29:59.999999", "00:30", "16:29:59.999999", "16:30", "23:59:59.999999")
    assert prices(rows, [(f"2025-06-01T{one}+00:00", 1) for one in at]) == [2, 2, 1, 1, 2, 2]
    assert prices(rows, [(f"1955-06-01T{one}+00:00", 1) for one in at]) == [2, 2, 1, 1, 2, 2]


def test_a_gap_between_windows_has_no_price() -> None:
    rows = [row(1, window_start=time(8), window_end=time(12)), row(2, window_start=time(14), window_end=time(20))]
    at = ("07:59", "08:00", "12:00", "14:00", "20:00")
    none = "no_price_in_force"
    assert prices(rows, [(f"2025-06-01T{one}+00:00", 1) for one in at]) == [none, 1, none, 2, none]


def test_thresholds_follow_their_operator() -> None:
    at = "2026-01-01T00:00:00+00:00"
    strict = [row(1), row(2, above_input_tokens=200_000)]
    assert prices(strict, [(at, 200_000), (at, 200_001)]) == [1, 2]
    reached = [row(1), row(2, above_input_tokens=200_000, operator=">=")]
    assert prices(reached, [(at, 199_999), (at, 200_000)]) == [1, 2]


def test_of_several_thresholds_the_highest_reached_counts() -> None:
    at = "2026-01-01T00:00:00+00:00"
    rows = [row(3, above_input_tokens=500), row(1), row(2, above_input_tokens=100), row(4, above_input_tokens=900)]
    assert prices(rows, [(at, 100), (at, 101), (at, 501), (at, 901)]) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "rows",
    [
        [row(1), row(2)],
        [row(1, effective_until=APRIL), row(2, effective_from=MARCH)],
        [row(1), row(2, window_start=time(1), window_end=time(2))],
        [
            row(1, window_start=time(22), window_end=time(2)),
            row(2, window_start=time(1), window_end=time(22)),
        ],
        [row(1), row(2, above_input_tokens=100), row(3, above_input_tokens=101, operator=">=")],
    ],
)
def test_two_rows_for_the_same_request_are_refused(rows: list[Tariff]) -> None:
    with pytest.raises(PriceBookError, match="two prices for the same requests"):
        PriceBook(rows, [])


def test_a_threshold_without_a_base_row_is_refused() -> None:
    with pytest.raises(PriceBookError, match="no base row"):
        PriceBook([row(1, above_input_tokens=100)], [])


def test_the_same_row_twice_is_refused() -> None:
    with pytest.raises(PriceBookError):
        PriceBook([row(1, effective_until=MARCH), row(1, effective_until=MARCH)], [])


def test_rows_of_two_tenants_are_no_book() -> None:
    with pytest.raises(PriceBookError, match="of one tenant, not of acme and other"):
        PriceBook([row(1, tenant="acme"), row(1, tenant="other")], [])


def test_an_empty_book_prices_nothing() -> None:
    assert prices_of_nothing() == ["unknown_seller"]


def prices_of_nothing() -> list[str]:
    out = rate(PriceBook([], []), batch([{"provider": "openai", "model": "gpt-5", "at": MARCH, "output_tokens": 1}]))
    return [REASONS[reason] for reason in out.reason]
