"""Do any two dimensions add up to the same total, whichever table answers? Model o3: 0.0028 a call; gpt-4o: 0.0035."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from accounting.errors import InvalidInput
from accounting.pipeline import ingest
from accounting.reports import Report, ReportQuery, run
from accounting.reports.charge_list import charge_list
from accounting.storage.tariffs import load_book
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.conftest import Database
from tests.events import body, event

pytestmark = pytest.mark.storage
O3, GPT = Decimal("0.0028"), Decimal("0.0035")
ALL = 4 * O3 + 2 * GPT


@pytest.fixture(scope="module")
def tenant(database: Database) -> TenantContext:
    """Six priced calls and one without a price on two days of July; the zone is India's, whose 2 July begins at 18:30 UTC."""
    create_tenant(database.owner, "acme", "Acme", reporting_tz="Asia/Kolkata")
    own = context(database.app, "acme")
    first, second = "2026-07-01T10:00:00Z", "2026-07-01T18:30:00Z"
    calls = [
        event("a1", occurred_at=first, user_id="ada", feature="chat"),
        event("a2", occurred_at=first, user_id="ada", feature="search"),
        event("a3", occurred_at=second, user_id="ada", model="gpt-4o", feature="chat"),
        event("b1", occurred_at=second, user_id="bob", purpose="free"),
        event("b2", occurred_at=second, user_id="bob", model="gpt-4o"),
        event("n1", occurred_at=second),
        event("x1", occurred_at=second, user_id="bob", model="nobody-knows-it"),
    ]
    ingest(database.app, own, load_book(database.app, "acme"), body(calls))
    return own


def ask(
    database: Database, tenant: TenantContext, group_by: str, *filters: str, tz: str = "Asia/Kolkata", **more: Any
) -> Report:
    query = ReportQuery.parse("2026-07-01", "2026-07-03", tz, group_by, filters=filters, **more)
    return run(database.app, tenant, "explore", query)


def cells(report: Report, *names: str) -> list[tuple[Any, ...]]:
    return [(*(row[name] for name in names), row["effective_cost"], row["events"]) for row in report.rows]


def test_models_by_cost_the_unknown_last(database: Database, tenant: TenantContext) -> None:
    report = ask(database, tenant, "model")
    assert cells(report, "model") == [("o3", 4 * O3, 4), ("gpt-4o", 2 * GPT, 2), ("nobody-knows-it", None, 1)]
    assert report.totals[0]["effective_cost"] == ALL
    assert report.totals[0]["unpriced_events"] == 1


def test_days_are_those_of_the_zone_and_come_in_order(database: Database, tenant: TenantContext) -> None:
    expected = [
        ("2026-07-01", "o3", 2 * O3, 2),
        ("2026-07-02", "gpt-4o", 2 * GPT, 2),
        ("2026-07-02", "o3", 2 * O3, 2),
        ("2026-07-02", "nobody-knows-it", None, 1),
    ]
    assert cells(ask(database, tenant, "day,model"), "day", "model") == expected
    utc = cells(ask(database, tenant, "day", tz="UTC"), "day")
    assert utc == [("2026-07-01", ALL, 7)]


@pytest.mark.parametrize(
    ("group_by", "table"),
    [
        ("seller,model", "rollup_day"),
        ("month,purpose", "rollup_day"),
        ("user_id,day", "rollup_user_day"),
        ("account_id,charge_status", "rollup_user_day"),
        ("user_id,model", "ledger"),
        ("feature,day", "ledger"),
        ("deployment,basis", "ledger"),
    ],
)
def test_every_pair_adds_up_to_the_same_total_from_its_table(
    database: Database, tenant: TenantContext, group_by: str, table: str
) -> None:
    report = ask(database, tenant, group_by)
    assert sum(row["effective_cost"] or 0 for row in report.rows) == report.totals[0]["effective_cost"] == ALL
    assert sum(row["events"] for row in report.rows) == 7
    assert [line.name for line in report.footer] == [f"answered_by_{table}"]


def test_another_zones_days_come_from_quarter_hours(database: Database, tenant: TenantContext) -> None:
    assert ask(database, tenant, "day,seller", tz="UTC").footer[0].name == "answered_by_rollup_15m"
    assert ask(database, tenant, "day,user_id", tz="UTC").footer[0].name == "answered_by_ledger"


@pytest.mark.parametrize("group_by", ["model", "user_id", "feature"])
def test_a_period_ends_before_the_first_instant_of_its_end_in_every_table(
    database: Database, tenant: TenantContext, group_by: str
) -> None:
    first = run(
        database.app, tenant, "explore", ReportQuery.parse("2026-07-01", "2026-07-02", "Asia/Kolkata", group_by)
    )
    second = run(
        database.app, tenant, "explore", ReportQuery.parse("2026-07-02", "2026-07-03", "Asia/Kolkata", group_by)
    )
    assert (first.totals[0]["events"], second.totals[0]["events"]) == (2, 5)
    assert first.totals[0]["effective_cost"] == 2 * O3


