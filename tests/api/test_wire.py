"""Do wire bodies of every format come in over HTTP, and does every one of them stay accounted for?"""

from __future__ import annotations

import gzip
import json
from typing import Any

import httpx
import pytest
import zstandard

from accounting.usage.formats.registry import FORMATS
from tests.api.serving import Running
from tests.wire_bodies import body, export, sent, span

pytestmark = pytest.mark.storage

NOTHING = {"accepted": 0, "duplicates": 0, "conflicts": [], "rejected": [], "exceptions": [], "aggregates": 0}


def total(answer: dict[str, Any]) -> int:
    lists = sum(len(answer[name]) for name in ("conflicts", "rejected", "exceptions"))
    return int(answer["accepted"] + answer["duplicates"] + answer["aggregates"]) + lists


def broken(n: int) -> dict[str, Any]:
    """A body whose total is one token short."""
    found = sent("openai_chat", n)
    found["response"]["usage"]["total_tokens"] = 1_099
    return found


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_body_of_every_format_is_booked_once(ingest: httpx.Client, name: str) -> None:
    first = ingest.post(f"/v1/usage/{name}", json=sent(name))
    again = ingest.post(f"/v1/usage/{name}", json=[sent(name)])
    assert (first.status_code, first.json()) == (200, NOTHING | {"accepted": 1})
    assert again.json() == NOTHING | {"duplicates": 1}


def test_what_contradicts_itself_is_an_exception_and_costs_no_other(ingest: httpx.Client) -> None:
    answer = ingest.post("/v1/usage/openai_chat", json=[sent("openai_chat", 100), broken(101)]).json()
    assert answer == NOTHING | {
        "accepted": 1,
        "exceptions": [
            {
                "index": 1,
                "event_id": "openai:openai_chat-101",
                "reason": "tokens_do_not_add_up",
                "detail": "total_tokens 1099 <> prompt_tokens 1000 + completion_tokens 100 = 1100",
            }
        ],
    }


@pytest.mark.parametrize(
    ("context", "reason"),
    [
        ({"user": "ann"}, "Object contains unknown field `user`"),
        ({"occurred_at": "yesterday"}, "Invalid RFC3339 encoded datetime - at `$.occurred_at`"),
        ({"status": "fine"}, "Invalid enum value 'fine' - at `$.status`"),
        ("ann", "Expected `object`, got `str`"),
        ([], "Expected `object`, got `array`"),
    ],
)
def test_a_bad_context_is_a_rejection_of_its_item_alone(ingest: httpx.Client, context: Any, reason: str) -> None:
    items = [{"response": body("openai_chat", 110), "context": context}, sent("openai_chat", 111)]
    answer = ingest.post("/v1/usage/openai_chat", json=items).json()
    assert answer["accepted"] + answer["duplicates"] == 1
    [row] = answer["rejected"]
    assert (row["index"], row["field"], row["reason"]) == (0, "context", reason)


@pytest.mark.parametrize(
    ("item", "field"),
    [
        (7, "body"),
        ("text", "body"),
        (None, "body"),
        ([body("openai_chat")], "body"),
        ({"response": None}, "response"),
        ({"response": "text", "context": {}}, "response"),
        ({"response": []}, "response"),
        ({"response": [{}, 5]}, "response"),
        ({"response": body("openai_chat"), "context": {"user_id": "a\x00b"}}, "context.user_id"),
        ({"response": body("openai_chat"), "context": {"tags": {"a": "\x00"}}}, "context.tags"),
        ({"response": {**body("openai_chat"), "created": None}}, "occurred_at"),
    ],
)
def test_an_item_that_is_no_body_is_rejected_by_field(ingest: httpx.Client, item: Any, field: str) -> None:
    answer = ingest.post("/v1/usage/openai_chat", json=[sent("openai_chat", 112), item]).json()
    assert answer["accepted"] + answer["duplicates"] == 1
    assert [(row["index"], row["field"]) for row in answer["rejected"]] == [(1, field)]
    assert "canary" not in json.dumps(answer)


def test_a_stream_is_the_list_of_its_events_inside_response(ingest: httpx.Client) -> None:
    chunk = {"id": "stream-1", "object": "chat.completion.chunk", "created": 1_782_900_000, "model": "o3"}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    events = [{**chunk, "choices": [{"delta": {"content": "canary"}}]}, {**chunk, "choices": [], "usage": usage}]
    assert ingest.post("/v1/usage/openai_chat", json={"response": events}).json() == NOTHING | {"accepted": 1}


