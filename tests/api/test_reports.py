"""Reports over HTTP: the same figures as JSON and CSV, and refusals that name what was asked."""

from __future__ import annotations

import csv
import io
from datetime import date
from decimal import Decimal
from typing import Any

import httpx
import pytest

from accounting.pricing.currency import ReferenceRate
from accounting.storage.fx_rates import import_rates
from tests.conftest import Database
from tests.events import body, event

pytestmark = pytest.mark.storage

JULY = {"from": "2026-07-01", "to": "2026-08-01"}


@pytest.fixture(scope="module", autouse=True)
def _july(ingest: httpx.Client) -> None:
    # o3 since 2025-06-10: 1,000 in at 2 and 100 out at 8 dollars a million are 0.0028.
    sent = [event(f"r{number}", user_id=f"u{number % 2}") for number in range(3)] + [event("r3", purpose="eval")]
    assert ingest.post("/v1/usage/events", content=body(sent)).json()["accepted"] == 4


def test_the_list_says_what_each_report_groups_by(admin: httpx.Client) -> None:
    listed = {row["name"]: row for row in admin.get("/v1/reports").json()["reports"]}
    assert {"cost-of-revenue", "user-margin"} <= set(listed)
    assert "month" in listed["cost-of-revenue"]["group_by"]
    assert all(row["description"] for row in listed.values())


def test_the_cost_of_revenue_is_the_sum_of_the_charges(admin: httpx.Client) -> None:
    report = admin.get("/v1/reports/cost-of-revenue", params=JULY).json()
    assert report["report"] == "cost-of-revenue"
    assert "0.0112" in str(report["totals"])
    assert report["coverage"]


def test_csv_carries_the_same_total_and_a_file_name(admin: httpx.Client) -> None:
    answer = admin.get("/v1/reports/cost-of-revenue", params={**JULY, "format": "csv"})
    assert answer.headers["Content-Type"].startswith("text/csv")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="cost-of-revenue.csv"'
    cells = [cell for row in csv.reader(io.StringIO(answer.text)) for cell in row]
    assert "0.0112" in cells


def test_user_margin_names_its_users(admin: httpx.Client) -> None:
    report = admin.get("/v1/reports/user-margin", params=JULY).json()
    assert {"u0", "u1"} <= {row.get("user_id") for row in report["rows"]}


def test_the_zone_is_the_tenants_where_none_is_asked_for(admin: httpx.Client) -> None:
    asked: dict[str, Any] = admin.get("/v1/reports/cost-of-revenue", params={**JULY, "tz": "Asia/Kolkata"}).json()
    default: dict[str, Any] = admin.get("/v1/reports/cost-of-revenue", params=JULY).json()
    assert (asked["parameters"]["tz"], default["parameters"]["tz"]) == ("Asia/Kolkata", "UTC")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"from": "yesterday"}, "from"),
        ({"to": "2026-07-01"}, "to"),
        ({"tz": "Mars/Olympus"}, "tz"),
        ({"group_by": "colour"}, "group_by"),
        ({"limit": "0"}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"format": "pdf"}, "format"),
        ({"form": "csv"}, "form"),
        ({"currency": "eur"}, "currency"),
        ({"currency": "CHF"}, "currency"),
    ],
)
def test_what_can_not_be_asked_is_refused_by_name(admin: httpx.Client, changes: dict[str, str], field: str) -> None:
    answer = admin.get("/v1/reports/cost-of-revenue", params={**JULY, **changes})
    assert (answer.status_code, answer.json()["field"]) == (400, field)


def test_a_missing_period_is_refused_by_name(admin: httpx.Client) -> None:
    answer = admin.get("/v1/reports/cost-of-revenue", params={"from": "2026-07-01"})
    assert (answer.status_code, answer.json()["field"]) == (400, "to")


def test_an_unknown_report_is_not_found(admin: httpx.Client) -> None:
    answer = admin.get("/v1/reports/no-such-report", params=JULY)
    assert (answer.status_code, answer.json()["error"]) == (404, "NotFound")


def test_a_report_in_another_currency_lists_its_rates(admin: httpx.Client, database: Database) -> None:
    import_rates(database.owner, [ReferenceRate("USD", date(2026, 7, 1), Decimal("1.25"), "bank", "f1")])
    report = admin.get("/v1/reports/cost-of-revenue", params={**JULY, "currency": "EUR"}).json()
    # 0.0112 dollars at 0.8.
    (total,) = [row for row in report["totals"] if row["row"] == "total"]
    assert (total["billing_currency"], total["effective_cost"]) == ("EUR", "0.00896")
    assert [(line["day"], line["from_currency"], line["rate"]) for line in report["conversions"]] == [
        ("2026-07-01", "USD", "0.8")
    ]


def test_the_rate_of_a_day_is_told_with_its_origin(admin: httpx.Client, database: Database) -> None:
    import_rates(database.owner, [ReferenceRate("USD", date(2026, 7, 1), Decimal("1.25"), "bank", "f1")])
    found = admin.get("/v1/fx-rate", params={"from": "EUR", "to": "USD", "on": "2026-07-02"}).json()
    assert (found["rate"], found["rate_date"], found["date"], found["source"]) == (
        "1.25",
        "2026-07-01",
        "2026-07-02",
        "bank",
    )


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"from": "EURO"}, "from"), ({"to": "ABC"}, "to"), ({"on": "July"}, "on"), ({"on": "2030-01-01"}, "currency")],
)
def test_a_rate_that_is_not_there_is_refused_by_name(admin: httpx.Client, changes: dict[str, str], field: str) -> None:
    answer = admin.get("/v1/fx-rate", params={"from": "EUR", "to": "USD", "on": "2026-07-02", **changes})
    assert (answer.status_code, answer.json()["field"]) == (400, field)
