"""Which scenarios are about days and months of a zone, and about cents? What was booked, as reports cut and print it."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest

from accounting.reports import ReportQuery, run
from accounting.tenant import TenantContext
from tests.cases.metered import MakeTenant, costing, send, usd
from tests.cases.rows import cases, row
from tests.conftest import Database

pytestmark = [pytest.mark.storage, pytest.mark.one_server]


@cases("L1", "L3")
def test_local_days(database: Database, tenant: MakeTenant, case_id: str) -> None:
    """Days asked one by one add up to the range; what lies outside them is in neither."""
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    owner = tenant(scenario["timezone"])
    events = scenario["events"]
    send(database, owner, *(costing(one["cost_usd"], str(at), one["time"]) for at, one in enumerate(events)))
    first, last = (date.fromisoformat(scenario[name]) for name in ("from_local_day", "to_local_day"))
    days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    whole = _by_day(database, owner, first, last + timedelta(days=1))
    assert whole == expected["by_day_usd"]
    assert {k: v for day in days for k, v in _by_day(database, owner, day, day + timedelta(days=1)).items()} == whole
    assert usd(sum(map(Decimal, whole.values()), Decimal(0))) == expected["range_total_usd"]


def _by_day(database: Database, owner: TenantContext, start: date, end: date) -> dict[str, str]:
    query = ReportQuery.parse(start.isoformat(), end.isoformat(), owner.reporting_tz, "day")
    [total] = run(database.app, owner, "cost-of-revenue", query).totals[-1:]
    return {name: usd(value) for name, value in total.items() if name[:4].isdigit()}


@cases("L5")
def test_an_event_belongs_to_one_month_of_the_zone(database: Database, tenant: MakeTenant, case_id: str) -> None:
    """By charge period: a statement has one column a local month. The events cost 1, 2 and 4, so that a sum says which are in it."""
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    owner = tenant(scenario["timezone"])
    costs = dict(zip(("e1", "e2", "e3"), ("1", "2", "4"), strict=True))
    send(database, owner, *(costing(costs[one["id"]], one["id"], one["time"]) for one in scenario["events"]))
    query = ReportQuery.parse("2026-03-01", "2026-05-01", owner.reporting_tz)
    report = run(database.app, owner, "cost-of-revenue", query)
    months = [column.name for column in report.columns if column.name[:4].isdigit()]
    assert months == ["2026-03", "2026-04"]
    total = report.totals[-1]
    assert {month: usd(total[month]) for month in months} == {"2026-03": "1", "2026-04": "6"}
    assert expected["period_of"] == {"e1": "2026-03", "e2": "2026-04", "e3": "2026-04"}
    assert [months.count(month) for month in months] == [expected["invoices_per_period"]] * 2


@cases("N3")
def test_cents_are_rounded_once_at_the_end(database: Database, tenant: MakeTenant, case_id: str) -> None:
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    owner, at = tenant(), row(case_id)["event_time"]
    send(database, owner, *(costing(scenario["per_event_usd"], str(n), at) for n in range(scenario["events"])))
    report = run(database.app, owner, "cost-of-revenue", ReportQuery.parse("2026-04-03", "2026-04-04", "UTC"))
    assert usd(report.totals[-1]["effective_cost"]) == expected["total_usd"]
    [total] = [line for line in report.to_table().splitlines() if line.startswith("total ")]
    assert total.split()[-2] == expected["shown_usd"]
