"""What is earned of use, packs and refunds in a month, from whom, for which plan? April 2026, days of UTC.

The plan `metered` is 10 a month with 2 requests; each further request is 0.50. A pack of 10 requests costs 5.
"""

from __future__ import annotations

from datetime import date
from itertools import pairwise
from typing import Any

import pytest

from accounting.money import to_minor
from accounting.pipeline import ingest
from accounting.revenue.earned import Revenue, earned_revenue
from accounting.revenue.line_imports import import_rows
from accounting.revenue.lines import Owner
from accounting.revenue.plan_prices import put_plan_price
from accounting.revenue.plans import make_subscription, put_plan, put_subscription
from accounting.storage.engine import read_only
from accounting.storage.tariffs import load_book
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.conftest import Database
from tests.events import body, event

pytestmark = pytest.mark.storage
LINE = {"currency": "USD", "booked_on": "2026-04-01"}
PACK = LINE | {"kind": "credits", "amount": "5", "units": "10", "unit": "requests"}
LINES = [
    PACK | {"line_id": "lapsed", "recognition": "use_and_breakage", "starts_on": "2026-04-01", "ends_on": "2026-05-01"},
    PACK | {"line_id": "later", "recognition": "use_and_breakage", "starts_on": "2026-04-01", "ends_on": "2026-05-02"},
    PACK | {"line_id": "kept", "recognition": "use", "starts_on": "2026-04-01", "ends_on": "2026-04-20"},
    LINE | {"line_id": "sold", "kind": "one_off", "amount": "8", "user_id": "fay", "plan": "extra"},
    LINE | {"line_id": "back", "kind": "refund", "amount": "-3", "refers_to": "sold"},
    LINE | {"line_id": "billed", "kind": "one_off", "amount": "4", "subscription_id": "s-dan"},
    PACK | {"line_id": "drawn", "account_id": "acme"},
]


@pytest.fixture(scope="module")
def tenant(database: Database) -> TenantContext:
    create_tenant(database.owner, "metered", "Metered")
    found = context(database.app, "metered")
    put_plan(database.app, found, "metered", kind="usage")
    allowance = {"unit": "requests", "included_units": 2, "unit_price": "0.50", "unit_per": 1}
    put_plan_price(database.app, found, "metered", price="10", effective_from="2026-01-01", **allowance)
    sold: dict[str, dict[str, Any]] = {
        "ann": {},
        "bob": {"quantity": 2},
        "cyd": {"comped": True},
        "dan": {"revenue_from": "lines", "account_id": "beta"},
        "eve": {"starts_on": "2026-04-01", "trial_until": "2026-04-16"},
    }
    for user, changed in sold.items():
        given = {"starts_on": "2026-01-01", "monthly_price": 0, "revenue_from": "plan"} | changed
        put_subscription(
            database.app, found, make_subscription(found, f"s-{user}", plan="metered", user_id=user, **given)
        )
    assert import_rows(database.app, found, enumerate(LINES)).rejected == []
    sent = [
        event(f"{user}-{number}", user_id=user, occurred_at=f"2026-04-{day:02}T12:00:00Z", purpose=purpose)
        for user in sold
        for number, (day, purpose) in enumerate(
            [(10, "production"), (10, "free"), (20, "trial"), (20, "production"), (20, "production"), (20, "eval")]
        )
    ]
    sent += [event(f"x{n}", user_id="gil", account_id="acme", occurred_at="2026-04-05T12:00:00Z") for n in range(4)]
    assert ingest(database.app, found, load_book(database.app, "metered"), body(sent)).accepted == len(sent)
    return found


def _april(database: Database, tenant: TenantContext) -> list[Revenue]:
    with read_only(database.app, tenant.tenant) as connection:
        return earned_revenue(connection, tenant, date(2026, 4, 1), date(2026, 5, 1))


def test_requests_beyond_each_seats_allowance_are_charged_and_evals_are_none(
    database: Database, tenant: TenantContext
) -> None:
    """Five requests each: ann 3 beyond, bob of two seats 1, eve 3 after her trial and 1 of them beyond; cyd is comped, dan billed apart."""
    found = {one.user_id: one.amount for one in _april(database, tenant) if one.kind == "usage"}
    assert found == {"ann": to_minor("1.5"), "bob": to_minor("0.5"), "eve": to_minor("0.5")}


def test_a_pack_of_nobody_is_earned_in_the_month_in_which_its_last_day_ends(
    database: Database, tenant: TenantContext
) -> None:
    """`lapsed` ends with 30 April, `later` with 1 May, and what is unused of `kept` is never earned."""
    packs = {one.line_id: one.amount for one in _april(database, tenant) if one.kind == "credits"}
    assert {name: packs.get(name) for name in ("lapsed", "later", "kept")} == {
        "lapsed": to_minor("5"),
        "later": None,
        "kept": None,
    }


def test_a_pack_of_an_account_is_drawn_by_its_users(database: Database, tenant: TenantContext) -> None:
    """4 of 10 requests of 5.00."""
    (pack,) = [one for one in _april(database, tenant) if one.line_id == "drawn"]
    assert (pack.amount, pack.account_id, pack.user_id) == (to_minor("2"), "acme", None)


