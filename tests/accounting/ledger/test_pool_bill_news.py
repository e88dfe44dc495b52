"""Which hours does a run of billing write, and which bills stay?"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from accounting.ledger.pool_bill_news import Billed, Key, news
from accounting.storage.pool_bills import CSV, SCHEDULE, BilledHour

HOUR = datetime(2026, 9, 1, 10, tzinfo=UTC)
KEY: Key = ("chat", HOUR)
BILL = BilledHour("chat", HOUR, 2 * 10**18, "EUR", 3_600_000_000, SCHEDULE, None, [])
IMPORTED = replace(BILL, amount=3 * 10**18, source=CSV, source_id="a.csv")
NOTHING = replace(BILL, amount=0, gpu_us=0)


def test_an_hour_that_the_schedule_no_longer_has_costs_nothing() -> None:
    done = Billed()
    assert list(news({}, {KEY: BILL}, done, False, set())) == [NOTHING]
    assert (done.written, done.replaced, done.totals) == (1, 1, {})


@pytest.mark.parametrize("replace_imported", [False, True])
def test_an_imported_bill_of_an_hour_without_a_schedule_stays(replace_imported: bool) -> None:
    done = Billed()
    assert list(news({}, {KEY: IMPORTED}, done, replace_imported, set())) == []
    assert (done.written, done.replaced) == (0, 0)


@pytest.mark.parametrize(("known", "unknown"), [(BILL, {KEY}), (BILL, None), (NOTHING, set())])
def test_what_is_not_found_stays_where_it_is_unknown_not_asked_for_or_nothing_already(
    known: BilledHour, unknown: set[Key] | None
) -> None:
    assert list(news({}, {KEY: known}, Billed(), False, unknown)) == []


def test_an_imported_bill_is_replaced_on_demand_alone() -> None:
    kept, done = Billed(), Billed()
    assert list(news({KEY: BILL}, {KEY: IMPORTED}, kept, False, set())) == []
    assert (kept.kept, kept.written, kept.totals) == (1, 0, {})
    assert list(news({KEY: BILL}, {KEY: IMPORTED}, done, True, set())) == [BILL]
    assert (done.kept, done.written, done.replaced, done.totals) == (0, 1, 1, {"EUR": 2 * 10**18})


def test_the_same_bill_again_is_unchanged_and_in_the_total() -> None:
    done = Billed()
    assert list(news({KEY: BILL}, {KEY: BILL}, done, False, set())) == []
    assert (done.unchanged, done.written, done.totals) == (1, 0, {"EUR": 2 * 10**18})


@pytest.mark.parametrize("change", [{"amount": 1}, {"billing_currency": "USD"}, {"gpu_us": 1}, {"parts": [{"a": "b"}]}])
def test_a_bill_that_differs_in_anything_is_written(change: dict[str, object]) -> None:
    new = replace(BILL, **change)  # type: ignore[arg-type]
    done = Billed()
    assert list(news({KEY: new}, {KEY: BILL, ("chat", HOUR + timedelta(hours=1)): IMPORTED}, done, False, set())) == [
        new
    ]
    assert (done.written, done.replaced, done.unchanged) == (1, 1, 0)
