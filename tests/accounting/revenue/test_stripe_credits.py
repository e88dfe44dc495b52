"""Is what was paid for a credit grant earned as its credits are used, expire or become void, and not before?

The grant of these tests holds 100.00 and was sold for 80.00 on 1 April 2026: a credit of 1.00 earns 0.80.
"""

from __future__ import annotations

from datetime import date
from itertools import pairwise
from typing import Any

import pytest

from accounting.errors import InvalidInput
from accounting.money import format_plain, from_minor, to_minor
from accounting.revenue.earned import earned_revenue
from accounting.revenue.recognition import Line
from accounting.revenue.stripe_credits import credit_line
from accounting.revenue.stripe_fields import Skipped
from accounting.revenue.stripe_import import import_objects
from accounting.revenue.stripe_objects import invoice_lines
from accounting.storage.engine import read_only
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.accounting.revenue.test_stripe import APRIL, MAY, invoice, line
from tests.conftest import Database

JUNE, JULY = 1_780_272_000, 1_782_864_000
"""1 June and 1 July 2026, UTC."""
GRANT = {
    "object": "billing.credit_grant",
    "id": "credgr_1",
    "category": "paid",
    "amount": {"type": "monetary", "monetary": {"currency": "usd", "value": 10_000}},
}
IN_EURO = GRANT | {"amount": {"type": "monetary", "monetary": {"currency": "eur", "value": 10_000}}}
SOLD = invoice(line("il_sale", 8_000, metadata={"credit_grant": "credgr_1"}), id="in_sale")
CREDITS = [{"amount": 3_000, "type": "credit_balance_transaction", "credit_balance_transaction": "cbtxn_used"}]
USED = invoice(
    line("il_use", 5_000, period={"start": MAY, "end": JUNE}, pretax_credit_amounts=CREDITS),
    id="in_use",
    status_transitions={"finalized_at": JUNE},
)


def movement(name: str, kind: str, value: int, at: int, currency: str = "usd", **more: Any) -> dict[str, Any]:
    way = "credit" if kind in ("credits_granted", "credits_application_invoice_voided") else "debit"
    amount = {"type": "monetary", "monetary": {"currency": currency, "value": value}}
    return {
        "object": "billing.credit_balance_transaction",
        "id": name,
        "type": way,
        "credit_grant": "credgr_1",
        "effective_at": at,
        way: {"type": kind, "amount": amount, kind: more},
    }


APPLIED = movement("cbtxn_used", "credits_applied", 3_000, JUNE, invoice="in_use", invoice_line_item="il_use")
EXPIRED = movement("cbtxn_end", "credits_expired", 7_000, JUNE)


def lines() -> dict[str, Line]:
    return {one.line_id: one for one in [*invoice_lines(SOLD, "day"), *invoice_lines(USED, "day")]}


def credited(moved: dict[str, Any], grant: dict[str, Any] = GRANT) -> Line:
    return credit_line(moved, {"credgr_1": grant}, lines().get)


def test_a_sale_of_credits_is_deferred_whole() -> None:
    found = [(one.line_id, one.amount, one.starts_at) for one in invoice_lines(SOLD, "day")]
    assert found == [("il_sale", to_minor("80"), None), ("deferred:credgr_1", to_minor("-80"), None)]


def test_what_defers_the_price_of_a_subscription_is_no_subscription() -> None:
    [sale, deferred] = invoice_lines(
        invoice(line("il_sub", 8_000, subscription="sub_1", metadata={"credit_grant": "credgr_1"})), "day"
    )
    assert (sale.kind, deferred.kind) == ("subscription", "one_off")


def test_applied_credits_earn_their_price_over_the_period_of_the_line_they_pay_for() -> None:
    found, use = credited(APPLIED), lines()["il_use"]
    assert (found.kind, found.amount, found.line_id) == ("discount", to_minor("24"), "cbtxn_used")
    assert (found.starts_at, found.ends_at, found.customer_id) == (use.starts_at, use.ends_at, "cus_1")