def test_a_refund_has_the_user_and_plan_of_its_line_and_a_line_the_account_of_its_subscription(
    database: Database, tenant: TenantContext
) -> None:
    lines = {one.line_id: (one.user_id, one.account_id, one.plan, one.amount) for one in _april(database, tenant)}
    assert lines["back"] == ("fay", None, "extra", to_minor("-3"))
    assert lines["billed"] == ("dan", "beta", "metered", to_minor("4"))


def test_what_is_given_back_of_a_pack_is_earned_as_the_pack_is_and_belongs_to_its_owner(
    database: Database, tenant: TenantContext
) -> None:
    """10 requests for 5, 4 used: 2 earned. 1 comes back of the 3 to be earned: nothing in April or ever after. A refund that names
    somebody else is still of the pack's owner."""
    pack = PACK | {"line_id": "bought", "user_id": "hal"}
    back = LINE | {"line_id": "bought-back", "kind": "refund", "amount": "-1", "refers_to": "bought", "user_id": "ida"}
    more = LINE | {"line_id": "bought-off", "kind": "discount", "amount": "-0.5", "refers_to": "bought"}
    assert import_rows(database.app, tenant, enumerate([pack, back, more])).rejected == []
    sent = [event(f"h{n}", user_id="hal", occurred_at="2026-04-01T12:00:00Z") for n in range(4)]
    assert ingest(database.app, tenant, load_book(database.app, "metered"), body(sent)).accepted == 4
    with read_only(database.app, tenant.tenant) as connection:
        spans = [(date(2026, 4, 1), date(2026, 5, 1)), (date(2026, 5, 1), date(2027, 5, 1))]
        found = [
            {one.line_id: (one.user_id, one.amount) for one in earned_revenue(connection, tenant, *span) if one.line_id}
            for span in spans
        ]
        of_one = earned_revenue(connection, tenant, *spans[0], subscriptions=[], owner=Owner("hal"))
    own = {"bought": ("hal", to_minor("2")), "bought-off": ("hal", to_minor("-0.2"))}
    assert {name: value for name, value in found[0].items() if name.startswith("bought")} == own
    assert [name for name in found[1] if name.startswith("bought")] == []
    assert {one.line_id: (one.user_id, one.amount) for one in of_one} == own


def test_a_plan_whose_price_of_a_later_month_meters_nothing_charges_no_overage_then(
    database: Database, tenant: TenantContext
) -> None:
    put_plan(database.app, tenant, "was-metered", kind="usage")
    allowance = {"unit": "requests", "included_units": 2, "unit_price": "0.50", "unit_per": 1}
    put_plan_price(database.app, tenant, "was-metered", price="10", effective_from="2026-01-01", **allowance)
    put_plan_price(database.app, tenant, "was-metered", price="50", effective_from="2026-04-01")
    put_plan_price(database.app, tenant, "was-metered", price="90", effective_from="2026-02-01", interval_months=12)
    given = {"starts_on": "2026-01-01", "monthly_price": 0, "revenue_from": "plan"}
    put_subscription(
        database.app, tenant, make_subscription(tenant, "s-joe", plan="was-metered", user_id="joe", **given)
    )
    sent = [
        event(f"j{month}{n}", user_id="joe", occurred_at=f"2026-{month:02}-10T12:00:00Z")
        for month in (3, 4)
        for n in range(5)
    ]
    assert ingest(database.app, tenant, load_book(database.app, "metered"), body(sent)).accepted == 10
    with read_only(database.app, tenant.tenant) as connection:
        months = [earned_revenue(connection, tenant, date(2026, m, 1), date(2026, m + 1, 1)) for m in (3, 4)]
    usage = [[one.amount for one in month if one.kind == "usage" and one.user_id == "joe"] for month in months]
    assert usage == [[to_minor("1.5")], []]


def test_two_subscriptions_of_one_plan_charge_a_user_once_on_any_days_of_the_month(
    database: Database, tenant: TenantContext
) -> None:
    """Five requests on the 10th, 2 + 2 included: 1 beyond, charged by the first; `s-kim-1` ends on the 15th, and so nothing after."""
    given = {"starts_on": "2026-01-01", "monthly_price": 0, "revenue_from": "plan", "plan": "metered", "user_id": "kim"}
    for number, changed in enumerate(({"ends_on": "2026-04-15"}, {"starts_on": "2026-02-01"}), 1):
        put_subscription(database.app, tenant, make_subscription(tenant, f"s-kim-{number}", **given | changed))
    days = (10, 10, 10, 10, 10, 20, 20)
    sent = [event(f"k{n}", user_id="kim", occurred_at=f"2026-04-{day}T12:00:00Z") for n, day in enumerate(days)]
    assert ingest(database.app, tenant, load_book(database.app, "metered"), body(sent)).accepted == 7
    with read_only(database.app, tenant.tenant) as connection:
        cuts = [date(2026, 4, 1), date(2026, 4, 12), date(2026, 4, 18), date(2026, 5, 1)]
        parts = [earned_revenue(connection, tenant, *pair) for pair in pairwise(cuts)]
    usage = [
        [(one.subscription_id, one.amount) for one in part if one.kind == "usage" and one.user_id == "kim"]
        for part in parts
    ]
    assert usage == [[("s-kim-1", to_minor("0.5"))], [], [("s-kim-2", to_minor("1"))]]
