"""Does the report show each pool's bill by its terms, from the hours worked by hand (golden/worked_hour), and tie them to the ledger?

Two hours of 2.49. 10:00: direct 0.001095153863712, gap 0.004507346136288, idle 2.4843975. 11:00, where B's other 100 steps run alone:
direct 0.000706540958333 (1.021505 s of 3,600), gap 0.000676792375, idle 2.488616666666667; underfill 0.75 s = 0.00051875.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from accounting.errors import InvalidInput, NotFound
from accounting.reports import ReportQuery, run
from accounting.reports.pool_bill import HOST, NO_REPLICA, NO_REQUEST, UNPROVEN, _gap_reason, _idle_reason
from accounting.reports.sections import SectionedReport
from accounting.storage.engine import transaction
from accounting.storage.pool_bills import BilledHour, append
from tests.accounting.ledger.pool_world import POOL, PoolWorld
from tests.conftest import Database
from tests.golden.test_worked_hour_in_the_ledger import ELEVEN, TEN, A, B, C

pytestmark = [pytest.mark.storage, pytest.mark.one_server]
DAY = (date(2026, 10, 1), date(2026, 10, 2))


@pytest.fixture(scope="module")
def world(database: Database) -> PoolWorld:
    made = PoolWorld.make(database)
    made.send(A, B, C)
    made.bill("2.49", TEN, ELEVEN)
    made.settle()
    made.bill("3", "01T12")
    unused = BilledHour(
        "res", datetime(2026, 10, 1, 5, tzinfo=UTC), 7 * 10**18, "USD", 5_400_000_000, "schedule", None, None
    )
    with transaction(database.app, made.tenant.tenant) as connection:
        append(connection, made.tenant, [unused], "test", datetime(2026, 10, 2, tzinfo=UTC))
    return made


def _run(world: PoolWorld, *group_by: str, **asked: Any) -> SectionedReport:
    found = run(world.database.app, world.tenant, "pool-bill", ReportQuery(*DAY, group_by=group_by, **asked))
    assert isinstance(found, SectionedReport)
    return found


def test_an_hour_is_shown_by_its_terms(world: PoolWorld) -> None:
    ten, eleven = _run(world, "hour").rows
    assert (ten["pool"], ten["period"], ten["bill"]) == (POOL, "2026-10-01T10:00Z", Decimal("2.49"))
    terms = ("direct", "gap", "idle", "underfill")
    assert [ten[name] for name in terms] == [
        Decimal("0.001095153863712"),
        Decimal("0.004507346136288"),
        Decimal("2.4843975"),
        Decimal("0.000699845613712"),
    ]
    assert [eleven[name] for name in terms] == [
        Decimal("0.000706540958333"),
        Decimal("0.000676792375"),
        Decimal("2.488616666666667"),
        Decimal("0.00051875"),
    ]


def test_hours_of_a_day_add_up(world: PoolWorld) -> None:
    [row] = _run(world, "day").rows
    assert (row["period"], row["hours"], row["bill"]) == ("2026-10-01", 2, Decimal("4.98"))
    assert [row[name] for name in ("direct", "gap", "idle", "underfill")] == [
        Decimal("0.001801694822045"),
        Decimal("0.005184138511288"),
        Decimal("4.973014166666667"),
        Decimal("0.001218595613712"),
    ]


def test_what_a_limit_leaves_out_is_one_row(world: PoolWorld) -> None:
    ten, rest = _run(world, "hour", limit=1).rows
    assert (ten["period"], ten["direct"]) == ("2026-10-01T10:00Z", Decimal("0.001095153863712"))
    assert (rest["row"], rest["pool"], rest["hours"]) == ("remaining", None, 1)
    assert (rest["bill"], rest["direct"]) == (Decimal("2.49"), Decimal("0.000706540958333"))


def test_days_are_those_of_the_zone_asked_for(world: PoolWorld) -> None:
    days = [row["period"] for row in _run(world, "day", tz="Asia/Tokyo").rows]
    assert days == ["2026-10-01"]
    assert [row["period"] for row in _run(world, "day", tz="Pacific/Kiritimati").rows] == []


def test_utilisation_is_weighted_by_bills(world: PoolWorld) -> None:
    # (0.000158758333 + (1.021505 - 0.75) / 3600) / 2 = 0.000117088...
    assert _run(world).rows[0]["utilisation_pct"] == Decimal("0.0117")
    assert [row["utilisation_pct"] for row in _run(world, "hour").rows] == [Decimal("0.0159"), Decimal("0.0075")]


def test_the_calibration_is_time_in_flight_over_predicted_time(world: PoolWorld) -> None:
    # 8.1 / 1.58335498368; together with the 2 s over 1.021505 s of the next hour: 10.1 / 2.60485998368
    assert _run(world, "hour").rows[0]["calibration"] == Decimal("5.115720")
    assert _run(world).rows[0]["calibration"] == Decimal("3.877368")


def test_the_rows_are_the_bills_and_the_ledgers(world: PoolWorld) -> None:
    feet = {line.name: line.amount for line in _run(world).footer}
    assert feet == {
        "bills_total": Decimal("7.98"),
        "unsettled": Decimal(3),
        "difference": 0,
        "ledger_total": Decimal("4.98"),
        "ledger_difference": 0,
    }


def test_unsettled_bills_and_unused_capacity_stand_apart(world: PoolWorld) -> None:
    unused, waiting = _run(world).sections
    assert unused.rows == (
        {"rate": "res", "billing_currency": "USD", "hours": 1, "gpu_hours": Decimal("1.5"), "amount": Decimal(7)},
    )
    assert waiting.rows == (
        {"pool": POOL, "billing_currency": "USD", "hours": 1, "gpu_hours": None, "amount": Decimal(3)},
    )


def test_a_bill_that_came_after_the_settlement_shows_in_the_difference(database: Database) -> None:
    late = PoolWorld.make(database)
    late.send(A)
    late.bill("2.49", TEN)
    late.settle()
    late.bill("2.99", TEN)
    assert {line.name: line.amount for line in _run(late).footer}["difference"] == Decimal("-0.5")
    late.settle()
    assert {line.name: line.amount for line in _run(late).footer}["difference"] == 0


def test_gap_and_idle_say_their_reasons(world: PoolWorld) -> None:
    [row] = _run(world).rows
    assert (row["gap_reason"], row["idle_reason"]) == (f"{HOST}; {UNPROVEN}", NO_REQUEST)


def test_a_negative_gap_is_over_prediction() -> None:
    assert "predicts more time than passed" in (_gap_reason(Decimal(-1), Decimal(0)) or "")
    assert _gap_reason(Decimal(0), Decimal(0)) is None


def test_an_hour_without_a_replica_says_so() -> None:
    class Hour:
        capacity_us = 0

    assert _idle_reason(Decimal(1), [Hour()]) == NO_REPLICA


def test_what_can_not_be_asked_is_refused(world: PoolWorld) -> None:
    with pytest.raises(InvalidInput, match="one of hour, day and month"):
        _run(world, "hour", "day")
    with pytest.raises(NotFound, match="pool='nosuch'"):
        _run(world, filters=(("pool", "nosuch"),))


def test_every_format_prints_it(world: PoolWorld) -> None:
    report = _run(world, "hour")
    assert "0.001095153863712" in report.to_csv()
    assert "section:unused" in report.to_csv()
    assert report.to_json()["sections"][0]["name"] == "unused"
    assert POOL in report.to_table()
