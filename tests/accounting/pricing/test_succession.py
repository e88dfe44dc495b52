"""What does a new reading of a source change? Worked by hand on one model."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from accounting.errors import Conflict
from accounting.pricing.succession import succeed
from accounting.pricing.tariff import Tariff

JAN, FEB, MAR, APR = (datetime(2026, month, 1, tzinfo=UTC) for month in (1, 2, 3, 4))
TWO = Tariff(seller="acme", model="m", prices={"output": 2_000_000_000})
THREE = replace(TWO, prices={"output": 3_000_000_000})
BATCH = replace(TWO, service_tier="batch", prices={"output": 1_000_000_000})


def test_a_first_reading_begins_rows_on_its_day() -> None:
    found = succeed([], [TWO, BATCH], JAN, whole=True)
    assert found.new == [replace(TWO, effective_from=JAN), replace(BATCH, effective_from=JAN)]
    assert found.counts == {"new": 2, "ended": 0, "withdrawn": 0, "unchanged": 0}


def test_a_changed_price_ends_the_row_before_it_and_leaves_the_others() -> None:
    known = [replace(TWO, effective_from=JAN), replace(BATCH, effective_from=JAN)]
    found = succeed(known, [THREE, BATCH], FEB, whole=True)
    assert found.new == [replace(THREE, effective_from=FEB)]
    assert found.ended == [replace(TWO, effective_from=JAN, effective_until=FEB)]
    assert found.unchanged == 1


def test_a_model_that_leaves_a_whole_table_keeps_its_history() -> None:
    found = succeed([replace(TWO, effective_from=JAN)], [], MAR, whole=True)
    assert (found.new, found.ended) == ([], [replace(TWO, effective_from=JAN, effective_until=MAR)])


def test_a_partial_file_leaves_what_it_does_not_name() -> None:
    found = succeed([replace(TWO, effective_from=JAN)], [BATCH], MAR, whole=False)
    assert (found.new, found.ended) == ([replace(BATCH, effective_from=MAR)], [])


def test_a_model_that_comes_back_at_its_old_price_is_a_row_of_its_own() -> None:
    gone = replace(TWO, effective_from=JAN, effective_until=FEB)
    found = succeed([gone], [TWO], MAR, whole=True)
    assert (found.new, found.ended) == ([replace(TWO, effective_from=MAR)], [])
    assert found.new[0].sku_price_id != gone.sku_price_id


def test_another_price_for_the_same_day_withdraws_the_first() -> None:
    found = succeed([replace(TWO, effective_from=JAN)], [THREE], JAN, whole=True)
    assert (found.new, found.withdrawn) == ([replace(THREE, effective_from=JAN)], [replace(TWO, effective_from=JAN)])


def test_a_row_that_states_its_own_dates_keeps_them() -> None:
    known = [replace(TWO, effective_from=JAN)]
    found = succeed(known, [replace(THREE, effective_from=FEB, effective_until=APR)], MAR, whole=False)
    assert found.new == [replace(THREE, effective_from=FEB, effective_until=APR)]
    assert found.ended == [replace(TWO, effective_from=JAN, effective_until=FEB)]


def test_a_row_under_a_later_one_is_refused_by_name() -> None:
    known = [replace(TWO, effective_from=MAR)]
    with pytest.raises(Conflict, match=r"acme/m default from 2026-01-01 .*: overlaps acme/m default from 2026-03-01"):
        succeed(known, [replace(THREE, effective_from=JAN)], APR, whole=False)


def test_two_rows_for_the_same_requests_in_one_file_are_refused() -> None:
    with pytest.raises(Conflict, match="stands more than once"):
        succeed([], [TWO, THREE], JAN, whole=False)


def test_a_row_may_end_where_a_later_one_begins() -> None:
    found = succeed(
        [replace(TWO, effective_from=MAR)], [replace(THREE, effective_from=JAN, effective_until=MAR)], APR, whole=False
    )
    assert found.counts == {"new": 1, "ended": 0, "withdrawn": 0, "unchanged": 0}


def test_a_row_that_ended_where_another_begins_is_not_ended_again() -> None:
    found = succeed([replace(TWO, effective_from=JAN, effective_until=FEB)], [THREE], FEB, whole=True)
    assert found.counts == {"new": 1, "ended": 0, "withdrawn": 0, "unchanged": 0}
