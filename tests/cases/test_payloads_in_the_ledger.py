"""Is a case's payload, sent to a real database, in the ledger, the exceptions list and the reports as the data set says?

What a body comes to is held against the case in test_payloads.py. Here is asked whether that same answer is what was stored.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import text

from accounting.ledger.check import check, differences
from accounting.ledger.exceptions import listed
from accounting.ledger.read import charge_of
from accounting.money import format_plain
from accounting.pipeline import IngestResult, ingest_wire
from accounting.reports import ReportQuery, run
from accounting.storage.engine import transaction
from accounting.storage.tariffs import write_tariffs
from accounting.storage.tenants import create_tenant
from accounting.tenant import TenantContext
from tests.cases.book import price_book
from tests.cases.normalised import context, received, wire_format
from tests.cases.outcome import Outcome, cost, outcome, tenant
from tests.cases.rows import Case, row
from tests.cases.test_payloads import PAYLOADS
from tests.conftest import Database

pytestmark = [pytest.mark.storage, pytest.mark.one_server]


def send(database: Database, case: Case, name: str) -> tuple[TenantContext, Outcome, IngestResult]:
    """The payload, into the books of a tenant of its own, at the case's prices."""
    found, owner = outcome(case), tenant(case, name)
    create_tenant(database.owner, name, case["id"])
    book = price_book(case)
    with database.owner.begin() as connection:
        write_tariffs(connection, book.rows, [])
    pairs = [(case["payload"], context(case))]
    return owner, found, ingest_wire(database.app, owner, book, wire_format(case), pairs, now=received(case))


@pytest.mark.parametrize("case_id", PAYLOADS)
def test_case_in_the_ledger(database: Database, case_id: str) -> None:
    case = row(case_id)
    owner, found, result = send(database, case, f"case{case_id.lower()}")
    assert (result.accepted, result.rejected, len(result.exceptions)) == (found.staged.num_rows, [], int(found.held))
    charges = [charge_of(database.app, owner, event_id) for event_id in found.column("event_id")]
    costs = [charge["effective_cost"] for charge in charges]
    booked = format_plain(sum(map(Decimal, costs), Decimal(0))) if costs and None not in costs else None
    assert booked == cost(found)
    assert _ledger(database, owner) == ([] if found.held else [(found.staged.num_rows, cost(found))])
    assert [charge["status"] for charge in charges] == found.column("charge_status")
    for charge in charges:
        assert {name: charge[name] for name in _reported(case)} == _reported(case)
    assert {row["reason"] for row in listed(database.app, owner)["exceptions"]} == _to_look_at(found)
    assert differences(check(database.app, owner)) == []


def _ledger(database: Database, owner: TenantContext) -> list[tuple[int, str | None]]:
    """(events, effective cost) of all lines, no row where there are none."""
    query = "SELECT sum(events), sum(effective_cost) FROM ledger WHERE tenant = :tenant HAVING count(*) > 0"
    with transaction(database.app, owner.tenant) as connection:
        lines = connection.execute(text(query), {"tenant": owner.tenant}).all()
    return [(int(events), None if amount is None else format_plain(amount)) for events, amount in lines]


def _reported(case: Case) -> dict[str, Any]:
    """What the case says of the provider's own figure."""
    return {
        name: case["expected"][name]
        for name in ("basis", "reported_cost_usd", "variance_usd")
        if name in case["expected"]
    }


def _to_look_at(found: Outcome) -> set[str]:
    return {suspended.reason for suspended in found.prepared.suspended} | {
        finding.reason for _, finding in found.prepared.findings
    }


@pytest.mark.parametrize(
    ("case_id", "status"), [("H5", "usage_missing"), ("I5", "usage_missing"), ("J3", "unpriced"), ("J10", "unpriced")]
)
def test_a_call_without_a_cost_counts_against_coverage(database: Database, case_id: str, status: str) -> None:
    case = row(case_id)
    owner, _, _ = send(database, case, f"cover{case_id.lower()}")
    day = case["event_time"][:10]
    report = run(
        database.app, owner, "cost-of-revenue", ReportQuery.parse(f"{day}T00:00:00Z", f"{day}T23:45:00Z", "UTC")
    )
    shares = {line["status"]: (line["events"], line["event_share"]) for line in report.coverage}
    nothing = dict.fromkeys(("priced", "unpriced", "pending_settlement", "usage_missing", "excepted"), (0, 0))
    assert shares == nothing | {status: (1, 100)}
    assert [total["effective_cost"] for total in report.totals] == [None] * len(report.totals)
