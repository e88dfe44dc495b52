"""Prices over HTTP: a tenant states its own, a running process sees it, the operator alone changes the list, someone is told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any, ClassVar

import httpx
import pytest

from accounting.alerts import AlertNotDelivered, alert
from accounting.storage.tenants import context
from accounting.tenant import TenantContext
from api.service import Service
from api.settings import Settings
from tests.api.serving import Running, make_keys, running
from tests.conftest import Database
from tests.events import body, event

pytestmark = [pytest.mark.storage, pytest.mark.one_server]

ROW = {"seller": "acme", "model": "acme-chat", "uncached_input": "2", "output": "6", "effective_from": "2026-07-01"}


@pytest.fixture(scope="module")
def keys(database: Database) -> dict[str, dict[str, str]]:
    """Keys of the operator's tenant and of another one."""
    return {tenant: make_keys(database, tenant) for tenant in ("opera", "guest")}


@pytest.fixture(scope="module")
def served(database: Database, keys: dict[str, dict[str, str]]) -> Iterator[Running]:
    """A server that looks for changed prices at every batch."""
    del keys
    with running(database, Settings(price_seconds=0.0, alert_seconds=None, operator="opera")) as server:
        yield server


@pytest.fixture(scope="module")
def guest(served: Running, keys: dict[str, dict[str, str]]) -> Iterator[httpx.Client]:
    with served.client(keys["guest"]["admin"]) as client:
        yield client


@pytest.fixture(scope="module")
def operator(served: Running, keys: dict[str, dict[str, str]]) -> Iterator[httpx.Client]:
    with served.client(keys["opera"]["admin"]) as client:
        yield client


def _paid(client: httpx.Client, event_id: str, **changes: Any) -> str | None:
    """Contracted cost of 1,000 in and 100 out, as booked."""
    sent = event(event_id, **{"provider": "acme", "model": "acme-chat", **changes})
    assert client.post("/v1/usage/events", content=body([sent])).json()["accepted"] == 1
    cost: str | None = client.get(f"/v1/usage/events/{event_id}/charge").json()["contracted_cost"]
    return cost


def test_a_running_process_prices_by_what_was_stated_a_moment_ago(guest: httpx.Client, operator: httpx.Client) -> None:
    assert _paid(guest, "before") is None
    (made,) = guest.post("/v1/prices", json={"rows": [ROW]}).json()["prices"]
    assert made["own"] is True
    assert _paid(guest, "after") == "0.0026"
    assert _paid(operator, "elsewhere") is None  # another tenant's own price is nobody else's
    guest.delete(f"/v1/prices/rows/{made['sku_price_id']}")
    assert _paid(guest, "withdrawn") is None


def test_a_contract_is_paid_by_from_the_next_batch_on(guest: httpx.Client) -> None:
    signed = {
        "seller": "openai",
        "currency": "USD",
        "effective_from": "2026-07-01T00:00:00Z",
        "rules": [{"rule_id": "all", "kind": "discount", "value": "0.25"}],
    }
    answer = guest.put("/v1/prices/contracts/c1", json=signed).json()
    assert answer == {"contract_id": "c1", "recorded": True, "unmet": []}
    assert _paid(guest, "signed", provider="openai", model="o3") == "0.0021"  # 0.0028 by list
    (kept,) = guest.get("/v1/prices/contracts").json()["contracts"]
    assert (kept["contract_id"], kept["rules"]) == ("c1", signed["rules"])


def test_only_the_operators_keys_change_the_list_of_all(guest: httpx.Client, operator: httpx.Client) -> None:
    for_all = {"for_all": "true"}
    refused = guest.post("/v1/prices", json={"rows": [ROW | {"seller": "all"}]}, params=for_all)
    assert (refused.status_code, refused.json()["error"]) == (403, "Forbidden")
    assert operator.post("/v1/prices", json={"rows": [ROW | {"seller": "all"}]}, params=for_all).status_code == 200
    assert _paid(guest, "listed", provider="all") == "0.0026"


