"""The description of the API is true: every example in it is one that the server takes or gives."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from pydantic import BaseModel, TypeAdapter

from api import schemas, schemas_wire
from tests.api.serving import Running

pytestmark = [pytest.mark.storage, pytest.mark.one_server]


@pytest.fixture(scope="module")
def described(api: Running) -> dict[str, Any]:
    with api.client() as client:
        schema: dict[str, Any] = client.get("/openapi.json").json()
    return schema


def _operations(described: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(method, path, route) for path, family in described["paths"].items() for method, route in family.items()]


def test_every_route_says_what_it_does_and_what_it_answers(described: dict[str, Any]) -> None:
    for method, path, route in _operations(described):
        assert route.get("description"), (method, path)
        assert "200" in route["responses"], (method, path)
        assert "422" not in route["responses"], (method, path)


def test_every_route_with_a_key_lists_its_refusals(described: dict[str, Any]) -> None:
    for method, path, route in _operations(described):
        if path.startswith("/v1/"):
            assert {"401", "403", "503"} <= set(route["responses"]), (method, path)
            assert route["security"], (method, path)


def test_the_example_batch_is_taken(described: dict[str, Any], ingest: httpx.Client) -> None:
    content = described["paths"]["/v1/usage/events"]["post"]["requestBody"]["content"]
    array, text = content["application/json"]["example"], content["application/x-ndjson"]["example"]
    first = ingest.post("/v1/usage/events", json=array)
    again = ingest.post("/v1/usage/events", content=text, headers={"Content-Type": "application/x-ndjson"})
    assert first.json() == {"accepted": 1, "duplicates": 0, "conflicts": [], "rejected": []}
    assert again.json() == {"accepted": 0, "duplicates": 1, "conflicts": [], "rejected": []}


def test_the_example_bodies_and_spans_are_taken(described: dict[str, Any], ingest: httpx.Client) -> None:
    content = described["paths"]["/v1/usage/{format}"]["post"]["requestBody"]["content"]
    array, text = content["application/json"]["example"], content["application/x-ndjson"]["example"]
    first = ingest.post("/v1/usage/openai_chat", json=array)
    again = ingest.post("/v1/usage/auto", content=text, headers={"Content-Type": "application/x-ndjson"})
    nothing = {"conflicts": [], "rejected": [], "exceptions": [], "aggregates": 0}
    assert first.json() == {"accepted": 1, "duplicates": 0, **nothing}
    assert again.json() == {"accepted": 0, "duplicates": 1, **nothing}
    spans = described["paths"]["/v1/traces"]["post"]["requestBody"]["content"]["application/json"]["example"]
    assert ingest.post("/v1/traces", json=spans).json() == {}


def test_the_example_rule_of_cost_is_taken(admin: httpx.Client) -> None:
    rule = _example(schemas_wire.CostBasisBody)
    assert admin.put("/v1/cost-basis", json=rule).status_code == 200
    assert admin.delete("/v1/cost-basis", params={"provider": rule["provider"]}).status_code == 200


def test_the_example_revision_void_plan_and_subscription_are_taken(
    described: dict[str, Any], admin: httpx.Client
) -> None:
    event = described["paths"]["/v1/usage/events/{event_id}/revisions"]["post"]["requestBody"]["content"]
    sent = {**event["application/json"]["example"], "event_id": "example-2"}
    admin.post("/v1/usage/events", json=sent)
    examples = {name: _example(getattr(schemas, name)) for name in ("VoidBody", "PlanBody", "SubscriptionBody")}
    answers = [
        admin.post("/v1/usage/events/example-2/revisions", json=sent),
        admin.post("/v1/usage/events/example-2/void", json=examples["VoidBody"]),
        admin.put("/v1/plans/pro", json=examples["PlanBody"]),
        admin.put("/v1/subscriptions/sub-17", json=examples["SubscriptionBody"]),
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 200], [answer.text for answer in answers]


def test_what_the_server_answers_has_the_described_shape(ingest: httpx.Client, admin: httpx.Client) -> None:
    sent = [
        {"event_id": "shape-1", "occurred_at": "2026-02-10T09:30:00Z", "provider": "openai", "model": "gpt-4o"}
        | {"status": "ok", "usage": {"input_tokens": 1200, "output_tokens": 250}},
        {"event_id": "shape-2"},
    ]
    answer = schemas.IngestAnswer.model_validate_json(ingest.post("/v1/usage/events", json=sent).content)
    assert (answer.accepted, len(answer.rejected)) == (1, 1)
    charge = admin.get("/v1/usage/events/shape-1/charge")
    assert schemas.Charge.model_validate_json(charge.content).status == "priced"
    problem = admin.get("/v1/usage/events/never-sent/charge")
    assert schemas.Problem.model_validate_json(problem.content).error == "NotFound"


def test_every_example_fits_its_own_schema() -> None:
    found = {**vars(schemas), **vars(schemas_wire)}.values()
    models = [value for value in found if isinstance(value, type) and issubclass(value, BaseModel)]
    checked = 0
    for model in models:
        whole = model.model_config.get("json_schema_extra")
        if isinstance(whole, dict) and "example" in whole:
            model.model_validate(whole["example"])
            checked += 1
        for field in model.model_fields.values():
            for example in field.examples or []:
                TypeAdapter(field.annotation).validate_python(example)
                checked += 1
    assert checked > 50


def test_the_event_of_the_description_names_every_field_of_the_native_event(described: dict[str, Any]) -> None:
    fields = described["components"]["schemas"]["NativeEvent"]
    assert {"event_id", "occurred_at", "provider", "model", "status", "usage"} == set(fields["required"])
    assert fields["additionalProperties"] is False
    assert "cache_write_12h_tokens" in described["components"]["schemas"]["NativeUsage"]["properties"]


def _example(model: type[BaseModel]) -> dict[str, Any]:
    return {name: field.examples[0] for name, field in model.model_fields.items() if field.examples}
