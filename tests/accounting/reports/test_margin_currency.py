"""Revenue in euros and dollars, costs in dollars, one report: does each day have its rate, and does everything still add up?

A dollar is 0.80 euros on 1 and 2 July (1.25 for a euro) and 0.625 on 3 and 4 July (1.60). A call of o3, 1,000 in and 100 out, costs
0.0028 dollars. ann pays a euro a day; the account `big` is invoiced 10 dollars for the four days, 2.50 a day; from 3 July account
revenue reaches users by their requests.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from accounting.errors import MissingRate
from accounting.ledger.revise import void
from accounting.pipeline import ingest
from accounting.pricing.currency import ReferenceRate
from accounting.reports import Report, ReportQuery, run
from accounting.reports.one_user import OneUser, one_user
from accounting.reports.sections import SectionedReport
from accounting.reports.user_days import UserDays, user_days
from accounting.revenue.account_rules import put_account_rule
from accounting.revenue.line_imports import import_lines_csv
from accounting.revenue.plans import make_subscription, put_plan, put_subscription
from accounting.storage.fx_rates import import_rates
from accounting.storage.tariffs import load_book
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.conftest import Database
from tests.events import body, event

pytestmark = pytest.mark.storage

LINES = """line_id,kind,amount,currency,booked_on,starts_on,ends_on,user_id,account_id,plan
big,subscription,10.00,USD,2026-07-01,2026-07-01,2026-07-05,,big,
fee,payment_fee,0.50,USD,2026-07-01,,,ann,,pro
"""


class Euro:
    """The tenant's reports of some days of July."""

    def __init__(self, database: Database, tenant: TenantContext) -> None:
        self._database, self._tenant = database, tenant

    def report(self, name: str, currency: str | None = "EUR", days: tuple[int, int] = (1, 5), by: str = "") -> Report:
        first, until = (f"2026-07-{day:02}" for day in days)
        query = ReportQuery.parse(first, until, "UTC", by, currency=currency)
        return run(self._database.app, self._tenant, name, query)

    def user(self, user_id: str, currency: str = "EUR") -> OneUser:
        query = ReportQuery.parse("2026-07-01", "2026-07-05", "UTC", currency=currency)
        return one_user(self._database.app, self._tenant, query, user_id)

    def days(self, *users: str) -> list[UserDays]:
        query = ReportQuery.parse("2026-07-01", "2026-07-05", "UTC", currency="EUR")
        return user_days(self._database.app, self._tenant, query, users)[1]


@pytest.fixture(scope="module")
def euro(database: Database, tmp_path_factory: pytest.TempPathFactory) -> Euro:
    """1 July: a call of ann's. 4 July: one of bob's and two of cyd's, both of the account."""
    create_tenant(database.owner, "euro", "Euro", billing_currency="EUR")
    tenant = context(database.app, "euro")
    rates = [("2026-07-01", "1.25"), ("2026-07-03", "1.6")]
    import_rates(
        database.owner, [ReferenceRate("USD", date.fromisoformat(d), Decimal(r), "bank", "1") for d, r in rates]
    )
    on = {"occurred_at": "2026-07-04T12:00:00Z", "account_id": "big"}
    sent = [
        event("a", occurred_at="2026-07-01T12:00:00Z", user_id="ann", feature="chat"),
        event("b", user_id="bob", feature="chat", **on),
        event("c1", user_id="cyd", feature="search", **on),
        event("c2", user_id="cyd", feature="search", **on),
    ]
    assert ingest(database.app, tenant, load_book(database.app, "euro"), body(sent)).accepted == 4
    put_plan(database.app, tenant, "pro", acquisition_cost="2")
    sold = make_subscription(
        tenant, "s", plan="pro", user_id="ann", monthly_price="31", starts_on="2026-07-01", ends_on="2026-07-05"
    )
    put_subscription(database.app, tenant, sold)
    path: Path = tmp_path_factory.mktemp("lines") / "lines.csv"
    path.write_text(LINES)
    assert import_lines_csv(database.app, tenant, path).accepted == 2
    put_account_rule(database.app, tenant, "use", "2026-07-03")
    return Euro(database, tenant)


