"""Are both reports, in every format, what two_sellers/README.md works out by hand?"""

from __future__ import annotations

import csv
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest

from accounting.ledger.check import check
from accounting.money import parse_unit_price
from accounting.pipeline import ingest
from accounting.pricing.tariff import Alias, Tariff, fallbacks_for
from accounting.reports import Report, ReportQuery, run
from accounting.revenue.imports import import_subscriptions_csv
from accounting.revenue.plans import put_plan
from accounting.storage.tariffs import load_book, write_tariffs
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from accounting.usage.classes import PRICED_CLASSES, UNIT_CLASSES
from tests.conftest import Database

pytestmark = pytest.mark.storage
FOLDER = Path(__file__).parent / "two_sellers"
ZONE = "Asia/Kolkata"


def _tariff(cells: dict[str, str]) -> Tariff:
    stated = {name: cells[name] for name in PRICED_CLASSES if cells.get(name)}
    prices = {name: parse_unit_price(text) * (1_000 if name in UNIT_CLASSES else 1) for name, text in stated.items()}
    return Tariff(
        seller=cells["seller"],
        model=cells["model"],
        prices=prices,
        fallbacks=fallbacks_for(prices),
        effective_from=datetime.fromisoformat(cells["effective_from"]) if cells["effective_from"] else None,
        effective_until=datetime.fromisoformat(cells["effective_until"]) if cells["effective_until"] else None,
        price_texts=stated,
        source="by hand",
        source_version="1",
    )


@pytest.fixture(scope="module")
def tenant(database: Database) -> TenantContext:
    create_tenant(database.owner, "hand", "By hand", reporting_tz=ZONE)
    found = context(database.app, "hand")
    with (FOLDER / "tariffs.csv").open(newline="") as file:
        tariffs = [_tariff(cells) for cells in csv.DictReader(file)]
    names = sorted({(tariff.seller, tariff.model) for tariff in tariffs})
    with database.owner.begin() as connection:
        assert (
            write_tariffs(connection, tariffs, [Alias(seller, model, model, "by hand") for seller, model in names]) == 4
        )
    book = load_book(database.app, "hand")
    answer = ingest(database.app, found, book, (FOLDER / "events.jsonl").read_bytes(), ndjson=True)
    assert (answer.accepted, answer.rejected) == (11, [])
    for plan in ("free", "pro"):
        put_plan(database.app, found, plan)
    assert import_subscriptions_csv(database.app, found, FOLDER / "subscriptions.csv").imported == 3
    return found


@pytest.fixture(scope="module")
def reports(database: Database, tenant: TenantContext) -> dict[str, Report]:
    return {
        "cost_of_revenue": run(
            database.app, tenant, "cost-of-revenue", ReportQuery.parse("2026-02-01", "2026-04-01", ZONE)
        ),
        "user_margin": run(database.app, tenant, "user-margin", ReportQuery.parse("2026-02-01", "2026-03-01", ZONE)),
    }


@pytest.mark.parametrize("name", ["cost_of_revenue", "user_margin"])
def test_the_csv_is_the_one_by_hand(reports: dict[str, Report], name: str) -> None:
    assert reports[name].to_csv().splitlines() == (FOLDER / f"{name}.csv").read_text().splitlines()


@pytest.mark.parametrize("name", ["cost_of_revenue", "user_margin"])
def test_the_table_is_the_one_by_hand(reports: dict[str, Report], name: str) -> None:
    assert reports[name].to_table() == (FOLDER / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", ["cost_of_revenue", "user_margin"])
def test_the_json_has_the_figures_by_hand(reports: dict[str, Report], name: str) -> None:
    with (FOLDER / f"{name}.csv").open(newline="") as file:
        by_hand = [cells for cells in csv.DictReader(file) if ":" not in cells["row"]]
    found = reports[name].to_json()
    names = [column["name"] for column in found["columns"]]
    rows = [["" if row[name] is None else str(row[name]) for name in names] for row in found["rows"] + found["totals"]]
    assert sorted(rows) == sorted([cells[name] for name in names] for cells in by_hand)
    assert all(not isinstance(value, float) for row in found["rows"] for value in row.values())


def test_the_check_agrees(database: Database, tenant: TenantContext) -> None:
    lines = check(database.app, tenant)
    assert [line.describe() for line in lines if line.differs] == []
    costs = {f"{line.booking_period:%Y-%m}": line.components for line in lines if line.measure == "effective_cost"}
    # January: e7. February: its charge period's 0.386380566333321 less e7, and e8. March: e11.
    assert costs == {
        "2026-01": Decimal("0.000315"),
        "2026-02": Decimal("0.389065566333321"),
        "2026-03": Decimal("0.00001"),
    }


def test_a_limit_keeps_the_totals(database: Database, tenant: TenantContext, reports: dict[str, Report]) -> None:
    query = ReportQuery.parse("2026-02-01", "2026-03-01", ZONE, limit=2)
    found = run(database.app, tenant, "user-margin", query)
    assert [row["user_id"] for row in found.rows if row["row"] == "user"] == ["bob", "cyd"]
    (rest,) = [row for row in found.rows if row["row"] == "remaining_users"]
    # dan and ann: 10 + 13.571428571428571 less 0.0324099.
    assert (rest["recognised_revenue"], rest["margin"]) == (
        Decimal("23.571428571428571"),
        Decimal("23.539018671428571"),
    )
    assert found.totals == reports["user_margin"].totals
