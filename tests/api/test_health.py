"""Health and metrics: what machines read of a server."""

from __future__ import annotations

import re

import httpx
import pytest

from tests.api.serving import Running
from tests.events import body, event

pytestmark = pytest.mark.storage


def _value(text: str, sample: str) -> float:
    found = re.search(rf"^{re.escape(sample)} (\S+)$", text, re.MULTILINE)
    assert found, f"{sample} is not in\n{text}"
    return float(found.group(1))


def test_health_and_readiness(api: Running) -> None:
    with api.client() as client:
        assert client.get("/healthz").json() == {"status": "ok"}
        assert client.get("/readyz").json() == {"status": "ready"}


def test_metrics_count_events_by_outcome_and_requests_by_route(api: Running, ingest: httpx.Client) -> None:
    def now() -> str:
        return ingest.get("/metrics").text

    outcomes = ("accepted", "duplicate", "conflict", "rejected")
    before = now()
    ingest.post("/v1/usage/events", content=body([event("m1"), event("m2"), event("m2"), event("m3", surprise=1)]))
    ingest.post("/v1/usage/events", content=body([event("m1", model="gpt-5.4")]))
    ingest.post("/v1/usage/events/m1/void", json={"reason": "a test call"})
    after = now()
    samples = [f'tokencogs_ingest_events_total{{outcome="{outcome}"}}' for outcome in outcomes]
    assert [_value(after, sample) - _value(before, sample) for sample in samples] == [2, 1, 1, 1]
    assert _value(after, "tokencogs_ingest_seconds_count") - _value(before, "tokencogs_ingest_seconds_count") == 2
    assert _value(after, "tokencogs_ingest_waiting_events") == 0
    void = 'tokencogs_http_requests_total{method="POST",route="/v1/usage/events/{event_id}/void",status="200"}'
    assert _value(after, void) == 1
    assert re.search(r'^tokencogs_build_info\{version="[^"]+"\} 1\.0$', after, re.MULTILINE)


def test_metrics_name_no_tenant_and_no_id(ingest: httpx.Client) -> None:
    ingest.post("/v1/usage/events", content=body([event("canary-event", user_id="canary-user")]))
    ingest.get("/v1/usage/events/canary-event/charge")
    ingest.get("/canary-path")
    text = ingest.get("/metrics").text
    assert "canary" not in text
    assert "acme" not in text
    assert 'route="unmatched",status="404"' in text


def test_an_unknown_path_and_a_wrong_method_have_the_one_error_shape(ingest: httpx.Client) -> None:
    unknown, wrong = ingest.get("/v1/nothing"), ingest.delete("/v1/plans")
    assert (unknown.status_code, unknown.json()["error"]) == (404, "NotFound")
    assert (wrong.status_code, wrong.json()["error"]) == (405, "MethodNotAllowed")
    assert set(unknown.json()) == set(wrong.json()) == {"error", "field", "value", "message"}
