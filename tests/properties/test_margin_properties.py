"""What must hold of margins for any events, subscriptions, invoice lines and rules (seeds are printed by Hypothesis)."""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounting.pipeline import ingest
from accounting.pricing.book import PriceBook
from accounting.reports import Report, ReportQuery, run
from accounting.reports.margin import margin_of_user
from accounting.revenue.account_rules import RULES, put_account_rule
from accounting.revenue.line_imports import import_rows
from accounting.revenue.plans import make_subscription, put_plan, put_subscription
from accounting.storage.tariffs import load_book
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.conftest import Database
from tests.strategies import events

pytestmark = pytest.mark.storage
SOME = settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
GROUPS = ("user", "account", "plan", "feature", "model", "cohort")
SUMMED = (
    "gross_revenue",
    "discounts",
    "refunds",
    "provider_cost",
    "tools_cost",
    "self_hosted_cost",
    "idle_cost",
    "payment_fees",
)
_NAMES = count()
AMOUNTS = st.decimals(0, 1_000, places=2)
DAYS = st.integers(1, 28)


@pytest.fixture(scope="module")
def book(database: Database) -> PriceBook:
    create_tenant(database.owner, "books", "Books")
    return load_book(database.app, "books")


@st.composite
def lines(draw: st.DrawFn) -> list[dict[str, str]]:
    """Invoice lines of users, of an account, of nobody, and fees."""
    found = []
    for number in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(["subscription", "one_off", "payment_fee"]))
        owner = draw(st.sampled_from([{"user_id": "ann"}, {"account_id": "acme"}, {}]))
        served = {"starts_on": f"2026-07-{draw(DAYS):02}", "ends_on": "2026-08-05"} if kind == "subscription" else {}
        row = {"line_id": f"l{number}", "kind": kind, "amount": str(draw(AMOUNTS)), "currency": "USD"}
        found.append({**row, **owner, **served, "booked_on": f"2026-07-{draw(DAYS):02}"})
    return found


@st.composite
def worlds(draw: st.DrawFn) -> dict[str, Any]:
    """Events with features, subscriptions, lines, and a rule for account revenue from some day on."""
    sent = [
        {**one, "feature": draw(st.sampled_from(["chat", "search", None]))}
        for one in draw(st.lists(events(), min_size=1, max_size=12))
    ]
    users = draw(st.lists(st.sampled_from(["ann", "bob", "丁"]), max_size=3, unique=True))
    sold = [(user, draw(st.sampled_from(["pro", "team"])), str(draw(AMOUNTS)), draw(DAYS)) for user in users]
    return {
        "events": sent,
        "sold": sold,
        "lines": draw(lines()),
        "rule": draw(st.sampled_from(RULES)),
        "from": draw(DAYS),
    }


def _tenant(database: Database, book: PriceBook, world: dict[str, Any], times: int = 1) -> TenantContext:
    """A new tenant with the world's rows, each event `times` over under ids of its own."""
    name = f"m{next(_NAMES)}"
    create_tenant(database.owner, name, name)
    tenant = context(database.app, name)
    sent = [{**one, "event_id": f"{one['event_id']}-{copy}"} for copy in range(times) for one in world["events"]]
    assert ingest(database.app, tenant, book, json.dumps(sent).encode()).accepted == len(sent)
    for plan in ("pro", "team"):
        put_plan(database.app, tenant, plan)
    for number, (user, plan, price, day) in enumerate(world["sold"]):
        account = "acme" if number == 0 else None
        made = make_subscription(
            tenant,
            f"s{number}",
            plan=plan,
            user_id=user,
            account_id=account,
            monthly_price=price,
            starts_on=f"2026-07-{day:02}",
        )
        put_subscription(database.app, tenant, made)
    assert import_rows(database.app, tenant, enumerate(world["lines"])).rejected == []
    put_account_rule(database.app, tenant, world["rule"], f"2026-07-{world['from']:02}")
    return tenant


def _report(database: Database, tenant: TenantContext, name: str, by: str = "") -> Report:
    return run(database.app, tenant, name, ReportQuery.parse("2026-07-01", "2026-08-15", "UTC", by))


def _sums(rows: list[dict[str, Any]]) -> list[Decimal]:
    """What rows add up to; a cost that is not known counts nothing."""
    return [sum((row[name] or Decimal(0) for row in rows), Decimal(0)) for name in SUMMED]


def _whole(report: Report, kind: str = "total") -> dict[str, Any]:
    (row,) = [row for row in report.totals if row["row"] == kind]
    return row


@SOME
@given(world=worlds())
def test_by_user_is_by_plan_is_by_model_is_by_feature_is_the_total(
    database: Database, book: PriceBook, world: dict[str, Any]
) -> None:
    tenant = _tenant(database, book, world)
    found = [_report(database, tenant, "margin", by) for by in GROUPS] + [
        _report(database, tenant, "plan-profitability")
    ]
    wholes = [_sums([_whole(report)]) for report in found]
    assert wholes == [wholes[0]] * len(found)
    for report in found:
        assert _sums(report.rows) == _sums([_whole(report)])
        assert {line.amount for line in report.footer if line.name == "difference"} == {Decimal(0)}
    for row in found[0].rows:
        if row["row"] == "detail":
            assert margin_of_user(database.app, tenant, found[0].query, row["user_id"]) == [row]
    users = _whole(_report(database, tenant, "user-margin"))
    net = _whole(found[0])["net_revenue"]
    assert (users["recognised_revenue"], users["effective_cost"] or 0) == (net, sum(wholes[0][3:7]))


@SOME
@given(world=worlds())
def test_the_bridge_from_the_days_before_adds_up(database: Database, book: PriceBook, world: dict[str, Any]) -> None:
    tenant = _tenant(database, book, world)
    query = ReportQuery.parse("2026-07-20", "2026-08-05", "UTC")
    report = run(database.app, tenant, "margin-bridge", query)
    feet = {line.name: line.amount for line in report.footer}
    margins = sum((row["margin"] for row in report.rows), Decimal(0))
    assert (feet["difference"], margins) == (0, feet["margin_after"] - feet["margin_before"])


@SOME
@given(world=worlds())
def test_twice_the_traffic_costs_twice_at_flat_prices_and_earns_the_same(
    database: Database, book: PriceBook, world: dict[str, Any]
) -> None:
    once, twice = (
        _whole(_report(database, _tenant(database, book, world, times), "margin", "model")) for times in (1, 2)
    )
    assert [once[name] and 2 * once[name] for name in ("provider_cost", "tools_cost", "events", "tokens")] == [
        twice[name] for name in ("provider_cost", "tools_cost", "events", "tokens")
    ]
    assert once["net_revenue"] == twice["net_revenue"]
