"""Which scenarios are about the same usage arriving twice? By two observers, by retries, and by a commit that failed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import psycopg
import pytest
from sqlalchemy import text

from accounting.ledger import rollups
from accounting.ledger.check import check, differences
from accounting.pipeline import ingest_wire
from accounting.storage.engine import transaction
from accounting.storage.tenants import context
from accounting.tenant import TenantContext
from accounting.usage.wire import Context
from tests.api.serving import make_keys, running
from tests.cases.book import price_book
from tests.cases.metered import BOOK, MakeTenant, costing, ledger, send, usd
from tests.cases.rows import cases, row
from tests.conftest import Database
from tests.events import event

pytestmark = [pytest.mark.storage, pytest.mark.one_server]


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
    database: Database, tenant: MakeTenant, case_id: str, turn: int
) -> None:
    case, expected = row(case_id), row(case_id)["expected"]
    owner = tenant()
    assert case["scenario"]["identity"] == "response_id"
    at = datetime.fromisoformat(case["event_time"])
    for one in case["scenario"]["events"][::turn]:
        priced = {"id": case["id"], "provider": "openai", "model": one["model"], "prices": case["prices"]}
        name, sent = (_gateway if one["source"] == "gateway" else _sdk)(one["response_id"], priced, one)
        result = ingest_wire(database.app, owner, price_book(priced), name, [(sent, Context(occurred_at=at))])
        assert (result.rejected, result.exceptions) == ([], [])
    found = ledger(database, owner)
    answer = {
        "calls": found.events,
        "uncached_input_tokens": found.input,
        "output_tokens": found.output,
        "cost_usd": usd(found.cost),
    }
    assert answer == expected


@cases("M6", "M8")
def test_an_id_made_of_subject_meter_and_window_counts_a_repeat_once(
    database: Database, tenant: MakeTenant, case_id: str
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
    found = ledger(database, owner)
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
    found = ledger(database, context(database.app, "again"))
    assert (found.events, found.output) == (expected["stored_events"], expected["total_value"])


@cases("M9")
def test_a_request_delivered_twice_raises_a_rollup_once(database: Database, tenant: MakeTenant, case_id: str) -> None:
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    owner = tenant()
    for one in scenario["deliveries"]:
        send(
            database,
            owner,
            costing(one["cost_usd"], one["request_id"], row(case_id)["event_time"], account_id=one["team"]),
        )
    assert _by_account(database, owner) == expected["rollup_usd"]
    assert usd(ledger(database, owner).cost) == expected["ledger_total_usd"]
    with transaction(database.app, owner.tenant) as connection:
        rollups.rebuild(connection, owner.tenant, owner.reporting_tz)
    assert _by_account(database, owner) == expected["rollup_usd"]
    assert (differences(check(database.app, owner)) == []) is expected["rebuilt_equals_rollup"]


def _by_account(database: Database, owner: TenantContext) -> dict[str, str]:
    query = "SELECT account_id, sum(effective_cost) FROM rollup_user_day WHERE tenant = :tenant GROUP BY 1 ORDER BY 1"
    with transaction(database.app, owner.tenant) as connection:
        return {name: usd(cost) for name, cost in connection.execute(text(query), {"tenant": owner.tenant})}


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
def test_a_batch_whose_commit_failed_is_whole_after_the_retry(
    database: Database, tenant: MakeTenant, case_id: str
) -> None:
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    assert scenario["steps"] == ["write_batch", "commit_fails", "retry", "commit_ok"]
    owner = tenant()
    events = [costing(one["cost_usd"], one["id"], row(case_id)["event_time"]) for one in scenario["sent"]]
    with _failing_commits(database), pytest.raises(psycopg.errors.RaiseException, match="no commit"):
        send(database, owner, *events)
    assert ledger(database, owner).events is None
    assert send(database, owner, *events).accepted == expected["stored_events"]
    found = ledger(database, owner)
    assert (found.events, usd(found.cost)) == (expected["stored_events"], expected["ledger_total_usd"])