@pytest.fixture(scope="module")
def nothing(database: Database, euro: Euro) -> Euro:
    """Another tenant, by the same rates: a call of 3 July that was voided, and a plan sold for 0 euros."""
    create_tenant(database.owner, "nothing", "Nothing", billing_currency="EUR")
    tenant = context(database.app, "nothing")
    sent = [event("v", occurred_at="2026-07-03T12:00:00Z", user_id="ann")]
    assert ingest(database.app, tenant, load_book(database.app, "nothing"), body(sent)).accepted == 1
    void(database.app, tenant, "v", "sent by mistake")
    put_plan(database.app, tenant, "free")
    sold = make_subscription(tenant, "f", plan="free", user_id="ann", monthly_price="0", starts_on="2026-07-01")
    put_subscription(database.app, tenant, sold)
    return Euro(database, tenant)


def _rows(report: Report, *names: str) -> dict[Any, list[Any]]:
    """First name -> the others, of detail rows and what stands beside them."""
    return {row[names[0]] or row["row"]: [row[name] for name in names[1:]] for row in report.rows}


def _feet(report: Report, currency: str) -> dict[str, Decimal]:
    return {line.name: line.amount for line in report.footer if line.billing_currency == currency}


def _section(report: Report, name: str) -> list[dict[str, Any]]:
    assert isinstance(report, SectionedReport)
    return [row for section in report.sections if section.name == name for row in section.rows]


def _dec(texts: Iterable[str]) -> list[Decimal]:
    return [Decimal(text) for text in texts]


@pytest.mark.parametrize("name", ["workload", "margin-bridge"])
def test_a_report_of_one_billing_currency_says_what_was_spent_in_others(euro: Euro, name: str) -> None:
    assert _feet(euro.report(name, None), "USD") == {"spend_in_other_currency": Decimal("0.0112")}
    assert "spend_in_other_currency" not in _feet(euro.report("workload", "EUR"), "USD")


def test_revenue_in_euros_goes_to_the_feature_that_was_served_in_dollars(euro: Euro) -> None:
    rows = euro.report("margin", None, by="feature").rows
    billed = [(row["feature"] or row["row"], row["net_revenue"]) for row in rows if row["billing_currency"] == "EUR"]
    assert billed == [("chat", Decimal(4))]


def test_margins_of_users_are_converted_day_by_day(euro: Euro) -> None:
    """big: 5 dollars at 0.8 stay on the account; of 5 at 0.625 = 3.125 bob has a third, cyd two."""
    rows = _rows(euro.report("margin"), "user_id", "net_revenue", "provider_cost", "payment_fees", "gross_margin")
    assert rows["ann"] == _dec(["4", "0.00224", "0.4", "3.59776"])
    assert rows["bob"] == _dec(["1.041666666666666667", "0.00175", "0", "1.039916666666666667"])
    assert rows["cyd"] == _dec(["2.083333333333333333", "0.0035", "0", "2.079833333333333333"])
    assert rows["big"] == _dec(["4", "0", "0", "4"])


def test_one_users_margin_is_its_row_of_all_users(euro: Euro) -> None:
    for currency in ("EUR", "USD"):
        rows = {row["user_id"]: row for row in euro.report("margin", currency).rows if row["row"] == "detail"}
        assert {user: euro.user(user, currency).margin for user in rows} == {user: [row] for user, row in rows.items()}


def test_what_one_user_spent_is_converted_at_the_rate_of_each_day(euro: Euro) -> None:
    """ann a call on 1 July at 0.8, cyd two on 4 July at 0.625."""
    spent = [
        (one["billing_currency"], one["effective_cost"]) for user in ("ann", "cyd") for one in euro.user(user).spent
    ]
    assert spent == [("EUR", Decimal("0.00224")), ("EUR", Decimal("0.0035"))]
    days = {one.user_id: (one.billing_currency, one.effective_cost) for one in euro.days("ann", "cyd")}
    assert days == {"ann": ("EUR", _dec(["0.00224", "0", "0", "0"])), "cyd": ("EUR", _dec(["0", "0", "0", "0.0035"]))}


@pytest.mark.parametrize("by", ["user", "account", "plan", "feature", "model", "cohort"])
def test_every_grouping_has_the_same_converted_total(euro: Euro, by: str) -> None:
    (total,) = [row for row in euro.report("margin", by=by).totals if row["row"] == "total"]
    named = ("billing_currency", "net_revenue", "provider_cost", "payment_fees", "gross_margin")
    assert [total[name] for name in named] == ["EUR", *_dec(["11.125", "0.00749", "0.4", "10.71751"])]


