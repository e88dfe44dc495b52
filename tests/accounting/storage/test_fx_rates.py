"""Are exchange rates kept append-only, and is the newest statement the one that holds?"""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError

from accounting.errors import InvalidInput, MissingRate
from accounting.pricing.currency import RateTable, ReferenceRate
from accounting.pricing.ecb import packaged, read_history
from accounting.storage.engine import read_only, transaction
from accounting.storage.fx_rates import Imported, import_rates, rate_on, read_rates
from tests.conftest import Database

pytestmark = pytest.mark.storage

DAY, NEXT = date(2026, 7, 1), date(2026, 7, 2)


def _stated(currency: str, day: date, per_eur: str) -> ReferenceRate:
    return ReferenceRate(currency, day, Decimal(per_eur), "bank", "file 1")


def _read(database: Database, currencies: set[str], first: date, last: date) -> RateTable:
    with read_only(database.app, "") as connection:
        return read_rates(connection, currencies, first, last)


def test_the_same_rates_again_add_nothing(database: Database) -> None:
    rates = [_stated("NOK", DAY, "10.5"), _stated("NOK", NEXT, "10.6")]
    assert import_rates(database.owner, rates) == Imported(2, 2, 0, DAY, NEXT)
    assert import_rates(database.owner, rates) == Imported(2, 0, 0, DAY, NEXT)


def test_a_rate_stated_anew_holds_and_the_old_row_stays(database: Database) -> None:
    import_rates(database.owner, [_stated("SEK", DAY, "11")])
    assert import_rates(database.owner, [_stated("SEK", DAY, "11.5")]) == Imported(1, 1, 1, DAY, DAY)
    assert import_rates(database.owner, [_stated("SEK", DAY, "11.5")]).new == 0
    assert _read(database, {"SEK"}, DAY, DAY).rate("EUR", "SEK", DAY).rate == Decimal("11.5")
    with read_only(database.app, "") as connection:
        rows = connection.execute(text("SELECT per_eur FROM fx_rates WHERE currency = 'SEK' ORDER BY recorded_at"))
        assert rows.scalars().all() == ["11", "11.5"]


def test_a_correction_that_is_taken_back_is_news_again(database: Database) -> None:
    for per_eur in ("7.4", "7.5", "7.4"):
        assert import_rates(database.owner, [_stated("DKK", DAY, per_eur)]).new == 1
    assert _read(database, {"DKK"}, DAY, DAY).rate("EUR", "DKK", DAY).rate == Decimal("7.4")


def test_days_before_the_first_are_read_as_far_as_the_rule_reaches(database: Database) -> None:
    import_rates(database.owner, [_stated("PLN", date(2026, 6, 24), "4.25")])
    assert _read(database, {"PLN"}, DAY, NEXT).rate("EUR", "PLN", DAY).rate_date == date(2026, 6, 24)
    with pytest.raises(MissingRate, match="PLN on 2026-07-02"):
        _read(database, {"PLN"}, DAY, NEXT).rate("EUR", "PLN", NEXT)


@pytest.mark.parametrize("day", [date.min, date.max, date(1969, 12, 31), date(2200, 1, 1)])
def test_a_day_that_no_rate_could_be_of_is_refused_by_name(database: Database, day: date) -> None:
    with pytest.raises(InvalidInput, match=f"on='{day.isoformat()}': a year from 1970"):
        rate_on(database.app, "EUR", "USD", day)


def test_the_application_reads_rates_and_can_change_none(database: Database) -> None:
    for statement in ("UPDATE fx_rates SET per_eur = '1'", "DELETE FROM fx_rates"):
        with pytest.raises(ProgrammingError, match="permission denied"), transaction(database.app, "") as connection:
            connection.execute(text(statement))


def test_the_packaged_history_is_taken_whole(database: Database) -> None:
    rates = [rate for rate in read_history(*packaged()) if rate.rate_date.year == 2025]
    done = import_rates(database.owner, rates)
    assert (done.new, done.first) == (len(rates), date(2025, 1, 2))
    found = _read(database, {"USD", "CNY"}, date(2025, 6, 8), date(2025, 6, 8)).rate("CNY", "USD", date(2025, 6, 8))
    assert found.rate_date == date(2025, 6, 6)  # 8 June 2025 is Whit Sunday, the 6th a Friday
