"""Who may call what: the table of routes in api/README.md is held to, route by route and scope by scope."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

import api as package
from accounting.storage.tenants import SCOPES, create_key, revoke_key
from api.routes.curves import EXAMPLE_CURVE
from tests.api.serving import Running
from tests.conftest import Database
from tests.events import event

pytestmark = pytest.mark.storage

README = Path(package.__file__).with_name("README.md")
LINE = re.compile(r"^\| `(GET|POST|PUT|DELETE) (/[^`]*)` \| (\w+) \|", re.MULTILINE)
ROUTES = {(method, path): scope for method, path, scope in LINE.findall(README.read_text(encoding="utf-8"))}
REACH = {
    "ingest": {"none", "ingest"},
    "viewer": {"none", "viewer"},
    "analyst": {"none", "viewer", "analyst"},
    "admin": {"none", "ingest", "viewer", "analyst", "admin"},
}
PERIOD = {"from": "2026-07-01", "to": "2026-08-01"}

POOL_BODIES: dict[str, object] = {
    "/v1/pools": {
        "pool_id": "p",
        "effective_from": "2026-09-01",
        "model": "m",
        "curve_id": EXAMPLE_CURVE["curve_id"],
        "gpu": "H200",
        "gpus_per_replica": 1,
        "token_budget": 8192,
        "max_batch": 64,
    },
    "/v1/pools/replicas": {"pool_id": "none", "replica": "r0", "effective_from": "2026-09-01"},
    "/v1/pools/bills": {"from": "2026-09-01", "to": "2026-09-02"},
    "/v1/pools/bills/imports": {"format": "csv", "content": "pool,hour,cost,currency\n", "name": "x.csv"},
    "/v1/pools/rates": {
        "rate_id": "r",
        "kind": "spot",
        "gpu": "H200",
        "price_per_hour": "1",
        "effective_from": "2026-09-01",
    },
    "/v1/pools/rates/imports": {
        "content": "region,instance,gpu_model,gpu_count,price_usd_per_instance_hour,first_seen,last_seen\n",
        "name": "x.csv",
    },
    "/v1/pools/rates/approve": {"rate_ids": ["none"]},
    "/v1/pools/rates/refuse": {"rate_ids": ["none"]},
}


def _call(client: httpx.Client, method: str, path: str) -> httpx.Response:
    """One harmless call of a route."""
    url = path.format(
        event_id="no-such-event",
        name="cost-of-revenue",
        plan="basic",
        subscription_id="s1",
        format="openai_chat",
        exception_id="none",
        term_id="t1",
        customer_id="c1",
        contract_id="signed",
        curve_id="c1",
        key_id="none",
        user_id="no-such-user",
        sku_price_id="0000000000000001",
    )
    bodies: dict[str, object] = {
        "/v1/usage/events": [],
        "/v1/usage/events/{event_id}/void": {"reason": "x"},
        "/v1/usage/events/{event_id}/revisions": event("no-such-event"),
        "/v1/usage/{format}": [],
        "/v1/traces": {},
        "/v1/exceptions/replay": {"exception_ids": []},
        "/v1/cost-basis": {"provider": "openai", "basis": "price_list"},
        "/v1/closed-months": {"month": "2020-01", "dry_run": True},
        "/v1/plans/{plan}": {"display_name": "Basic"},
        "/v1/plans/{plan}/prices": {"price": "1", "effective_from": "2026-01-01"},
        "/v1/subscriptions/{subscription_id}/terms/{term_id}": {"kind": "pause", "starts_on": "2026-02-01"},
        "/v1/prices": {"rows": [{"seller": "x", "model": "m", "output": "1", "effective_from": "2026-01-01"}]},
        "/v1/prices/imports": {"source": "csv", "content": "seller,model,output\nx,m2,1\n"},
        "/v1/keys": {"scope": "viewer"},
        "/v1/logins": {"subject": "s", "scope": "viewer"},
        "/v1/curves": EXAMPLE_CURVE,
        **POOL_BODIES,
        "/v1/prices/approve": {"sku_price_ids": ["0000000000000001"]},
        "/v1/prices/reprice": PERIOD,
        "/v1/prices/refuse": {"sku_price_ids": ["0000000000000001"]},
        "/v1/prices/assign": {"model": "m3", "like": "openai/gpt-4o", "seller": "openai"},
        "/v1/prices/alert-hook": {"url": "http://127.0.0.1:9/"},
        "/v1/prices/contracts/{contract_id}": {
            "seller": "openai",
            "currency": "USD",
            "effective_from": "2026-01-01T00:00:00Z",
        },
        "/v1/policies/purposes": {"purpose": "free", "statement_line": "internal", "effective_from": "2026-07-01"},
        "/v1/policies/account-revenue": {"rule": "use", "effective_from": "2026-07-01"},
        "/v1/revenue/lines": [],
        "/v1/revenue/stripe": [],
        "/v1/revenue/customers/{customer_id}": {"user_id": "u"},
        "/v1/subscriptions/{subscription_id}": {
            "plan": "basic",
            "user_id": "u",
            "monthly_price": "1",
            "starts_on": "2026-01-01",
        },
    }
    params = {
        ("GET", "/v1/reports/{name}"): PERIOD,
        ("GET", "/v1/user-days"): {**PERIOD, "user_id": "u"},
        ("GET", "/v1/users/{user_id}"): PERIOD,
        ("GET", "/v1/pools/what-if"): {**PERIOD, "pool_id": "none"},
        ("GET", "/v1/fx-rate"): {"from": "EUR", "to": "EUR", "on": "2026-07-01"},
        ("DELETE", "/v1/cost-basis"): {"provider": "nobody"},
        ("DELETE", "/v1/logins"): {"subject": "s"},
        ("GET", "/v1/charges"): PERIOD,
        ("GET", "/v1/prices/history"): {"model": "gpt-4o"},
        ("GET", "/v1/prices/diff"): {"known_at": "2999-01-01"},
        ("DELETE", "/v1/pools"): {"pool_id": "none", "effective_from": "2026-09-01"},
        ("DELETE", "/v1/pools/replicas"): {"pool_id": "none", "replica": "r0", "effective_from": "2026-09-01"},
        ("DELETE", "/v1/pools/rates"): {"rate_id": "none", "effective_from": "2026-09-01"},
        ("GET", "/v1/pools/bills"): PERIOD,
        ("GET", "/v1/pools/unused"): PERIOD,
        ("POST", "/v1/pools/steps"): {"pool_id": "none", "replica": "r0"},
        ("GET", "/v1/pools/steps"): {**PERIOD, "pool_id": "none"},
        ("DELETE", "/v1/pools/steps"): {**PERIOD, "pool_id": "none", "replica": "r0"},
    }
    sent = bodies.get(path) if method in ("POST", "PUT") else None
    return client.request(method, url, json=sent, params=params.get((method, path)))


@pytest.fixture(autouse=True, scope="module")
def a_plan(api: Running, keys: dict[str, str]) -> None:
    """What some bodies name, so that no test waits for another."""
    with api.client(keys["admin"]) as client:
        assert client.put("/v1/plans/basic", json={"display_name": "Basic"}).status_code == 200
        assert client.post("/v1/curves", json=EXAMPLE_CURVE).status_code == 200


def test_the_readme_names_exactly_the_routes_there_are(api: Running) -> None:
    schema = api.client().get("/openapi.json").json()
    served = {(method.upper(), path) for path, family in schema["paths"].items() for method in family}
    assert set(ROUTES) == served


@pytest.mark.parametrize(("method", "path"), sorted(ROUTES))
@pytest.mark.parametrize("scope", SCOPES)
def test_a_scope_reaches_what_the_readme_says(
    api: Running, keys: dict[str, str], method: str, path: str, scope: str
) -> None:
    with api.client(keys[scope]) as client:
        answer = _call(client, method, path)
    assert answer.status_code < 500, answer.text
    assert answer.status_code not in (400, 401, 405), answer.text
    assert (answer.status_code == 403) == (ROUTES[method, path] not in REACH[scope])


@pytest.mark.parametrize(("method", "path"), sorted(ROUTES))
def test_without_a_key_only_health_and_metrics_answer(api: Running, method: str, path: str) -> None:
    with api.client() as client:
        answer = _call(client, method, path)
    assert (answer.status_code == 401) == (ROUTES[method, path] != "none")
    if answer.status_code == 401:
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert answer.json() == {
            "error": "Unauthenticated",
            "field": None,
            "value": None,
            "message": "the API key is missing, malformed, unknown or revoked",
        }


def test_a_refusal_for_the_scope_says_which_is_needed(api: Running, keys: dict[str, str]) -> None:
    with api.client(keys["viewer"]) as client:
        answer = client.post("/v1/usage/events", content=b"[]")
    assert answer.json()["message"] == "the key's scope 'viewer' does not reach this, which needs 'ingest'"


def test_the_key_may_come_in_x_api_key(api: Running, keys: dict[str, str]) -> None:
    with api.client() as client:
        answer = client.post("/v1/usage/events", content=b"[]", headers={"x-api-key": keys["ingest"]})
        basic = client.post("/v1/usage/events", content=b"[]", headers={"Authorization": f"Basic {keys['ingest']}"})
    assert (answer.status_code, basic.status_code) == (200, 401)


def test_a_revoked_key_ends_at_once(api: Running, database: Database, keys: dict[str, str]) -> None:
    key = create_key(database.owner, "acme", "ingest")
    with api.client(key) as client:
        assert client.post("/v1/usage/events", content=b"[]").status_code == 200
        revoke_key(database.owner, "acme", key[8:16])
        assert client.post("/v1/usage/events", content=b"[]").status_code == 401


def test_a_large_body_without_a_key_is_refused_for_the_key(api: Running) -> None:
    with api.client() as client:
        assert client.post("/v1/usage/events", content=b" " * 11_000_000).status_code == 401