@pytest.mark.parametrize("kind", ["credits_expired", "credits_voided"])
def test_credits_that_end_unused_earn_what_was_paid_for_them_on_that_day(kind: str) -> None:
    found = credited(movement("cbtxn_end", kind, 7_000, JUNE))
    assert (found.kind, found.amount, found.starts_at) == ("one_off", to_minor("56"), None)
    assert found.booked_at.timestamp() == JUNE


def test_an_application_that_is_undone_takes_back_what_it_earned() -> None:
    undone = movement("cbtxn_back", "credits_application_invoice_voided", 3_000, JULY, invoice_line_item="il_use")
    found = credited(undone)
    assert (found.kind, found.amount, found.refers_to) == ("refund", to_minor("-24"), "il_use")
    assert found.booked_at.timestamp() == JULY


def test_promotional_credits_and_the_granting_itself_earn_nothing() -> None:
    with pytest.raises(Skipped, match="promotional credits"):
        credited(APPLIED, GRANT | {"category": "promotional"})
    with pytest.raises(Skipped, match="credits granted"):
        credited(movement("cbtxn_0", "credits_granted", 10_000, APRIL))


@pytest.mark.parametrize(
    ("moved", "grant", "told"),
    [
        (APPLIED | {"credit_grant": "credgr_2"}, GRANT, "credit_grant='credgr_2'.*neither expanded nor in this file"),
        (APPLIED, GRANT | {"category": "gift"}, "category='gift'"),
        (APPLIED | {"credit_grant": GRANT | {"id": "credgr_3"}}, GRANT, "credit_grant='credgr_3'.*what was paid"),
        (movement("c", "credits_applied", 1, JUNE, invoice_line_item="il_9"), GRANT, "invoice_line_item='il_9'"),
        (movement("c", "credits_expired", 10_001, JUNE), GRANT, "value=10001.*which holds 10000"),
        (movement("c", "credits_expired", 0, JUNE), GRANT, "value=0"),
        (movement("c", "credits_expired", 1, JUNE, currency="eur"), GRANT, "currency='EUR'.*sold in USD"),
        (movement("c", "credits_expired", 1, JUNE), IN_EURO, "sold in USD"),
    ],
)
def test_what_contradicts_is_refused_with_field_and_value(
    moved: dict[str, Any], grant: dict[str, Any], told: str
) -> None:
    with pytest.raises(InvalidInput, match=told):
        credited(moved, grant)


def test_all_credits_of_a_grant_may_end() -> None:
    assert credited(movement("c", "credits_expired", 10_000, JUNE)).amount == to_minor("80")


@pytest.fixture(scope="module")
def tenant(database: Database) -> TenantContext:
    create_tenant(database.owner, "credited", "USD", "UTC")
    return context(database.app, "credited")


@pytest.mark.storage
def test_a_paid_grant_earns_nothing_when_sold_and_all_of_its_price_by_its_end(
    database: Database, tenant: TenantContext
) -> None:
    """April 0; May 50.00 of use - 30.00 by credits + 24.00 = 44.00; June the 56.00 of 70.00 that expire: 100.00 = 80.00 + 20.00 billed."""
    import_objects(database.app, tenant, [GRANT, SOLD])
    found = import_objects(database.app, tenant, [EXPIRED, APPLIED, GRANT, USED])
    assert (found.accepted, found.rejected) == (4, [])
    assert import_objects(database.app, tenant, [EXPIRED, APPLIED, GRANT, USED]).duplicates == 4
    months = [date(2026, month, 1) for month in (4, 5, 6, 7)]
    with read_only(database.app, tenant.tenant) as connection:
        earned = [sum(one.amount for one in earned_revenue(connection, tenant, *pair)) for pair in pairwise(months)]
    assert [format_plain(from_minor(amount)) for amount in earned] == ["0", "44", "56"]