def test_the_other_way_round_euros_become_dollars(euro: Euro) -> None:
    """ann: two days at 1.25 and two at 1.60; bob a third of 5 dollars that need no rate."""
    rows = _rows(euro.report("margin", "USD"), "user_id", "net_revenue", "provider_cost", "payment_fees")
    assert rows["ann"] == _dec(["5.7", "0.0028", "0.5"])
    assert rows["bob"] == _dec(["1.666666666666666667", "0.0028", "0"])
    assert rows["cyd"] == _dec(["3.333333333333333333", "0.0056", "0"])


def test_each_conversion_is_told_with_its_day_rate_and_measure(euro: Euro) -> None:
    told = [
        (line.measure, line.day.day, line.from_currency, line.amount, line.rate, line.rate_date.day)
        for line in euro.report("margin").conversions
    ]
    assert told == [
        ("effective_cost", 1, "USD", Decimal("0.0028"), Decimal("0.8"), 1),
        ("effective_cost", 4, "USD", Decimal("0.0084"), Decimal("0.625"), 3),
        ("recognised_revenue", 1, "USD", Decimal("2.5"), Decimal("0.8"), 1),
        ("recognised_revenue", 2, "USD", Decimal("2.5"), Decimal("0.8"), 1),
        ("recognised_revenue", 3, "USD", Decimal("2.5"), Decimal("0.625"), 3),
        ("recognised_revenue", 4, "USD", Decimal("2.5"), Decimal("0.625"), 3),
        ("payment_fees", 1, "USD", Decimal("0.5"), Decimal("0.8"), 1),
    ]


def test_the_footer_ties_converted_totals_to_the_days_and_the_ledger(euro: Euro) -> None:
    report = euro.report("margin")
    feet = _feet(report, "EUR")
    assert (feet["effective_cost_converted_by_day"], feet["effective_cost_conversion_rounding"]) == (
        Decimal("0.00749"),
        0,
    )
    assert (feet["recognised_revenue_converted_by_day"], feet["payment_fees_converted_by_day"]) == (
        Decimal("11.125"),
        Decimal("0.4"),
    )
    assert (_feet(report, "USD")["ledger_total"], _feet(report, "USD")["difference"]) == (Decimal("0.0112"), 0)


def test_user_margin_has_the_same_revenue_of_users(euro: Euro) -> None:
    rows = _rows(euro.report("user-margin"), "user_id", "recognised_revenue")
    assert rows == {
        "ann": _dec(["4"]),
        "bob": _dec(["1.041666666666666667"]),
        "cyd": _dec(["2.083333333333333333"]),
        "no_user": _dec(["4"]),
    }


def test_plans_in_one_currency_leave_account_revenue_unshared(euro: Euro) -> None:
    report = euro.report("plan-profitability")
    rows = _rows(report, "plan", "net_revenue", "provider_cost", "payment_fees", "subscribers")
    assert rows["pro"] == [*_dec(["4", "0.00224", "0.4"]), 1]
    assert rows["unmatched_revenue"] == [*_dec(["7.125", "0", "0"]), 0]
    assert rows["unmatched_usage"] == [*_dec(["0", "0.00525", "0"]), 0]


def test_payback_is_reckoned_in_the_reports_currency(euro: Euro) -> None:
    """Winning ann cost 2 euros, 2.50 dollars on her first day; she brought 5.70 - 0.50 - 0.0028."""
    (row,) = _section(euro.report("plan-profitability", "USD"), "cohorts")
    assert (row["contribution"], row["acquisition_cost_per_user"], row["paid_back"]) == (
        Decimal("5.1972"),
        Decimal("2.5"),
        "in this month",
    )