def test_a_file_is_imported_once_and_a_disagreement_is_decided(operator: httpx.Client) -> None:
    sent = {"source": "csv", "content": "seller,model,uncached_input\nopenai,o3,3\n", "as_of": "2026-07-01"}
    first = operator.post("/v1/prices/imports", json=sent, params={"for_all": "true"}).json()
    again = operator.post("/v1/prices/imports", json=sent, params={"for_all": "true"}).json()
    assert (first["counts"]["proposed"], first["repeated"]) == (1, False)
    assert (again["import_id"], again["repeated"]) == (first["import_id"], True)
    (waiting,) = operator.get("/v1/prices/proposals", params={"model": "o3"}).json()["proposals"]
    assert [one["other_unit_price"] for one in waiting["disagreements"]] == ["2"]
    decided = operator.post(
        "/v1/prices/refuse", json={"sku_price_ids": [waiting["sku_price_id"]]}, params={"for_all": "true"}
    )
    assert decided.json()["rows"][0]["state"] == "refused"
    assert operator.get("/v1/prices/proposals").json() == {"proposals": []}


def test_a_bad_price_is_refused_by_row_field_and_value(guest: httpx.Client) -> None:
    answer = guest.post("/v1/prices", json={"rows": [ROW, ROW | {"output": "-1"}]})
    assert (answer.status_code, answer.json()["field"], answer.json()["value"]) == (400, "rows[1].output", "-1")


def test_an_unpriced_model_is_assigned_and_its_backlog_priced(guest: httpx.Client) -> None:
    assert _paid(guest, "corp", provider="openai", model="o3-corp") is None
    (row,) = [one for one in guest.get("/v1/prices/unpriced").json()["unpriced"] if one["model"] == "o3-corp"]
    assert (row["events"], row["reason"]) == (1, "unknown_model")
    sent = {"model": "o3-corp", "like": "openai/o3", "apply": True}
    answer = guest.post("/v1/prices/assign", json=sent).json()
    assert answer == {
        "seller": "openai",
        "model": "o3-corp",
        "like": "openai/o3",
        "rows": 0,
        "repriced": 1,
        "applied": True,
    }


@pytest.mark.parametrize("name", ["model", "like", "seller"])
def test_a_name_that_can_not_be_stored_is_assigned_nothing(guest: httpx.Client, name: str) -> None:
    sent = {"model": "m", "like": "openai/o3", "seller": "openai"}
    answer = guest.post("/v1/prices/assign", json=sent | {name: f"{sent[name]}\0"})
    assert (answer.status_code, answer.json()["field"], answer.json()["value"]) == (400, name, f"{sent[name]}\0")


def test_half_a_character_in_a_contract_is_named(guest: httpx.Client) -> None:
    content = (
        rb'{"seller":"openai","currency":"USD","effective_from":"2026-01-01T00:00:00Z",'
        rb'"rules":[{"rule_id":"all","kind":"discount","value":"0.10"}],"source":"x\ud83d"}'
    )
    answer = guest.put("/v1/prices/contracts/c1", content=content, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["field"], answer.json()["value"]) == (400, "contract.source", r"x\ud83d")


def test_the_log_says_which_key_did_what(guest: httpx.Client, keys: dict[str, dict[str, str]]) -> None:
    guest.put("/v1/prices/alert-hook", json={"url": "http://127.0.0.1:9/hook"})
    newest = guest.get("/v1/audit", params={"limit": 1}).json()["acts"][0]
    assert (newest["actor"], newest["action"]) == (f"key:{keys['guest']['admin'].split('_')[2][:8]}", "alerts.set")
    assert newest["after"] == {"url": "http://127.0.0.1:9/hook"}