def test_usage_that_names_none_is_none_and_can_be_chosen(database: Database, tenant: TenantContext) -> None:
    assert cells(ask(database, tenant, "user_id"), "user_id") == [
        ("ada", 2 * O3 + GPT, 3),
        ("bob", O3 + GPT, 3),
        (None, O3, 1),
    ]
    assert cells(ask(database, tenant, "model", "user_id:"), "model") == [("o3", O3, 1)]


def test_filters_hold_together(database: Database, tenant: TenantContext) -> None:
    report = ask(database, tenant, "feature", "user_id:ada", "model:o3")
    assert cells(report, "feature") == [("chat", O3, 1), ("search", O3, 1)]
    assert report.parameters["filter"] == ["user_id:ada", "model:o3"]
    assert ask(database, tenant, "model", "model:o4").rows == []


def test_a_limit_leaves_the_rest_in_one_row(database: Database, tenant: TenantContext) -> None:
    report = ask(database, tenant, "model", limit=1)
    assert [(row["row"], row["model"], row["effective_cost"]) for row in report.rows] == [
        ("detail", "o3", 4 * O3),
        ("remaining", None, 2 * GPT),
    ]
    assert report.totals[0]["effective_cost"] == ALL


@pytest.mark.parametrize(
    ("group_by", "filters", "field", "value"),
    [
        ("model,seller,day", (), "group_by", "model,seller,day"),
        ("month,day", (), "group_by", "month,day"),
        ("plan", (), "group_by", "plan"),
        ("model", ("plan:x",), "filter", "plan"),
        ("model", ("model:a", "model:b"), "filter", "model"),
        ("model", ("model",), "filter", "model"),
        ("model", ("model:a\x00",), "filter", "model:a\x00"),
    ],
)
def test_what_can_not_be_asked_is_named(
    database: Database, tenant: TenantContext, group_by: str, filters: tuple[str, ...], field: str, value: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        ask(database, tenant, group_by, *filters)
    assert (caught.value.field, caught.value.value) == (field, value)


def test_a_report_without_filters_refuses_one(database: Database, tenant: TenantContext) -> None:
    query = ReportQuery.parse("2026-07-01", "2026-07-03", "Asia/Kolkata", filters=["model:o3"])
    with pytest.raises(InvalidInput, match="filter='model': this report filters by nothing"):
        run(database.app, tenant, "user-margin", query)


def page(database: Database, tenant: TenantContext, *filters: str, limit: int = 3, **more: Any) -> dict[str, Any]:
    query = ReportQuery.parse("2026-07-01", "2026-07-03", "Asia/Kolkata", limit=limit, filters=filters)
    return charge_list(database.app, tenant, query, **more)


def test_charges_come_dearest_first_page_by_page_each_once(database: Database, tenant: TenantContext) -> None:
    first = page(database, tenant)
    assert [line["charge_id"] for line in first["charges"]] == ["b2:0", "a3:0", "n1:0"]
    second = page(database, tenant, cursor=first["next"])
    assert [line["charge_id"] for line in second["charges"]] == ["b1:0", "a2:0", "a1:0"]
    last = page(database, tenant, cursor=second["next"])
    assert [(line["charge_id"], line["effective_cost"]) for line in last["charges"]] == [("x1:0", None)]
    assert last["next"] is None


def test_charges_end_before_the_first_instant_of_the_periods_end(database: Database, tenant: TenantContext) -> None:
    query = ReportQuery.parse("2026-07-01", "2026-07-02", "Asia/Kolkata")
    assert [line["charge_id"] for line in charge_list(database.app, tenant, query)["charges"]] == ["a2:0", "a1:0"]


def test_a_page_that_holds_exactly_all_is_the_last(database: Database, tenant: TenantContext) -> None:
    assert page(database, tenant, limit=7)["next"] is None


def test_charges_by_time_come_newest_first(database: Database, tenant: TenantContext) -> None:
    first = page(database, tenant, order="time", limit=6)
    assert [line["charge_id"] for line in first["charges"]] == ["x1:0", "n1:0", "b2:0", "b1:0", "a3:0", "a2:0"]
    rest = page(database, tenant, order="time", cursor=first["next"])
    assert [line["charge_id"] for line in rest["charges"]] == ["a1:0"]


def test_filtered_charges_add_up_to_the_filtered_report(database: Database, tenant: TenantContext) -> None:
    lines = page(database, tenant, "user_id:ada", limit=100)["charges"]
    total = ask(database, tenant, "model", "user_id:ada").totals[0]["effective_cost"]
    assert sum(Decimal(line["effective_cost"]) for line in lines) == total == 2 * O3 + GPT


@pytest.mark.parametrize(
    "cursor", ["x", "", "MSBh" * 2 + "!", "bmFuIGE=", "MQ==", "MWU5OTk5OTkgYQ==", "MWUtOTk5OTkgYQ=="]
)
def test_a_cursor_of_another_hand_is_refused(database: Database, tenant: TenantContext, cursor: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        page(database, tenant, cursor=cursor)
    assert caught.value.field == "cursor"
