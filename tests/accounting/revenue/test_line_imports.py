"""Are the good invoice lines of a CSV file booked and the bad ones named, with the field and the value?"""

from __future__ import annotations

import pytest

from accounting.revenue.line_imports import import_rows
from accounting.revenue.lines import list_lines
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.conftest import Database

pytestmark = pytest.mark.storage
GOOD = {"line_id": "l", "kind": "one_off", "amount": "1", "currency": "USD", "booked_on": "2026-04-01"}
PACK = GOOD | {"kind": "credits", "units": "10", "unit": "requests"}


@pytest.fixture(scope="module")
def tenant(database: Database) -> TenantContext:
    create_tenant(database.owner, "billed", "Billed")
    return context(database.app, "billed")


@pytest.mark.parametrize(
    ("row", "field", "value"),
    [
        (GOOD | {"": ["extra"]}, "line", ["extra"]),
        (GOOD | {"line_id": ""}, "line_id", ""),
        (GOOD | {"kind": "sale"}, "kind", "sale"),
        (GOOD | {"amount": "ten"}, "amount", "ten"),
        (GOOD | {"amount": "1000000000000"}, "amount", "1000000000000"),
        (GOOD | {"kind": "discount", "amount": "-1000000000000"}, "amount", "-1000000000000"),
        (GOOD | {"kind": "refund"}, "amount", "1"),
        (GOOD | {"kind": "discount"}, "amount", "1"),
        (GOOD | {"kind": "payment_fee", "amount": "-1"}, "amount", "-1"),
        (PACK | {"amount": "-1"}, "amount", "-1"),
        (GOOD | {"currency": "usd"}, "currency", "usd"),
        (GOOD | {"currency": "DOLLAR"}, "currency", "DOLLAR"),
        (GOOD | {"booked_on": "2026-02-30"}, "booked_on", "2026-02-30"),
        (GOOD | {"starts_on": "2026-04-01"}, "ends_on", None),
        (GOOD | {"starts_on": "2026-04-01", "ends_on": "2026-04-01"}, "ends_on", "2026-04-01"),
        (GOOD | {"starts_on": "2026-04-02", "ends_on": "2026-04-01"}, "ends_on", "2026-04-01"),
        (GOOD | {"recognition": "use"}, "recognition", "use"),
        (PACK | {"recognition": "day"}, "recognition", "day"),
        (PACK | {"units": "-10"}, "units", "-10"),
        (PACK | {"units": ""}, "units", None),
        (GOOD | {"units": "10"}, "units", "10"),
        (PACK | {"unit": "calls"}, "unit", "calls"),
        (GOOD | {"unit": "requests"}, "unit", "requests"),
    ],
)
def test_a_row_that_can_not_be_is_refused_by_name(
    database: Database, tenant: TenantContext, row: dict[str, str], field: str, value: object
) -> None:
    found = import_rows(database.app, tenant, [(7, row)])
    assert [(one["line"], one["field"], one["value"]) for one in found.rejected] == [(7, field, value)]
    assert found.accepted == 0


def test_a_refund_beyond_its_line_is_refused_wherever_it_stands_and_the_rest_is_booked(
    database: Database, tenant: TenantContext
) -> None:
    """30 less a coupon of 10 leave 20 to give back: 15 in this file, so that 6 of the next are too much and 5 are not."""
    bill = GOOD | {"line_id": "bill", "amount": "30"}
    coupon = GOOD | {"line_id": "coupon", "kind": "discount", "amount": "-10", "refers_to": "bill"}
    back = GOOD | {"kind": "refund", "refers_to": "bill"}
    rows = [back | {"line_id": "r1", "amount": "-15"}, bill, coupon, back | {"line_id": "r2", "amount": "-5.01"}]
    first = import_rows(database.app, tenant, enumerate(rows, start=2))
    assert first.accepted == 3
    assert [(one["line"], one["field"], one["value"]) for one in first.rejected] == [(5, "amount", "5.01")]
    assert "refund r2: of line bill 5 are left" in first.rejected[0]["reason"]
    more = [back | {"line_id": "r3", "amount": "-6"}, back | {"line_id": "r4", "amount": "-5"}, rows[0]]
    second = import_rows(database.app, tenant, enumerate(more, start=2))
    assert (second.accepted, second.duplicates, [one["value"] for one in second.rejected]) == (1, 1, ["6"])
    assert {"r1", "r4"} <= {one["line_id"] for one in list_lines(database.app, tenant, 100)}


def test_an_id_that_stands_twice_is_refused(database: Database, tenant: TenantContext) -> None:
    twice = GOOD | {"line_id": "twice"}
    found = import_rows(database.app, tenant, [(2, twice), (3, twice)])
    assert (found.accepted, [(one["line"], one["value"]) for one in found.rejected]) == (1, [(3, "twice")])
