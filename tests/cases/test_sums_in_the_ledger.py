"""Which scenarios are about nothing being lost on the way to a figure? Accepted, attributed, at one moment, and the same everywhere."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import event as hooks
from sqlalchemy import text

from accounting.ledger.first_charge import rate_input
from accounting.ledger.read import charge_of
from accounting.pipeline import ingest, ingest_wire
from accounting.pricing.charge import charge
from accounting.pricing.rate import rate
from accounting.reports import ReportQuery, run
from accounting.storage.engine import engine_for, transaction
from accounting.storage.tariffs import write_tariffs
from accounting.usage.columns import prepare
from accounting.usage.wire import Context
from tests.cases.book import price_book
from tests.cases.metered import BOOK, MakeTenant, costing, ledger, metered_book, send, usd
from tests.cases.rows import cases, row
from tests.conftest import Database
from tests.events import body, event

pytestmark = [pytest.mark.storage, pytest.mark.one_server]


@cases("M12")
def test_accepted_is_what_is_counted_refused_and_held(database: Database, tenant: MakeTenant, case_id: str) -> None:
    """1,000 bodies in one request; what can't be booked is named one by one, what contradicts itself waits in the exceptions list."""
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    owner, at = tenant(), datetime.fromisoformat(row(case_id)["event_time"])
    refused, held = scenario["rejected"], scenario["in_suspense"]
    pairs = []
    for number in range(scenario["accepted"]):
        total = 99 if number < held else 100
        usage = {"prompt_tokens": 70, "completion_tokens": 30, "total_tokens": total}
        sent = {"id": f"r{number}", "object": "chat.completion", "model": "m", "choices": [], "usage": usage}
        ahead = timedelta(days=2) if held <= number < held + refused else timedelta()
        pairs.append((sent, Context(occurred_at=at + ahead)))
    result = ingest_wire(database.app, owner, BOOK, "openai_chat", pairs, now=at)
    assert (result.accepted, len(result.rejected), len(result.exceptions)) == (expected["aggregated"], refused, held)
    assert result.duplicates + len(result.conflicts) + result.aggregates == 0
    query = "SELECT sum(events) FROM rollup_15m WHERE tenant = :tenant"
    with transaction(database.app, owner.tenant) as connection:
        assert connection.execute(text(query), {"tenant": owner.tenant}).scalar_one() == expected["aggregated"]


@cases("M14")
def test_each_user_of_a_shared_key_pays_for_their_own(database: Database, tenant: MakeTenant, case_id: str) -> None:
    case, expected = row(case_id), row(case_id)["expected"]
    owner = tenant()
    events = case["scenario"]["events"]
    send(
        database,
        owner,
        *(
            costing(one["cost_usd"], str(at), case["event_time"], user_id=one["end_user"], tags={"key": one["key"]})
            for at, one in enumerate(events)
        ),
    )
    report = run(database.app, owner, "user-margin", ReportQuery.parse("2026-06-16", "2026-06-17", "UTC"))
    found = {
        line["user_id"] or "unattributed": usd(line["effective_cost"])
        for line in report.rows
        if line["row"] in ("user", "no_user")
    }
    assert found == expected["by_user_usd"]
    assert usd(report.totals[-1]["effective_cost"]) == expected["total_usd"]


@cases("M17")
def test_a_report_is_of_one_moment_however_it_is_paged(database: Database, tenant: MakeTenant, case_id: str) -> None:
    """A late event is committed while the report reads: after its first sums, before those it is checked by."""
    case, expected = row(case_id), row(case_id)["expected"]
    owner, scenario = tenant(), case["scenario"]
    late = scenario["arrives_between_page_1_and_2"]
    listed = {one["id"]: one["cost_usd"] for one in (*scenario["rows_at_start"], *late)}
    book = metered_book(*(f"m{number}" for number in listed))

    def book_events(rows: list[dict[str, Any]]) -> None:
        events = [costing(one["cost_usd"], str(one["id"]), case["event_time"], model=f"m{one['id']}") for one in rows]
        ingest(engine_for(database.app_url, 2), owner, book, body(events))

    book_events(scenario["rows_at_start"])
    arrived = False

    def arrive(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        nonlocal arrived
        if "rollup" in statement and not arrived:
            arrived = True
            book_events(late)

    query = ReportQuery.parse("2026-06-20", "2026-06-21", "UTC")
    hooks.listen(database.app, "after_cursor_execute", arrive)
    try:
        report = run(database.app, owner, "cost-of-revenue", query)
    finally:
        hooks.remove(database.app, "after_cursor_execute", arrive)
    assert arrived
    size = scenario["page_size"]
    pages = [report.rows[start : start + size] for start in range(0, len(report.rows), size)]
    sums = [sum((line["effective_cost"] for line in page), Decimal(0)) for page in pages]
    assert (usd(sum(sums, Decimal(0))), len(report.rows)) == (expected["sum_of_pages_usd"], expected["rows"])
    assert {line.name: usd(line.amount) for line in report.footer}["difference"] == "0"
    assert usd(run(database.app, owner, "cost-of-revenue", query).totals[-1]["effective_cost"]) == "85"


@cases("J9")
def test_live_answer_ledger_rollup_and_export_say_the_same(
    database: Database, tenant: MakeTenant, case_id: str
) -> None:
    case, expected = row(case_id), row(case_id)["expected"]
    priced = {"id": case["id"], "provider": "acme", "model": "acme-chat", "prices": case["prices"]}
    book, owner = price_book(priced), tenant()
    with database.owner.begin() as connection:
        write_tariffs(connection, book.rows, [])
    counts = case["scenario"]["usage"]
    usage = {"input_tokens": counts["uncached_input_tokens"], "output_tokens": counts["output_tokens"]}
    sent = body([event("live", provider="acme", model="acme-chat", occurred_at=case["event_time"], usage=usage)])
    given = rate_input(prepare(sent, ndjson=False, now=datetime.now(UTC)).batch)
    live = charge(book, given, rate(book, given), 0, "live")
    ingest(database.app, owner, book, sent)
    report = run(database.app, owner, "cost-of-revenue", ReportQuery.parse("2026-08-07", "2026-08-08", "UTC"))
    exported = next(line for line in csv.DictReader(io.StringIO(report.to_csv())) if line["row"] == "total")
    written = {
        "response_header": live["effective_cost"],
        "ledger_row": usd(ledger(database, owner).cost),
        "rollup": usd(report.totals[-1]["effective_cost"]),
        "export": exported["effective_cost"],
    }
    assert written == dict.fromkeys(case["scenario"]["writers"], expected["cost_usd"])
    assert charge_of(database.app, owner, "live") == live
    assert (live["status"], expected["all_writers_equal"]) == (expected["status"], True)
