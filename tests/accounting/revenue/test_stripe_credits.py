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
from accounting.revenue.stripe_credits import PaidGrants
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
    return PaidGrants({"credgr_1": grant}, lines().get).line(moved)


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
    assert (found.kind, found.amount, found.line_id) == ("discount", to_minor("24"), "earned:credgr_1:cbtxn_used")
    assert (found.starts_at, found.ends_at, found.customer_id) == (use.starts_at, use.ends_at, "cus_1")


@pytest.mark.parametrize("kind", ["credits_expired", "credits_voided"])
def test_credits_that_end_unused_earn_what_was_paid_for_them_on_that_day(kind: str) -> None:
    found = credited(movement("cbtxn_end", kind, 7_000, JUNE))
    assert (found.kind, found.amount, found.starts_at) == ("one_off", to_minor("56"), None)
    assert found.booked_at.timestamp() == JUNE


def test_an_application_that_is_undone_takes_back_what_it_earned() -> None:
    undone = movement("cbtxn_back", "credits_application_invoice_voided", 3_000, JULY, invoice_line_item="il_use")
    grants = PaidGrants({"credgr_1": GRANT}, lines().get, [credited(APPLIED)])
    found = grants.line(undone)
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
        (
            movement("c", "credits_application_invoice_voided", 1, JUNE, invoice_line_item="il_use"),
            GRANT,
            "value=1: .*of which 0 of 10000",
        ),
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


def test_what_thirds_of_a_grant_earn_adds_up_to_its_price_to_the_last_digit() -> None:
    """0.03 of credits sold for 0.02: each 0.01 is two thirds of a cent, 6666666666666.67 of 10^-15; the second one earns a digit less."""
    grant = GRANT | {"amount": {"type": "monetary", "monetary": {"currency": "usd", "value": 3}}}
    sold = invoice(line("il_sale", 2, metadata={"credit_grant": "credgr_1"}), id="in_sale")
    grants = PaidGrants({"credgr_1": grant}, {one.line_id: one for one in invoice_lines(sold, "day")}.get)
    earned = [grants.line(movement(name, "credits_expired", 1, JUNE)).amount for name in "abc"]
    assert earned == [6_666_666_666_667, 6_666_666_666_666, 6_666_666_666_667]
    assert sum(earned) == to_minor("0.02")


def test_more_credits_than_are_left_do_not_move() -> None:
    grants = PaidGrants({"credgr_1": GRANT}, lines().get, [credited(APPLIED)])
    with pytest.raises(InvalidInput, match="value=7001: of grant credgr_1, of which 3000 of 10000 have moved"):
        grants.line(movement("c", "credits_expired", 7_001, JUNE))
    assert grants.line(EXPIRED).amount == to_minor("56")


def test_a_grant_that_was_given_for_nothing_earns_nothing() -> None:
    sold = invoice(line("il_sale", 0, metadata={"credit_grant": "credgr_1"}), id="in_sale")
    grants = PaidGrants({"credgr_1": GRANT}, {one.line_id: one for one in invoice_lines(sold, "day")}.get)
    assert grants.line(movement("c", "credits_expired", 10_000, JUNE)).amount == 0


@pytest.mark.parametrize(
    ("amount", "grant", "told"), [(-1, "credgr_1", "amount=-1: .*less than nothing"), (1, "a:b", "credit_grant='a:b'")]
)
def test_a_sale_that_can_not_be_one_is_refused(amount: int, grant: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        invoice_lines(invoice(line("il_sale", amount, metadata={"credit_grant": grant})), "day")


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


@pytest.mark.storage
def test_parts_of_a_grant_that_come_in_several_files_add_up_and_are_known_again(
    database: Database, tenant: TenantContext
) -> None:
    """0.07 of credits sold for 0.05, expired cent by cent: the file of the second half comes first, all of it once more at the end."""
    grant = GRANT | {"id": "credgr_7", "amount": {"type": "monetary", "monetary": {"currency": "usd", "value": 7}}}
    sold = invoice(line("il_7", 5, metadata={"credit_grant": "credgr_7"}), id="in_7")
    ends = [movement(f"cb_{n}", "credits_expired", 1, JUNE + n) | {"credit_grant": "credgr_7"} for n in range(7)]
    for objects in ([grant, sold, *ends[4:]], [grant, *ends[:4]]):
        assert import_objects(database.app, tenant, objects).rejected == []
    again = import_objects(database.app, tenant, [grant, sold, *reversed(ends)])
    assert (again.accepted, again.duplicates, again.conflicts, again.rejected) == (0, 9, [], [])
    more = import_objects(
        database.app, tenant, [grant, movement("cb_8", "credits_expired", 1, JUNE) | {"credit_grant": "credgr_7"}]
    )
    assert [(one["field"], one["reason"]) for one in more.rejected] == [
        ("amount.monetary.value", "of grant credgr_7, of which 7 of 7 have moved")
    ]
    with read_only(database.app, tenant.tenant) as connection:
        earned = earned_revenue(connection, tenant, date(2026, 6, 1), date(2026, 7, 1))
    parts = [one.amount for one in earned if (one.line_id or "").startswith("earned:credgr_7:")]
    assert (len(parts), sum(parts)) == (7, to_minor("0.05"))
