"""Can pools, rates and bills be stated, billed, imported and read over HTTP, and are mistakes told by field?"""

from __future__ import annotations

import gzip
from typing import Any

import httpx
import pytest

from api.routes.curves import EXAMPLE_CURVE
from tests.api.test_scopes import POOL_BODIES
from tests.step_ledgers import content, prefill

pytestmark = [pytest.mark.storage, pytest.mark.one_server]

POOL: dict[str, Any] = {**POOL_BODIES["/v1/pools"], "pool_id": "org/chat", "gpus_per_replica": 2}  # type: ignore[dict-item]
RATE = {"rate_id": "od", "kind": "on_demand", "gpu": "H200", "price_per_hour": "3", "effective_from": "2026-09-01"}
REPLICA = {"pool_id": "org/chat", "replica": "r0", "rate_id": "od", "effective_from": "2026-09-01T00:00:00Z"}
HOUR = {"from": "2026-09-01T05:00:00Z", "to": "2026-09-01T06:00:00Z"}


@pytest.fixture(autouse=True, scope="module")
def stated(admin: httpx.Client) -> None:
    """The pool, a rate and a replica, whatever test comes first."""
    for path, body in (
        ("/v1/curves", EXAMPLE_CURVE),
        ("/v1/pools", POOL),
        ("/v1/pools/rates", RATE),
        ("/v1/pools/replicas", REPLICA),
    ):
        answer = admin.post(path, json=body)
        assert answer.status_code == 200, answer.text


def test_a_pool_is_shown_with_its_replicas_by_date(admin: httpx.Client) -> None:
    [pool] = admin.get("/v1/pools", params={"pool_id": "org/chat"}).json()["pools"]
    assert pool["settings"][0] | POOL == pool["settings"][0] | {"effective_from": "2026-09-01"}
    assert pool["settings"][0]["effective_from"] == "2026-09-01T00:00:00Z"
    assert [(row["replica"], row["effective_until"], row["rate_id"]) for row in pool["replicas"]] == [
        ("r0", None, "od")
    ]
    assert admin.post("/v1/pools", json=POOL).json() == {"recorded": False}


def test_hours_are_billed_and_read_back_with_their_parts(admin: httpx.Client) -> None:
    run = admin.post("/v1/pools/bills", json=HOUR).json()
    assert (run["written"] + run["unchanged"], run["totals"], run["missing"]) == (1, {"USD": "6"}, [])
    [bill] = admin.get("/v1/pools/bills", params={**HOUR, "pool_id": "org/chat"}).json()["bills"]
    assert bill == {
        "pool_id": "org/chat",
        "hour": "2026-09-01T05:00:00Z",
        "amount": "6",
        "billing_currency": "USD",
        "gpu_hours": "2",
        "source": "schedule",
        "source_id": None,
        "parts": [{"rate_id": "od", "kind": "on_demand", "gpu_hours": "2", "amount": "6"}],
    }


def test_an_import_answers_for_every_row(admin: httpx.Client) -> None:
    heading = "ChargeCategory,ChargePeriodStart,ChargePeriodEnd,BillingCurrency,EffectiveCost,ResourceId,ServiceName\n"
    hour = "2026-09-02T05:00:00Z,2026-09-02T06:00:00Z,USD"
    rows = f"Usage,{hour},12.5,i-1,EC2\nUsage,{hour},0.25,i-2,EC2\nTax,{hour},1,i-1,EC2\nUsage,{hour},?,i-1,EC2\n"
    body = {"format": "focus", "content": heading + rows, "name": "september", "resources": {"i-1": "org/chat"}}
    found = admin.post("/v1/pools/bills/imports", json=body).json()
    assert (found["written"], found["totals"], found["unplaced"]) == (1, {"USD": "12.5"}, [])
    assert found["left_out"] == [
        {"reason": "Tax", "service": "EC2", "currency": "USD", "rows": 1, "amount": "1"},
        {"reason": "no_pool", "service": "EC2", "currency": "USD", "rows": 1, "amount": "0.25"},
    ]
    assert [(row["line"], row["field"], row["value"]) for row in found["rejected"]] == [(5, "EffectiveCost", "?")]
    period = {"from": "2026-09-02", "to": "2026-09-03"}
    [bill] = admin.get("/v1/pools/bills", params=period).json()["bills"]
    assert (bill["source_id"], bill["parts"]) == ("september", [{"resource": "i-1", "amount": "12.5"}])


