"""A day of 276,765 real requests of 73 tenants through ingest and rollups: does the report name those who lose money, and the cap?

Each pays 40 for the month; tokens cost 0.55 and 2.19 a million in and out. Expected figures: test_servegen_plans.py, from a separate sum.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import islice

import pytest

from accounting.pipeline import ingest
from accounting.pricing.book import PriceBook
from accounting.pricing.tariff import Alias, Tariff
from accounting.reports import ReportQuery, run
from accounting.reports.sections import SectionedReport
from accounting.revenue.plans import make_subscription, put_plan, put_subscription
from accounting.storage.tariffs import read_tariffs, write_tariffs
from accounting.storage.tenants import context, create_tenant
from tests.conftest import Database
from tests.shared_data import shared

pytestmark = [pytest.mark.storage, pytest.mark.slow]

START = datetime(2026, 8, 3, tzinfo=UTC)
R1 = Tariff("deepseek", "r1", {"uncached_input": 550_000_000, "output": 2_190_000_000}, source="test")


def _events() -> Iterator[dict[str, object]]:
    path = shared("servegen/derived_requests_deepseek-r1_day0_20pct.csv.gz")
    with gzip.open(path, "rt", newline="") as file:
        for number, row in enumerate(csv.DictReader(file)):
            usage = {"input_tokens": int(row["input_tokens"]), "output_tokens": int(row["output_tokens"])}
            moment = (START + timedelta(seconds=float(row["t_s"]))).isoformat()
            called = {"event_id": f"r{number}", "occurred_at": moment, "provider": "deepseek", "model": "r1"}
            yield {**called, "status": "ok", "user_id": row["client_id"], "usage": usage}


@pytest.fixture(scope="module")
def report(database: Database) -> SectionedReport:
    create_tenant(database.owner, "gen", "Gen")
    tenant = context(database.app, "gen")
    listed, aliases = read_tariffs(database.app, "gen")
    with database.owner.begin() as connection:
        write_tariffs(connection, [R1], aliases)
    book = PriceBook([*listed, R1], [*aliases, Alias("deepseek", "r1", "r1", "test")])
    users: set[str] = set()
    left = _events()
    while some := list(islice(left, 5_000)):
        users |= {str(one["user_id"]) for one in some}
        assert ingest(database.app, tenant, book, json.dumps(some).encode()).accepted == len(some)
    put_plan(database.app, tenant, "forty")
    for user in sorted(users):
        sold = make_subscription(tenant, user, plan="forty", user_id=user, monthly_price="40", starts_on="2026-08-01")
        put_subscription(database.app, tenant, sold)
    found = run(database.app, tenant, "plan-profitability", ReportQuery.parse("2026-08-01", "2026-09-01", "UTC"))
    assert isinstance(found, SectionedReport)
    return found


def test_the_report_names_the_five_that_lose_money(report: SectionedReport) -> None:
    (lost,) = [section for section in report.sections if section.name == "loss_making"]
    assert [row["user_id"] for row in lost.rows] == ["35", "66", "15", "65", "3"]
    (plan,) = report.rows
    assert (plan["subscribers"], plan["net_revenue"], plan["loss_making"]) == (73, Decimal(2_920), 5)


def test_the_report_names_the_cap(report: SectionedReport) -> None:
    (caps,) = [section for section in report.sections if section.name == "caps"]
    found = {int(row["covered_pct"]): row["cap"] for row in caps.rows if row["unit"] == "requests"}
    assert found == {95: 6_937, 99: 2_137}
