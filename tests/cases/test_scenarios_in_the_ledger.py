"""Which scenarios of the data set are about what is stored and reported? Days of a zone, repeated and late deliveries, coverage."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from sqlalchemy import event as hooks
from sqlalchemy import text

from accounting.ledger import rollups
from accounting.ledger.check import check, differences
from accounting.ledger.first_charge import rate_input
from accounting.ledger.read import charge_of
from accounting.money import format_plain
from accounting.pipeline import IngestResult, ingest, ingest_wire
from accounting.pricing.charge import charge
from accounting.pricing.rate import rate
from accounting.reports import ReportQuery, run
from accounting.storage.engine import engine_for, transaction
from accounting.storage.tariffs import write_tariffs
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from accounting.usage.columns import prepare
from accounting.usage.wire import Context
from tests.api.serving import make_keys, running
from tests.cases.book import price_book
from tests.cases.metered import TARIFF, costing, metered_book
from tests.cases.rows import cases, row
from tests.conftest import Database
from tests.events import body, event

pytestmark = pytest.mark.storage

BOOK = metered_book()
Tenant = Callable[..., TenantContext]


@pytest.fixture(scope="module", autouse=True)
def _tariff(database: Database) -> None:
    """The stored row of the model that scenarios are metered with."""
    with database.owner.begin() as connection:
        write_tariffs(connection, [TARIFF], [])


@pytest.fixture
def tenant(database: Database, request: pytest.FixtureRequest) -> Tenant:
    """Makes a tenant with a reporting zone."""

    def make(reporting_tz: str = "UTC") -> TenantContext:
        name = f"t{abs(hash(request.node.name)) % 10**12}"
        create_tenant(database.owner, name, name, reporting_tz)
        return context(database.app, name)

    return make


def _send(database: Database, owner: TenantContext, *events: dict[str, Any]) -> IngestResult:
    return ingest(database.app, owner, BOOK, body(events))


def _ledger(database: Database, owner: TenantContext) -> Any:
    """Sums of all ledger lines."""
    query = "SELECT sum(events) AS events, sum(uncached_input_tokens) AS input, sum(output_tokens) AS output, "
    query += "coalesce(sum(effective_cost), 0) AS cost FROM ledger WHERE tenant = :tenant"
    with transaction(database.app, owner.tenant) as connection:
        return connection.execute(text(query), {"tenant": owner.tenant}).one()


def _usd(amount: Decimal) -> str:
    return format_plain(Decimal(amount))


@cases("L1", "L3")
def test_local_days(database: Database, tenant: Tenant, case_id: str) -> None:
    """Days asked one by one add up to the range; what lies outside them is in neither."""
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    owner = tenant(scenario["timezone"])
    events = scenario["events"]
    _send(database, owner, *(costing(one["cost_usd"], str(at), one["time"]) for at, one in enumerate(events)))
    first, last = (date.fromisoformat(scenario[name]) for name in ("from_local_day", "to_local_day"))
    days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    whole = _by_day(database, owner, first, last + timedelta(days=1))
    assert whole == expected["by_day_usd"]
    assert {k: v for day in days for k, v in _by_day(database, owner, day, day + timedelta(days=1)).items()} == whole
    assert _usd(sum(map(Decimal, whole.values()), Decimal(0))) == expected["range_total_usd"]


def _by_day(database: Database, owner: TenantContext, start: date, end: date) -> dict[str, str]:
    query = ReportQuery.parse(start.isoformat(), end.isoformat(), owner.reporting_tz, "day")
    [total] = run(database.app, owner, "cost-of-revenue", query).totals[-1:]
    return {name: _usd(value) for name, value in total.items() if name[:4].isdigit()}


@cases("L5")
def test_an_event_belongs_to_one_month_of_the_zone(database: Database, tenant: Tenant, case_id: str) -> None:
    """By charge period: a statement has one column a local month. The events cost 1, 2 and 4, so that a sum says which are in it."""
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    owner = tenant(scenario["timezone"])
    costs = dict(zip(("e1", "e2", "e3"), ("1", "2", "4"), strict=True))
    _send(database, owner, *(costing(costs[one["id"]], one["id"], one["time"]) for one in scenario["events"]))
    query = ReportQuery.parse("2026-03-01", "2026-05-01", owner.reporting_tz)
    report = run(database.app, owner, "cost-of-revenue", query)
    months = [column.name for column in report.columns if column.name[:4].isdigit()]
    assert months == ["2026-03", "2026-04"]
    total = report.totals[-1]
    assert {month: _usd(total[month]) for month in months} == {"2026-03": "1", "2026-04": "6"}
    assert expected["period_of"] == {"e1": "2026-03", "e2": "2026-04", "e3": "2026-04"}
    assert [months.count(month) for month in months] == [expected["invoices_per_period"]] * 2


def _gateway(response_id: str, priced: dict[str, Any], counts: dict[str, int]) -> tuple[str, dict[str, Any]]:
    prompt, completion = counts["uncached_input_tokens"], counts["output_tokens"]
    return "litellm", {
        "id": response_id,
        "call_type": "acompletion",
        "custom_llm_provider": "openai",
        "status": "success",
        "model": priced["model"],
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "metadata": {"usage_object": {"prompt_tokens": prompt, "completion_tokens": completion}},
    }


def _sdk(response_id: str, priced: dict[str, Any], counts: dict[str, int]) -> tuple[str, dict[str, Any]]:
    texts = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": priced["model"],
        "gen_ai.response.id": response_id,
    }
    numbers = {
        "gen_ai.usage.input_tokens": counts["uncached_input_tokens"],
        "gen_ai.usage.output_tokens": counts["output_tokens"],
    }
    attributes: list[dict[str, Any]] = [{"key": key, "value": {"stringValue": value}} for key, value in texts.items()]
    attributes += [{"key": key, "value": {"intValue": str(value)}} for key, value in numbers.items()]
    span = {"traceId": "1" * 32, "spanId": "2" * 16, "name": "chat", "attributes": attributes}
    return "otlp", {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


@cases("M4")
@pytest.mark.parametrize("turn", [1, -1], ids=["as_received", "in_reverse"])
def test_a_call_logged_by_gateway_and_sdk_counts_once(
    database: Database, tenant: Tenant, case_id: str, turn: int
) -> None:
    case, expected = row(case_id), row(case_id)["expected"]
    owner = tenant()
    assert case["scenario"]["identity"] == "response_id"
    at = datetime.fromisoformat(case["event_time"])
    for one in case["scenario"]["events"][::turn]:
        priced = {"id": case["id"], "provider": "openai", "model": one["model"], "prices": case["prices"]}
        name, sent = (_gateway if one["source"] == "gateway" else _sdk)(one["response_id"], priced, one)
        result = ingest_wire(database.app, owner, price_book(priced, None), name, [(sent, Context(occurred_at=at))])
        assert (result.rejected, result.exceptions) == ([], [])
    found = _ledger(database, owner)
    answer = {
        "calls": found.events,
        "uncached_input_tokens": found.input,
        "output_tokens": found.output,
        "cost_usd": _usd(found.cost),
    }
    assert answer == expected


@cases("M6", "M8")
def test_an_id_made_of_subject_meter_and_window_counts_a_repeat_once(
    database: Database, tenant: Tenant, case_id: str
) -> None:
    """Bodies without an id: user, model, time and counts make one, so a repeat meets itself and another window does not."""
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    owner = tenant()
    accepted = 0
    for one in scenario.get("emissions", scenario.get("groups")):
        usage = {"prompt_tokens": 0, "completion_tokens": one["value"], "total_tokens": one["value"]}
        sent = {"object": "chat.completion", "model": one["meter"], "choices": [], "usage": usage}
        given = Context(occurred_at=datetime.fromisoformat(one["window_start"]), user_id=one["subject"])
        accepted += ingest_wire(database.app, owner, BOOK, "openai_chat", [(sent, given)]).accepted
    events = expected.get("events", expected.get("groups"))
    found = _ledger(database, owner)
    assert (accepted, found.events, found.output) == (events, events, expected["value"])


@cases("M7")
def test_a_request_sent_again_is_stored_once(database: Database, case_id: str) -> None:
    """The data set leaves the second answer open between 200, 202 and 208; ours are both 200, as both are known to be kept."""
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    keys = make_keys(database, "again")
    with running(database) as server, server.client(keys["ingest"]) as client:
        sent = [
            event(one["idempotency_key"], usage={"input_tokens": 0, "output_tokens": one["value"]})
            for one in scenario["requests"]
        ]
        answers = [client.post("/v1/usage/events", json=one) for one in sent]
    assert [answer.status_code in (200, 202, 208) for answer in answers] == [True] * len(expected["http_status"])
    found = _ledger(database, context(database.app, "again"))
    assert (found.events, found.output) == (expected["stored_events"], expected["total_value"])


@cases("M9")
def test_a_request_delivered_twice_raises_a_rollup_once(database: Database, tenant: Tenant, case_id: str) -> None:
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    owner = tenant()
    for one in scenario["deliveries"]:
        _send(
            database,
            owner,
            costing(one["cost_usd"], one["request_id"], row(case_id)["event_time"], account_id=one["team"]),
        )
    assert _by_account(database, owner) == expected["rollup_usd"]
    assert _usd(_ledger(database, owner).cost) == expected["ledger_total_usd"]
    with transaction(database.app, owner.tenant) as connection:
        rollups.rebuild(connection, owner.tenant, owner.reporting_tz)
    assert _by_account(database, owner) == expected["rollup_usd"]
    assert (differences(check(database.app, owner)) == []) is expected["rebuilt_equals_rollup"]


def _by_account(database: Database, owner: TenantContext) -> dict[str, str]:
    query = "SELECT account_id, sum(effective_cost) FROM rollup_user_day WHERE tenant = :tenant GROUP BY 1 ORDER BY 1"
    with transaction(database.app, owner.tenant) as connection:
        return {name: _usd(cost) for name, cost in connection.execute(text(query), {"tenant": owner.tenant})}


@contextmanager
def _failing_commits(database: Database) -> Iterator[None]:
    """The server itself refuses every commit that books an event, after all its rows are written."""
    url = database.superuser_url.replace("+psycopg", "")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION refuse_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no commit'; END $$"
        )
        connection.execute(
            "CREATE CONSTRAINT TRIGGER refuse_commit AFTER INSERT ON event_ids DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION refuse_commit()"
        )
        try:
            yield
        finally:
            connection.execute("DROP TRIGGER refuse_commit ON event_ids")
            connection.execute("DROP FUNCTION refuse_commit")


@cases("M10")
def test_a_batch_whose_commit_failed_is_whole_after_the_retry(database: Database, tenant: Tenant, case_id: str) -> None:
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    assert scenario["steps"] == ["write_batch", "commit_fails", "retry", "commit_ok"]
    owner = tenant()
    events = [costing(one["cost_usd"], one["id"], row(case_id)["event_time"]) for one in scenario["sent"]]
    with _failing_commits(database), pytest.raises(psycopg.errors.RaiseException, match="no commit"):
        _send(database, owner, *events)
    assert _ledger(database, owner).events is None
    assert _send(database, owner, *events).accepted == expected["stored_events"]
    found = _ledger(database, owner)
    assert (found.events, _usd(found.cost)) == (expected["stored_events"], expected["ledger_total_usd"])


@cases("M12")
def test_accepted_is_what_is_counted_refused_and_held(database: Database, tenant: Tenant, case_id: str) -> None:
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
def test_each_user_of_a_shared_key_pays_for_their_own(database: Database, tenant: Tenant, case_id: str) -> None:
    case, expected = row(case_id), row(case_id)["expected"]
    owner = tenant()
    events = case["scenario"]["events"]
    _send(
        database,
        owner,
        *(
            costing(one["cost_usd"], str(at), case["event_time"], user_id=one["end_user"], tags={"key": one["key"]})
            for at, one in enumerate(events)
        ),
    )
    report = run(database.app, owner, "user-margin", ReportQuery.parse("2026-06-16", "2026-06-17", "UTC"))
    found = {
        line["user_id"] or "unattributed": _usd(line["effective_cost"])
        for line in report.rows
        if line["row"] in ("user", "no_user")
    }
    assert found == expected["by_user_usd"]
    assert _usd(report.totals[-1]["effective_cost"]) == expected["total_usd"]


@cases("M17")
def test_a_report_is_of_one_moment_however_it_is_paged(database: Database, tenant: Tenant, case_id: str) -> None:
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
    assert (_usd(sum(sums, Decimal(0))), len(report.rows)) == (expected["sum_of_pages_usd"], expected["rows"])
    assert {line.name: _usd(line.amount) for line in report.footer}["difference"] == "0"
    assert _usd(run(database.app, owner, "cost-of-revenue", query).totals[-1]["effective_cost"]) == "85"


@cases("N3")
def test_cents_are_rounded_once_at_the_end(database: Database, tenant: Tenant, case_id: str) -> None:
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    owner, at = tenant(), row(case_id)["event_time"]
    _send(database, owner, *(costing(scenario["per_event_usd"], str(n), at) for n in range(scenario["events"])))
    report = run(database.app, owner, "cost-of-revenue", ReportQuery.parse("2026-04-03", "2026-04-04", "UTC"))
    assert _usd(report.totals[-1]["effective_cost"]) == expected["total_usd"]
    [total] = [line for line in report.to_table().splitlines() if line.startswith("total ")]
    assert total.split()[-2] == expected["shown_usd"]


@cases("J9")
def test_live_answer_ledger_rollup_and_export_say_the_same(database: Database, tenant: Tenant, case_id: str) -> None:
    case, expected = row(case_id), row(case_id)["expected"]
    priced = {"id": case["id"], "provider": "acme", "model": "acme-chat", "prices": case["prices"]}
    book, owner = price_book(priced, None), tenant()
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
        "ledger_row": _usd(_ledger(database, owner).cost),
        "rollup": _usd(report.totals[-1]["effective_cost"]),
        "export": exported["effective_cost"],
    }
    assert written == dict.fromkeys(case["scenario"]["writers"], expected["cost_usd"])
    assert charge_of(database.app, owner, "live") == live
    assert (live["status"], expected["all_writers_equal"]) == (expected["status"], True)