def test_candidates_come_into_force_by_a_decision(admin: httpx.Client) -> None:
    heading = "region,instance,gpu_model,gpu_count,price_usd_per_instance_hour,first_seen,last_seen\n"
    body = {"content": heading + "eu,p5,H100,8,55.04,2025-06-23,2026-07-20\n", "name": "history.csv"}
    assert admin.post("/v1/pools/rates/imports", json=body).json()["new"] == ["aws/eu/p5/on-demand"]
    assert [row["state"] for row in admin.get("/v1/pools/rates", params={"state": "proposed"}).json()["rates"]] == [
        "proposed"
    ]
    [row] = admin.post("/v1/pools/rates/approve", json={"rate_ids": ["aws/eu/p5/on-demand"]}).json()["rates"]
    assert (row["state"], row["price_per_gpu_hour"], row["checked_on"]) == ("stated", "6.88", "2026-07-20")
    assert row["approved_by"].startswith("key:")


@pytest.mark.parametrize(
    ("path", "body", "status", "field"),
    [
        ("/v1/pools", {**POOL, "curve_id": "unheard"}, 400, "curve_id"),
        ("/v1/pools", {**POOL, "gpus_per_replica": 0}, 400, "gpus_per_replica"),
        ("/v1/pools", {**POOL, "effective_until": "2026-08-01"}, 400, "effective_until"),
        ("/v1/pools", {**POOL, "effective_from": "soon"}, 400, "effective_from"),
        ("/v1/pools", {**POOL, "billing_currency": "GPU"}, 400, "billing_currency"),
        ("/v1/pools/rates", {**RATE, "price_per_hour": "NaN"}, 400, "price_per_hour"),
        ("/v1/pools/rates", {**RATE, "kind": "owned"}, 400, "price_per_hour"),
        ("/v1/pools/replicas", {**REPLICA, "rate_id": "unheard"}, 400, "rate_id"),
        ("/v1/pools/replicas", {**REPLICA, "effective_from": "2026-09-05"}, 409, None),
        ("/v1/pools/replicas", {**REPLICA, "pool_id": "nosuch"}, 404, None),
        ("/v1/pools/bills", {"from": "2026-09-01", "to": "2026-08-01"}, 400, "until"),
        ("/v1/pools/bills", {"from": "2024-09-01", "to": "2026-08-01"}, 400, "until"),
    ],
)
def test_what_can_not_be_used_is_refused_by_field(
    admin: httpx.Client, path: str, body: dict[str, Any], status: int, field: str | None
) -> None:
    answer = admin.post(path, json=body)
    assert (answer.status_code, answer.json()["field"]) == (status, field), answer.text


def test_a_step_ledger_is_kept_listed_and_withdrawn(admin: httpx.Client) -> None:
    steps = content([("2026-09-03T05:00:00.100+00:00", 31_000_000, False, [prefill("a", 1_000)])])
    named = {"pool_id": "org/chat", "replica": "r0"}
    kind = {"Content-Type": "application/vnd.apache.arrow.stream", "Content-Encoding": "gzip"}
    sent = [
        admin.post("/v1/pools/steps", params={**named, "source": "one"}, content=gzip.compress(steps), headers=kind)
        for _ in range(2)
    ]
    assert [(one.json()["written"], one.json()["unchanged"]) for one in sent] == [(1, 0), (0, 1)]
    assert (sent[0].json()["steps"], sent[0].json()["ends_at"]) == (1, "2026-09-03T05:00:00.131000Z")
    period = {"from": "2026-09-03", "to": "2026-09-04"}
    [one] = admin.get("/v1/pools/steps", params={"pool_id": "org/chat", **period}).json()["ledgers"]
    assert (one["hour"], one["replica"], one["source_id"], one["measured_seconds"]) == (
        "2026-09-03T05:00:00Z",
        "r0",
        "one",
        0.031,
    )
    assert admin.delete("/v1/pools/steps", params={**named, **period}).json() == {"withdrawn": 1}
    assert admin.get("/v1/pools/steps", params={"pool_id": "org/chat", **period}).json() == {"ledgers": []}


def test_what_is_no_step_ledger_is_told_by_field(admin: httpx.Client) -> None:
    named = {"pool_id": "org/chat", "replica": "r0"}
    kind = {"Content-Type": "application/vnd.apache.arrow.stream"}
    answer = admin.post("/v1/pools/steps", params=named, content=b"{}", headers=kind)
    assert (answer.status_code, answer.json()["field"]) == (400, "ledger")
    assert admin.post("/v1/pools/steps", params=named, json={}).status_code == 415