def test_acts_of_one_kind_are_not_pushed_out_by_others(guest: httpx.Client) -> None:
    guest.put("/v1/prices/alert-hook", json={"url": "http://127.0.0.1:9/hook"})
    guest.post("/v1/keys", json={"scope": "viewer"}).raise_for_status()
    newest = [
        guest.get("/v1/audit", params={"limit": 1, "kind": kinds}).json()["acts"][0]["action"]
        for kinds in (["key"], ["alerts"], ["alerts", "key"])
    ]
    assert newest == ["key.create", "alerts.set", "key.create"]
    refused = guest.get("/v1/audit", params={"kind": "keys"})
    assert (refused.status_code, refused.json()["field"], refused.json()["value"]) == (400, "kind", "keys")


class _Receiver(BaseHTTPRequestHandler):
    status = 204
    got: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        self.got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_an_address_is_told_of_each_unpriced_model_once(database: Database, operator: httpx.Client) -> None:
    receiver = HTTPServer(("127.0.0.1", 0), _Receiver)
    thread = threading.Thread(target=receiver.serve_forever)
    thread.start()
    tenant = context(database.app, "opera")
    try:
        operator.put("/v1/prices/alert-hook", json={"url": f"http://127.0.0.1:{receiver.server_port}/finance"})
        _paid(operator, "strange", model="strange-1")
        _Receiver.status = 500
        with pytest.raises(AlertNotDelivered, match="the address answered 500"):
            alert(database.app, tenant)
        _Receiver.status = 204
        _Receiver.got.clear()
        told = alert(database.app, tenant)
        assert (told, alert(database.app, tenant)) == (len(_Receiver.got[0]["new"]), 0)
    finally:
        receiver.shutdown()
        thread.join()
        receiver.server_close()
    assert len(_Receiver.got) == 1
    assert {"seller": "acme", "model": "strange-1"} in _Receiver.got[0]["new"]
    row = next(one for one in _Receiver.got[0]["unpriced"] if one["model"] == "strange-1")
    assert (row["events"], row["input_tokens"], row["output_tokens"]) == (1, 1000, 100)


@pytest.mark.parametrize(
    "url", ["https://hooks..example.com/x", "https://hooks.example:port/x", "http://[::1", "http://a:99999/"]
)
def test_an_address_that_no_client_can_ask_is_refused(
    database: Database, operator: httpx.Client, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    refused = operator.put("/v1/prices/alert-hook", json={"url": url})
    assert (refused.status_code, refused.json()["field"], refused.json()["value"]) == (400, "url", url)
    name = f"strange-{url.encode().hex()}"
    _paid(operator, name, model=name)
    monkeypatch.setattr("accounting.alerts.hook", lambda *_: url)  # as an earlier version stored it
    with pytest.raises(AlertNotDelivered, match="opera"):
        alert(database.app, context(database.app, "opera"))


def test_a_failure_that_nobody_foresaw_keeps_no_other_tenant_from_its_turn(database: Database) -> None:
    asked = []

    def act(tenant: TenantContext) -> None:
        asked.append(tenant.tenant)
        raise ZeroDivisionError

    Service._for_each(SimpleNamespace(engine=database.app), "alerts", ["guest", "opera"], act)  # type: ignore[arg-type]
    assert asked == ["guest", "opera"]


def test_the_process_itself_tells(database: Database, keys: dict[str, dict[str, str]]) -> None:
    receiver = HTTPServer(("127.0.0.1", 0), _Receiver)
    thread = threading.Thread(target=receiver.serve_forever)
    thread.start()
    _Receiver.got.clear()
    try:
        with (
            running(database, Settings(price_seconds=0.0, alert_seconds=0.05)) as server,
            server.client(keys["guest"]["admin"]) as client,
        ):
            client.put("/v1/prices/alert-hook", json={"url": f"http://127.0.0.1:{receiver.server_port}/guest"})
            _paid(client, "stranger", model="strange-2")
            deadline = time.monotonic() + 10
            wanted = {"seller": "acme", "model": "strange-2"}
            while not any(wanted in one["new"] for one in _Receiver.got) and time.monotonic() < deadline:
                time.sleep(0.02)
    finally:
        receiver.shutdown()
        thread.join()
        receiver.server_close()
    assert any(wanted in one["new"] for one in _Receiver.got)
