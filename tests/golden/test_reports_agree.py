"""Do all reports state the same month? Three currencies, a policy that changes within it, nobody's usage, an unknown price, a void.

The tenant's days are Berlin's, so March 2026 is 2026-02-28T23:00Z to 2026-03-31T22:00Z. `dollar`, `euro` and `yen` are models at 1 USD,
1 EUR and 150 JPY a million tokens. From 20 March evals count as cost of revenue. By hand:

| call | when | who, purpose | cost |
|---|---|---|---|
| first | its first instant | ann, production | 1 USD |
| early | 19 March, last microsecond | eval | 1 USD, research |
| late | 20 March, 00:00 | eval | 150 JPY, cost of revenue |
| free | 10 March | bob, free | 2 EUR, sales and marketing |
| unknown | 10 March | nobody, production | no price; the tenant's currency |
| last | its last microsecond | ann, production | 1 USD |
| april | a microsecond later | ann, production | 1 USD, in April |

Revenue: ann 31 EUR a month, an account 10 USD, a line of nobody's 7 EUR.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from accounting.ledger.revise import void
from accounting.money import parse_unit_price
from accounting.pipeline import ingest
from accounting.pricing.tariff import Alias, Tariff, fallbacks_for
from accounting.reports import ReportQuery, run
from accounting.revenue.line_imports import import_rows
from accounting.revenue.plans import make_subscription, put_plan, put_subscription
from accounting.storage.purposes import put_purpose
from accounting.storage.tariffs import load_book, write_tariffs
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.conftest import Database
from tests.events import body, event

pytestmark = pytest.mark.storage
ZONE = "Europe/Berlin"
MODELS = {"dollar": ("USD", "1"), "euro": ("EUR", "1"), "yen": ("JPY", "150")}
COST = {"EUR": Decimal(2), "JPY": Decimal(150), "USD": Decimal(3)}
NET = {"EUR": Decimal(38), "JPY": Decimal(0), "USD": Decimal(10)}
COUNTED = {"EUR": None, "JPY": Decimal(150), "USD": Decimal(2)}
"""Cost of revenue. In euros there is the call without a price alone: unknown, not 0."""
COSTS = ("provider_cost", "tools_cost", "self_hosted_cost", "idle_cost")


def _tariff(model: str, currency: str, price: str) -> Tariff:
    prices = {"uncached_input": parse_unit_price(price), "output": parse_unit_price(price)}
    since = datetime(2026, 1, 1, tzinfo=UTC)
    return Tariff(
        "hand",
        model,
        prices,
        fallbacks_for(prices),
        currency=currency,
        effective_from=since,
        source="by hand",
        source_version="1",
        price_texts=dict.fromkeys(prices, price),
    )


def _call(name: str, at: str, model: str, millions: int = 1, **who: str) -> dict[str, Any]:
    usage = {"input_tokens": millions * 1_000_000, "output_tokens": 0}
    return event(name, occurred_at=at, provider="hand", model=model, usage=usage, **who)


CALLS = [
    _call("first", "2026-02-28T23:00:00Z", "dollar", user_id="ann", feature="chat"),
    _call("early", "2026-03-19T22:59:59.999999Z", "dollar", purpose="eval"),
    _call("late", "2026-03-19T23:00:00Z", "yen", purpose="eval"),
    _call("free", "2026-03-10T12:00:00Z", "euro", 2, user_id="bob", account_id="big", purpose="free"),
    _call("unknown", "2026-03-10T12:00:00Z", "rouble"),
    _call("taken back", "2026-03-10T12:00:00Z", "dollar", user_id="bob"),
    _call("last", "2026-03-31T21:59:59.999999Z", "dollar", user_id="ann", feature="search"),
    _call("april", "2026-03-31T22:00:00Z", "dollar", user_id="ann"),
]
LINES = [
    {"line_id": "big", "amount": "10", "currency": "USD", "account_id": "big"},
    {"line_id": "stray", "amount": "7", "currency": "EUR"},
]


@pytest.fixture(scope="module")
def tenant(database: Database) -> TenantContext:
    create_tenant(database.owner, "agree", "Agree", ZONE, "EUR")
    own = context(database.app, "agree")
    with database.owner.begin() as connection:
        names = [Alias("hand", model, model, "by hand") for model in MODELS]
        write_tariffs(connection, [_tariff(model, *price) for model, price in MODELS.items()], names)
    assert ingest(database.app, own, load_book(database.app, "agree"), body(CALLS)).accepted == len(CALLS)
    void(database.app, own, "taken back", "sent by mistake")
    put_purpose(database.app, own, "eval", "cost_of_revenue", "2026-03-20")
    put_plan(database.app, own, "pro")
    sold = make_subscription(own, "s", plan="pro", user_id="ann", monthly_price="31", starts_on="2026-01-01")
    put_subscription(database.app, own, sold)
    billed = [{"kind": "one_off", "booked_on": "2026-03-05", **line} for line in LINES]
    assert import_rows(database.app, own, list(enumerate(billed, 1))).accepted == 2
    return own


def _march(database: Database, tenant: TenantContext, name: str, by: str = "", zone: str = ZONE) -> Any:
    return run(database.app, tenant, name, ReportQuery.parse("2026-03-01", "2026-04-01", zone, by))


def _by_currency(rows: Any, *names: str) -> dict[str, Decimal | None]:
    """Sum of the named columns by currency; None where nothing of it is known."""
    found: dict[str, list[Decimal]] = {}
    for row in rows:
        found.setdefault(row["billing_currency"], []).extend(row[name] for name in names if row[name] is not None)
    return {currency: sum(amounts, Decimal(0)) if amounts else None for currency, amounts in sorted(found.items())}


@pytest.mark.parametrize("by", ["user", "account", "plan", "feature", "model", "cohort"])
def test_margins_of_every_grouping_are_the_month(database: Database, tenant: TenantContext, by: str) -> None:
    report = _march(database, tenant, "margin", by)
    totals = {kind: [row for row in report.totals if row["row"] == kind] for kind in ("total", "total_by_policy")}
    assert _by_currency(report.rows, *COSTS) == _by_currency(totals["total"], *COSTS) == COST
    assert _by_currency(report.rows, "net_revenue") == _by_currency(totals["total"], "net_revenue") == NET
    assert _by_currency(totals["total_by_policy"], *COSTS) == COUNTED


@pytest.mark.parametrize("by", ["model", "purpose", "category", "day,seller"])
def test_the_statement_of_every_grouping_is_the_month(database: Database, tenant: TenantContext, by: str) -> None:
    report = _march(database, tenant, "cost-of-revenue", by)
    assert _by_currency(report.rows, "effective_cost") == COST
    lines = [row for row in report.totals if row["statement_line"] == "cost_of_revenue"]
    assert _by_currency(lines, "effective_cost") == COUNTED


@pytest.mark.parametrize("by", ["user_id,feature", "account_id,model", "day,purpose", "month,charge_status"])
def test_any_two_dimensions_are_the_month(database: Database, tenant: TenantContext, by: str) -> None:
    assert _by_currency(_march(database, tenant, "explore", by).rows, "effective_cost") == COST


def test_plans_users_and_overview_are_the_month(database: Database, tenant: TenantContext) -> None:
    plans, users, overview = (
        _march(database, tenant, name) for name in ("plan-profitability", "user-margin", "overview")
    )
    assert _by_currency(plans.rows, *COSTS) == _by_currency(users.rows, "effective_cost") == COST
    assert _by_currency(plans.rows, "net_revenue") == _by_currency(users.rows, "recognised_revenue") == NET
    period = [row for row in overview.rows if row["row"] == "period"]
    assert _by_currency(period, "effective_cost") == COST
    assert _by_currency(period, "cost_of_revenue") == {**COUNTED, "EUR": None}


@pytest.mark.parametrize("name", ["workload", "margin-bridge"])
def test_a_report_of_euros_alone_says_what_it_leaves_out(database: Database, tenant: TenantContext, name: str) -> None:
    left = [line for line in _march(database, tenant, name).footer if line.name == "spend_in_other_currency"]
    assert {line.billing_currency: line.amount for line in left} == {"JPY": Decimal(150), "USD": Decimal(3)}


def test_another_zone_has_other_calls_on_the_same_lines(database: Database, tenant: TenantContext) -> None:
    """March of UTC begins an hour later, without `first`, and ends two hours later, with `april`; evals change in Berlin's night."""
    report = _march(database, tenant, "cost-of-revenue", "purpose", "UTC")
    assert _by_currency(report.rows, "effective_cost") == COST
    lines = [row for row in report.totals if row["statement_line"] == "cost_of_revenue"]
    assert _by_currency(lines, "effective_cost") == COUNTED