def test_the_bridge_has_what_rates_did_as_a_step_of_its_own(euro: Euro) -> None:
    """3 and 4 July against 1 and 2: at 0.8 the 5 dollars are 4 euros both times, the cost 0.00672; rates make it 3.125, 0.00525."""
    report = euro.report("margin-bridge", days=(3, 5))
    steps = {name: values for name, values in _rows(report, "step", "revenue", "cost").items() if any(values)}
    assert steps == {
        "new_and_discontinued": _dec(["0", "-0.00224"]),
        "payment_fees": _dec(["0", "-0.4"]),
        "unmatched": _dec(["0", "0.00672"]),
        "fx": _dec(["-0.875", "-0.00147"]),
    }
    feet = _feet(report, "EUR")
    assert (feet["margin_before"], feet["margin_after"], feet["difference"]) == (
        Decimal("5.59776"),
        Decimal("5.11975"),
        0,
    )
    assert report.totals[0]["margin"] == Decimal("-0.47801")
    assert [(row["from_currency"], row["rate"]) for row in _section(report, "constant_rates")] == [
        ("USD", Decimal("0.8"))
    ]


def test_the_bridge_compares_at_the_mean_rate_of_the_earlier_days(euro: Euro) -> None:
    """In dollars: 2 July (1.25) and 3 July (1.60) before, mean 1.425, two euros 2.85 either way; after, one euro, 1.425, was worth 1.60."""
    report = euro.report("margin-bridge", "USD", days=(4, 6))
    rows = _rows(report, "step", "revenue")
    assert rows["fx"] == _dec(["0.175"])
    (pvm,) = _section(report, "price_volume_mix")
    # A day less of one subscriber: half the volume of 2.85; the day that is left was worth 1.60 and not 1.425.
    assert (pvm["volume"], pvm["price"], pvm["fx"], pvm["change"]) == tuple(_dec(["-1.425", "0", "0.175", "-1.25"]))


@pytest.mark.parametrize(("currency", "other"), [("EUR", "USD"), ("USD", "EUR")])
def test_the_bridge_knows_the_currency_of_what_came_to_nothing(nothing: Euro, currency: str, other: str) -> None:
    report = nothing.report("margin-bridge", currency, days=(3, 5))
    assert [row["from_currency"] for row in _section(report, "constant_rates")] == [other]
    assert (report.totals[0]["revenue"], report.totals[0]["cost"], report.conversions) == (0, 0, [])


def test_lines_that_cancel_each_other_are_converted_each(nothing: Euro) -> None:
    """0.0028 dollars at 0.625, and taken back."""
    rows = _rows(nothing.report("explore", days=(3, 5), by="basis"), "basis", "effective_cost")
    assert rows == {"price_list": _dec(["0.00175"]), "reversal": _dec(["-0.00175"])}


def test_seats_are_those_who_subscribe_then_or_made_requests(database: Database, euro: Euro, tmp_path: Path) -> None:
    """9 euros of an account, by the rule stated again on 4 July: the 3rd is xia's and, by a request, vic's; the 4th is yan's alone."""
    create_tenant(database.owner, "seats", "Seats", billing_currency="EUR")
    tenant = context(database.app, "seats")
    put_plan(database.app, tenant, "seat")
    for user, start, end in (("xia", 1, 4), ("yan", 4, 5), ("zoe", 5, 6)):
        sold = make_subscription(
            tenant,
            user,
            plan="seat",
            user_id=user,
            account_id="co",
            monthly_price="0",
            starts_on=date(2026, 7, start),
            ends_on=date(2026, 7, end),
        )
        put_subscription(database.app, tenant, sold)
    call = event("v", occurred_at="2026-07-03T12:00:00Z", user_id="vic", account_id="co")
    assert ingest(database.app, tenant, load_book(database.app, "seats"), body([call])).accepted == 1
    path = tmp_path / "lines.csv"
    path.write_text(LINES.splitlines()[0] + "\nco,subscription,9,EUR,2026-07-03,2026-07-03,2026-07-05,,co,\n")
    assert import_lines_csv(database.app, tenant, path).accepted == 1
    for day in ("2026-07-01", "2026-07-04"):
        put_account_rule(database.app, tenant, "seats", day)
    rows = _rows(Euro(database, tenant).report("margin", days=(3, 5)), "user_id", "net_revenue")
    assert rows == {"vic": _dec(["2.25"]), "xia": _dec(["2.25"]), "yan": _dec(["4.5"])}


def test_a_day_without_a_rate_stops_every_margin_report(euro: Euro) -> None:
    for name in ("margin", "plan-profitability", "margin-bridge", "user-margin"):
        with pytest.raises(MissingRate, match="JPY on 2026-0"):
            euro.report(name, "JPY", days=(2, 4))