def test_several_calls_of_one_body_are_told_apart(ingest: httpx.Client) -> None:
    good, bad = body("openinference", 120), body("openinference", 121)
    bad_span = bad["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    [count] = [one for one in bad_span["attributes"] if one["key"] == "llm.token_count.total"]
    count["value"] = {"intValue": "7"}
    agent = span(122, {"openinference.span.kind": "AGENT", "llm.token_count.prompt": 5, "llm.model_name": "o3"})
    spans = [*good["resourceSpans"][0]["scopeSpans"][0]["spans"], bad_span, agent]
    answer = ingest.post("/v1/usage/openinference", json=export(*spans)).json()
    assert (answer["accepted"], len(answer["exceptions"]), answer["aggregates"], total(answer)) == (1, 1, 1, 3)


def test_one_event_id_for_several_calls_is_refused(ingest: httpx.Client) -> None:
    both = [one for n in (130, 131) for one in body("otlp", n)["resourceSpans"][0]["scopeSpans"][0]["spans"]]
    item = {"response": export(*both), "context": {"event_id": "only-one"}}
    [row] = ingest.post("/v1/usage/otlp", json=item).json()["rejected"]
    assert (row["field"], row["reason"]) == ("context.event_id", "is the id of one call, the body holds 2")


def test_a_body_without_a_call_says_so(ingest: httpx.Client) -> None:
    answer = ingest.post("/v1/usage/claude_code", json={"type": "user", "message": {"content": "canary"}}).json()
    assert [row["reason"] for row in answer["rejected"]] == ["holds no model call"]


def test_the_records_of_a_log_are_one_body(ingest: httpx.Client) -> None:
    early, late = body("claude_code", 140), body("claude_code", 140)
    early["message"]["usage"]["output_tokens"] = 1
    assert ingest.post("/v1/usage/claude_code", json=[early, late]).json() == NOTHING | {"accepted": 1}


def test_auto_tells_each_body_by_its_structure(ingest: httpx.Client) -> None:
    names = [name for name in sorted(FORMATS) if name != "snowflake_cortex"]
    items = [sent(name, 150) for name in names]
    answer = ingest.post("/v1/usage/auto", json=[*items, {"what": "is this"}, sent("gemini", 151)]).json()
    assert (answer["accepted"], total(answer)) == (len(names) + 1, len(names) + 2)
    assert [(row["index"], row["reason"]) for row in answer["rejected"]] == [
        (len(names), "is of no structure that is known; send it to the route of its format")
    ]


@pytest.mark.parametrize("name", ["openai-chat", "native", "events.json", "none"])
def test_an_unknown_format_is_not_found_and_lists_the_known(ingest: httpx.Client, name: str) -> None:
    answer = ingest.post(f"/v1/usage/{name}", json=[])
    assert (answer.status_code, answer.json()["error"]) == (404, "NotFound")
    assert all(known in answer.json()["message"] for known in ("auto", *FORMATS, "/v1/usage/events"))


def test_bodies_may_be_lines_and_compressed(ingest: httpx.Client) -> None:
    lines = "\n".join([json.dumps(sent("gemini", 160)), "", "{broken canary", json.dumps(sent("gemini", 161))]).encode()
    kind = {"Content-Type": "application/x-ndjson"}
    zipped = ingest.post("/v1/usage/gemini", content=gzip.compress(lines), headers={**kind, "Content-Encoding": "gzip"})
    squeezed = zstandard.ZstdCompressor().compress(lines)
    again = ingest.post("/v1/usage/gemini", content=squeezed, headers={**kind, "Content-Encoding": "zstd"})
    for answer, counted in ((zipped.json(), "accepted"), (again.json(), "duplicates")):
        assert (answer[counted], total(answer)) == (2, 3)
        [row] = answer["rejected"]
        assert (row["index"], row["field"], row["value"]) == (1, "body", "14 bytes")


@pytest.mark.parametrize("text", [b"", b"{", b"[1,", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000, b"NaN"])
def test_a_body_that_is_no_json_is_refused_whole(ingest: httpx.Client, text: bytes) -> None:
    answer = ingest.post("/v1/usage/openai_chat", content=text)
    assert (answer.status_code, answer.json()["field"]) == (400, "body")


def test_a_truncated_gzip_is_refused_whole(ingest: httpx.Client) -> None:
    whole = gzip.compress(json.dumps(sent("openai_chat", 170)).encode())
    answer = ingest.post("/v1/usage/openai_chat", content=whole[:-10], headers={"Content-Encoding": "gzip"})
    assert (answer.status_code, answer.json()["message"]) == (
        400,
        "body=None: is not gzip: it ends too early",
    )


def test_a_span_whose_id_can_not_be_stored_loses_no_other(ingest: httpx.Client) -> None:
    """Its counts contradict each other too, so it would be kept for a replay."""
    wrong = {
        "gen_ai.operation.name": "chat",
        "gen_ai.response.id": "a\x00",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.usage.input_tokens": 1,
    }
    wrong |= {
        "gen_ai.provider.name": "openai",
        "gen_ai.usage.cache_read.input_tokens": 5,
        "gen_ai.usage.output_tokens": 1,
    }
    right = wrong | {"gen_ai.response.id": "right-span", "gen_ai.usage.cache_read.input_tokens": 0}
    answer = ingest.post("/v1/traces", json=export(span(71, right), span(72, wrong)))
    assert (answer.status_code, int(answer.json()["partialSuccess"]["rejectedSpans"])) == (200, 1)


@pytest.mark.parametrize("kind", ["application/json", "application/x-ndjson"])
def test_more_rows_than_one_request_may_hold_are_too_large(ingest: httpx.Client, kind: str) -> None:
    """A row that is none would each have its refusal in the answer."""
    rows = b"\n".join([b"0"] * 100_001) if kind.endswith("ndjson") else b"[" + b",".join([b"0"] * 100_001) + b"]"
    answer = ingest.post("/v1/usage/events", content=rows, headers={"content-type": kind})
    assert (answer.status_code, answer.json()["error"]) == (413, "TooLarge")
    assert "more than 100000 rows" in answer.json()["message"]


def test_more_items_than_one_request_may_hold_are_too_large(ingest: httpx.Client) -> None:
    answer = ingest.post("/v1/usage/openai_chat", content=b"[" + b"{}," * 100_000 + b"{}]")
    assert (answer.status_code, answer.json()["error"]) == (413, "TooLarge")


def test_litellms_webhook_can_post_its_list_of_payloads_as_it_is(ingest: httpx.Client, admin: httpx.Client) -> None:
    answer = ingest.post("/v1/usage/litellm", json=[body("litellm", 180), body("litellm", 181)])
    assert answer.json() == NOTHING | {"accepted": 2}
    charge = admin.get("/v1/usage/events/openai:litellm-180/charge").json()
    # 600 x 2 + 400 x 0.5 + 100 x 8 = 2,200 millionths of a dollar
    assert (charge["billed_cost"], charge["reported_cost_usd"], charge["variance_usd"]) == ("0.0022", "0.0022", "0")


def test_litellms_ndjson_is_read_although_it_is_announced_as_json(ingest: httpx.Client) -> None:
    lines = "\n".join(json.dumps(body("litellm", n)) for n in (182, 183))
    answer = ingest.post("/v1/usage/litellm", content=lines, headers={"Content-Type": "application/json"})
    assert answer.json() == NOTHING | {"accepted": 2}
    alone = ingest.post("/v1/usage/litellm", content=json.dumps(body("litellm", 184), indent=1) + "\n")
    assert alone.json() == NOTHING | {"accepted": 1}


def test_the_metrics_count_exceptions_and_aggregates(api: Running, ingest: httpx.Client) -> None:
    agent = span(190, {"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 5})
    ingest.post("/v1/usage/openai_chat", json=broken(191))
    ingest.post("/v1/usage/otlp", json=export(agent))
    with api.client() as client:
        text = client.get("/metrics").text
    counts = dict(line.split() for line in text.splitlines() if line.startswith("tokencogs_ingest_events_total"))
    assert float(counts['tokencogs_ingest_events_total{outcome="exception"}']) >= 1
    assert float(counts['tokencogs_ingest_events_total{outcome="aggregate"}']) >= 1
