"""Is every wrong value in an export of Stripe's refused with the field and the value, and never guessed?"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from accounting.errors import InvalidInput
from accounting.revenue.stripe_credits import PaidGrants
from accounting.revenue.stripe_fields import Skipped
from accounting.revenue.stripe_import import import_objects
from accounting.revenue.stripe_objects import credit_note_lines, fee_line, invoice_lines, void_lines
from accounting.revenue.stripe_subscription import make_stripe_subscription
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.accounting.revenue.test_stripe import APRIL, MAY, invoice, line
from tests.accounting.revenue.test_stripe_credits import APPLIED, GRANT, lines
from tests.conftest import Database

PAID = [{"amount": 100, "type": "credit_balance_transaction"}]
TAXED = [{"amount": 1900, "tax_behavior": "inclusive"}]
INVOICE = invoice(
    line(
        "il_1",
        11_900,
        proration=False,
        subscription="sub_1",
        parent={"type": "subscription_item_details", "subscription_item_details": {"proration": False}},
        taxes=TAXED,
        discount_amounts=[{"amount": 1000}],
        pretax_credit_amounts=PAID,
        price={"recurring": {"usage_type": "metered"}, "metadata": {"plan": "pro"}},
        metadata={"user_id": "ann"},
    ),
    parent={"subscription_details": {"subscription": "sub_1", "metadata": {"account_id": "acc"}}},
    status_transitions={"finalized_at": APRIL, "voided_at": MAY},
)
NOTE = {
    "object": "credit_note",
    "id": "cn_1",
    "status": "issued",
    "currency": "usd",
    "created": APRIL,
    "effective_at": APRIL,
    "invoice": "in_1",
    "customer": "cus_1",
    "lines": {
        "data": [
            {
                "id": "cnli_1",
                "amount": 2090,
                "discount_amount": 100,
                "invoice_line_item": "il_1",
                "taxes": [{"amount": 190, "tax_behavior": "inclusive"}],
                "pretax_credit_amounts": PAID,
            }
        ]
    },
}
FEE = {
    "object": "balance_transaction",
    "id": "txn_1",
    "created": APRIL,
    "currency": "usd",
    "amount": 3000,
    "fee": 117,
    "reporting_category": "charge",
    "source": {"id": "ch_1", "customer": "cus_1"},
}
SUBSCRIPTION = {
    "object": "subscription",
    "id": "sub_1",
    "status": "active",
    "customer": "cus_1",
    "currency": "usd",
    "start_date": APRIL,
    "trial_end": APRIL,
    "ended_at": MAY,
    "metadata": {"user_id": "ann", "account_id": "acc", "plan": "pro"},
    "items": {
        "data": [
            {
                "quantity": 2,
                "price": {
                    "id": "price_1",
                    "lookup_key": "pro",
                    "recurring": {"interval": "month", "interval_count": 1},
                },
            }
        ]
    },
}
SELLER = TenantContext("sells", "UTC", "USD")

READERS: dict[str, tuple[dict[str, Any], Callable[[Any], object]]] = {
    "invoice": (INVOICE, lambda one: invoice_lines(one, "day")),
    "void": (INVOICE, lambda one: void_lines(one, "day")),
    "note": (NOTE, lambda one: credit_note_lines(one, "day")),
    "fee": (FEE, lambda one: fee_line(one, {})),
    "subscription": (SUBSCRIPTION, lambda one: make_stripe_subscription(SELLER, one, {"pro"}, {})),
    "moved": (APPLIED, lambda one: PaidGrants({"credgr_1": GRANT}, lines().get).line(one)),
    "grant": (GRANT, lambda one: PaidGrants({"credgr_1": one}, lines().get).line(APPLIED)),
}
STRANGE: tuple[Any, ...] = (None, "", "x", -1, 0, 1.5, 10**15, 10**30, [], {}, True, [None], ["x"], {"a": 1})


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else []):
        yield (*path, key)
        yield from _places(inner, (*path, key))


def _with(whole: Any, path: tuple[Any, ...], value: Any) -> Any:
    made = copy.deepcopy(whole)
    holder = made
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return made


@pytest.mark.parametrize("kind", READERS)
def test_whatever_stands_in_a_field_is_read_or_refused_by_name_and_breaks_nothing(kind: str) -> None:
    whole, read = READERS[kind]
    assert read(whole)
    refused = 0
    for path in _places(whole):
        for value in STRANGE:
            try:
                read(_with(whole, path, value))
            except (InvalidInput, Skipped):
                refused += 1
    assert refused > 0


@pytest.mark.parametrize(
    ("kind", "path", "value", "told"),
    [
        ("invoice", ("currency",), "USD", "currency='USD': a lower-case"),
        ("invoice", ("currency",), "usx", "currency='USX'"),
        ("invoice", ("currency",), "jpy", "currency='USD': a line of an invoice in JPY"),
        ("invoice", ("status",), "payed", "status='payed'"),
        ("invoice", ("lines", "data", 0, "amount"), 119.0, "amount=119.0: a whole number"),
        ("invoice", ("lines", "data", 0, "amount"), 10**14, "amount=100000000000000: must be below"),
        ("invoice", ("lines", "data", 0, "proration"), True, r"proration=\[False, True\]: line il_1 says both"),
        ("invoice", ("lines", "data", 0, "proration"), "yes", "proration='yes'"),
        ("invoice", ("lines", "data", 0, "period"), {"start": MAY, "end": APRIL}, f"period.end={APRIL}: line il_1"),
        ("invoice", ("lines", "data", 0, "period", "start"), APRIL * 1000, "period.start=.*seconds since 1970"),
        (
            "invoice",
            ("lines", "data", 0, "discount_amounts"),
            [{"amount": 10_001}],
            r"discount_amounts=\[10001\]: more",
        ),
        ("invoice", ("lines", "data", 0, "discount_amounts"), [{"amount": -1}], r"discount_amounts=\[-1\]"),
        ("invoice", ("lines", "data", 0, "metadata"), {"user_id": 7}, "metadata.user_id=7"),
        ("invoice", ("customer",), 7, "customer=7"),
        ("note", ("lines", "data", 0, "amount"), 200, "amount=200: cnli_1 gives back less than nothing"),
        ("note", ("lines", "data", 0, "amount"), -1, "amount=-1"),
        ("note", ("lines", "data", 0, "discount_amount"), 1901, "gives back less than nothing"),
        ("fee", ("fee",), "1.17", "fee='1.17'"),
        ("subscription", ("ended_at",), APRIL - 86_400, "ended_at=.*sub_1 starts on 2026-04-01"),
        ("subscription", ("trial_end",), APRIL - 86_400, "trial_until='2026-03-31': must not be before"),
        ("subscription", ("items", "data", 0, "quantity"), -1, "quantity=-1"),
        ("subscription", ("items", "data", 0, "quantity"), 0, "quantity=0"),
        ("subscription", ("items", "data", 0, "price", "recurring", "interval"), "week", "interval='week'"),
        ("subscription", ("items", "data", 0, "price", "recurring", "interval_count"), 0, "interval_count=0"),
        ("subscription", ("currency",), "eur", "currency='EUR': the tenant books in USD"),
        ("subscription", ("metadata", "user_id"), None, "user_id=None: sub_1: neither its metadata nor its customer"),
    ],
)
def test_what_can_not_be_is_refused_with_field_and_value(
    kind: str, path: tuple[Any, ...], value: Any, told: str
) -> None:
    whole, read = READERS[kind]
    with pytest.raises(InvalidInput, match=told):
        read(_with(whole, path, value))


def test_a_coupon_may_take_off_all_of_a_line_and_as_much_of_a_proration_that_gives_back() -> None:
    for amount in (1000, -1000):
        free = line("il_1", amount, discount_amounts=[{"amount": amount}])
        assert sum(one.amount for one in invoice_lines(invoice(free), "day")) == 0
        beyond = line("il_1", amount, discount_amounts=[{"amount": amount + (1 if amount > 0 else -1)}])
        with pytest.raises(InvalidInput, match="discount_amounts"):
            invoice_lines(invoice(beyond), "day")


def test_a_subscription_that_ended_on_its_first_day_was_never_used() -> None:
    with pytest.raises(Skipped, match="ended on its first day"):
        make_stripe_subscription(SELLER, SUBSCRIPTION | {"ended_at": APRIL + 60, "trial_end": None}, {"pro"}, {})


@pytest.fixture(scope="module")
def tenant(database: Database) -> TenantContext:
    create_tenant(database.owner, "wrong", "Wrong")
    return context(database.app, "wrong")


def _note(name: str, amount: int, **more: Any) -> dict[str, Any]:
    return {
        "object": "credit_note",
        "id": name,
        "currency": "usd",
        "created": APRIL,
        "invoice": "in_1",
        "lines": {"data": [{"id": f"{name}_line", "amount": amount, "invoice_line_item": "il_1"} | more]},
    }


@pytest.mark.storage
def test_a_credit_note_beyond_its_invoice_is_refused_in_the_same_file_and_in_a_later_one(
    database: Database, tenant: TenantContext
) -> None:
    """30.00 billed: 20.00 are given back, 10.01 more are too much, 10.00 are not."""
    sold = invoice(line("il_1", 3000))
    first = import_objects(database.app, tenant, [_note("cn_0", 3001), sold, _note("cn_1", 2000)])
    assert [(one["line"], one["field"], one["value"]) for one in first.rejected] == [(1, "amount", "30.01")]
    assert first.rejected[0]["reason"] == "credit note cn_0: of line il_1 30 are left to give back"
    second = import_objects(database.app, tenant, [_note("cn_2", 1001), _note("cn_1", 2000), _note("cn_3", 1000)])
    assert (second.accepted, second.duplicates) == (1, 1)
    assert [(one["line"], one["value"]) for one in second.rejected] == [(1, "10.01")]


@pytest.mark.storage
def test_an_invoice_without_a_customer_is_kept_as_unmatched(database: Database, tenant: TenantContext) -> None:
    found = import_objects(database.app, tenant, [invoice(line("il_n", 500), id="in_n", customer=None)])
    assert (found.accepted, found.unmatched, found.rejected) == (1, ["il_n"], [])


@pytest.mark.storage
def test_one_id_with_two_contents_in_one_file_is_a_conflict(database: Database, tenant: TenantContext) -> None:
    twice = [invoice(line("il_t", amount), id="in_t") for amount in (500, 600, 500)]
    found = import_objects(database.app, tenant, twice)
    assert (found.accepted, found.duplicates, found.conflicts) == (1, 1, ["il_t"])


@pytest.mark.storage
@pytest.mark.parametrize(
    "strange",
    [{"object": "customer"}, {"object": "customer", "id": "c", "metadata": {"user_id": ["x"]}}],
)
def test_a_customer_that_can_not_be_is_refused(
    database: Database, tenant: TenantContext, strange: dict[str, Any]
) -> None:
    found = import_objects(
        database.app, tenant, [strange | {"metadata": {"user_id": "ann"} | strange.get("metadata", {})}]
    )
    assert [one["field"] for one in found.rejected] == ["metadata.user_id" if "id" in strange else "id"]


@pytest.mark.storage
@pytest.mark.parametrize(
    ("charge", "field"),
    [
        ({"id": ["x"], "customer": "cus_1"}, "id"),
        ({"id": {"a": 1}, "customer": "cus_1"}, "id"),
        ({"id": "ch_1", "customer": 17}, "customer"),
    ],
)
def test_a_bad_charge_is_rejected_by_its_field_and_costs_no_other_object(
    database: Database, tenant: TenantContext, charge: dict[str, Any], field: str
) -> None:
    found = import_objects(database.app, tenant, [{"object": "charge"} | charge, FEE | {"id": f"txn_{field}_{charge}"}])
    assert [(row["line"], row["field"]) for row in found.rejected] == [(1, field)]
    assert found.accepted == 1


def test_charges_in_any_shape_do_no_harm(database: Database, tenant: TenantContext) -> None:
    charges = [{"object": "charge"}, {"object": "charge", "id": "ch_1", "customer": {"id": "cus_9"}}]
    found = import_objects(database.app, tenant, [*charges, FEE | {"id": "txn_9", "source": "ch_1"}])
    assert (found.accepted, found.rejected) == (1, [])
