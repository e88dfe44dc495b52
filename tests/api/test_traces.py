"""Can an unmodified OpenTelemetry SDK export to /v1/traces, and does OTLP/HTTP get the answers it asks for?"""

from __future__ import annotations

import gzip
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import httpx
import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags
from sqlalchemy import text

from accounting.storage.engine import transaction
from api.settings import Settings
from tests.api.serving import Running, make_keys, running
from tests.conftest import Database, Server
from tests.shared_data import shared
from tests.wire_bodies import body, export, span

pytestmark = [pytest.mark.storage, pytest.mark.one_server]

URL = "/v1/traces"
PROTOBUF = {"Content-Type": "application/x-protobuf"}


@pytest.fixture(autouse=True)
def _direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exporter would go through a proxy of the environment."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def exporter(api: Running, key: str, **options: Any) -> OTLPSpanExporter:
    """The SDK's own exporter, configured as for any backend."""
    return OTLPSpanExporter(endpoint=f"{api.url}{URL}", headers={"authorization": f"Bearer {key}"}, **options)


def _spans() -> list[ReadableSpan]:
    """The hundred spans of the shared data, as a process that made them would hold them."""
    request = ExportTraceServiceRequest.FromString(shared("otlp/gen_ai_spans.pb").read_bytes())
    spans = []
    for resource_spans in request.resource_spans:
        for one in (found for scope in resource_spans.scope_spans for found in scope.spans):
            ids = int.from_bytes(one.trace_id), int.from_bytes(one.span_id)
            resource = Resource(_attributes(resource_spans.resource.attributes))
            known = {"attributes": _attributes(one.attributes), "kind": SpanKind.CLIENT, "resource": resource}
            when = {"start_time": one.start_time_unix_nano, "end_time": one.end_time_unix_nano}
            context = SpanContext(*ids, is_remote=False, trace_flags=TraceFlags(1))
            spans.append(ReadableSpan(one.name, context, **known, **when))
    return spans


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


def _costs(database: Database, tenant: str) -> dict[str, Decimal]:
    """Span id -> effective cost, as booked."""
    with transaction(database.app, tenant) as connection:
        rows = connection.execute(text("SELECT subject_id, sum(effective_cost) FROM ledger GROUP BY 1")).all()
    return {subject.rpartition("-")[2]: cost for subject, cost in rows}


@pytest.mark.parametrize("compression", list(Compression), ids=str)
def test_a_hundred_spans_of_the_real_exporter_cost_what_they_should(
    api: Running, database: Database, compression: Compression
) -> None:
    tenant = f"spans{compression.value}"
    key = make_keys(database, tenant)["ingest"]
    sender = exporter(api, key, compression=compression)
    assert sender.export(_spans()) is SpanExportResult.SUCCESS
    lines = shared("otlp/expected.jsonl").read_text(encoding="utf-8").splitlines()
    expected = {row["span_id"]: Decimal(row["expected_cost_usd_2025_11_06"]) for row in map(json.loads, lines)}
    assert len(expected) == 100
    assert _costs(database, tenant) == expected
    assert sender.export(_spans()) is SpanExportResult.SUCCESS
    assert _costs(database, tenant) == expected


@pytest.mark.parametrize("name", ["gen_ai_spans.pb", "gen_ai_spans.otlp.json"])
def test_the_same_spans_as_a_collector_posts_them(api: Running, database: Database, name: str) -> None:
    tenant = "posted" + name[-2:]
    kind = "application/x-protobuf" if name.endswith(".pb") else "application/json"
    with api.client(make_keys(database, tenant)["ingest"]) as client:
        headers = {"Content-Type": kind, "Content-Encoding": "gzip"}
        answer = client.post(URL, content=gzip.compress(shared(f"otlp/{name}").read_bytes()), headers=headers)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, kind)
    assert answer.content == (b"" if kind == "application/x-protobuf" else b"{}")
    assert len(_costs(database, tenant)) == 100


def test_a_program_with_the_real_sdk_is_booked_span_by_span(api: Running, database: Database) -> None:
    keys = make_keys(database, "program")
    provider = TracerProvider(resource=Resource.create({"service.name": "assistant"}))
    provider.add_span_processor(BatchSpanProcessor(exporter(api, keys["ingest"])))
    tracer = provider.get_tracer("program")
    with tracer.start_as_current_span("GET /chat") as page:
        page.set_attribute("http.request.method", "GET")
        with tracer.start_as_current_span("invoke_agent") as agent:
            agent.set_attributes({"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 2_000})
            for number in (1, 2):
                with tracer.start_as_current_span("chat o3", kind=SpanKind.CLIENT) as leaf:
                    leaf.set_attributes(
                        {
                            "gen_ai.operation.name": "chat",
                            "gen_ai.provider.name": "openai",
                            "gen_ai.request.model": "o3",
                            "gen_ai.response.id": f"program-{number}",
                            "gen_ai.usage.input_tokens": 1_000,
                            "gen_ai.usage.output_tokens": 100,
                            "user.id": "ann",
                        }
                    )
    provider.shutdown()
    with transaction(database.app, "program") as connection:
        query = "SELECT event_id, user_id, list_cost_e15 FROM usage_events ORDER BY 1"
        rows = [tuple(row) for row in connection.execute(text(query))]
    # 1,000 x 2 + 100 x 8 = 2,800 millionths of a dollar
    assert rows == [("openai:program-1", "ann", 2_800_000_000_000), ("openai:program-2", "ann", 2_800_000_000_000)]


def test_the_exporter_can_be_configured_by_its_environment_alone(
    api: Running, keys: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{api.url}{URL}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", f"authorization=Bearer%20{keys['ingest']}")
    assert OTLPSpanExporter().export(_spans()[:1]) is SpanExportResult.SUCCESS


def test_spans_that_are_no_model_calls_are_ignored(ingest: httpx.Client) -> None:
    web = span(1, {"http.request.method": "GET"})
    agent = span(2, {"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 5})
    answer = ingest.post(URL, json=export(web, agent))
    assert (answer.status_code, answer.json()) == (200, {})


@pytest.mark.parametrize("nothing", [{}, {"resourceSpans": []}, {"resourceSpans": [{"scopeSpans": [{"spans": []}]}]}])
def test_an_export_without_spans_is_taken(ingest: httpx.Client, nothing: dict[str, Any]) -> None:
    answer = ingest.post(URL, json=nothing)
    assert (answer.status_code, answer.json()) == (200, {})


def test_what_is_no_export_is_refused_by_name(ingest: httpx.Client) -> None:
    """A completion sent to the wrong route would be lost with a 200."""
    answer = ingest.post(URL, json={"id": "chatcmpl-1", "usage": {"prompt_tokens": 1}})
    assert answer.status_code == 400
    assert "resourceSpans" in answer.text


def _one(n: int, **fields: Any) -> dict[str, Any]:
    found: dict[str, Any] = body("otlp", n)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    return {**found, **fields}


def test_a_broken_span_costs_no_other(ingest: httpx.Client, admin: httpx.Client) -> None:
    broken = [_one(11, startTimeUnixNano="soon"), _one(12, attributes=5), 7, _one(13, startTimeUnixNano="9" * 19)]
    answer = ingest.post(URL, json=export(_one(10), *broken, _one(14)))  # type: ignore[arg-type]
    assert answer.status_code == 200
    partial = answer.json()["partialSuccess"]
    assert partial["rejectedSpans"] == "4"
    assert partial["errorMessage"] == ("4 rejected, the first for startTimeUnixNano: not nanoseconds since the epoch")
    for n in (10, 14):
        assert admin.get(f"/v1/usage/events/openai:otlp-{n}/charge").json()["status"] == "priced"


def test_partial_success_is_protobuf_where_the_request_is(ingest: httpx.Client) -> None:
    request = ExportTraceServiceRequest()
    far = request.resource_spans.add().scope_spans.add().spans.add()
    far.trace_id, far.span_id, far.start_time_unix_nano = b"t" * 16, b"s" * 8, 4_000_000_000_000_000_000
    far.attributes.add(key="gen_ai.operation.name").value.string_value = "chat"
    far.attributes.add(key="gen_ai.provider.name").value.string_value = "openai"
    far.attributes.add(key="gen_ai.request.model").value.string_value = "o3"
    far.attributes.add(key="gen_ai.usage.input_tokens").value.int_value = 5
    answer = ingest.post(URL, content=request.SerializeToString(), headers=PROTOBUF)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/x-protobuf")
    partial = ExportTraceServiceResponse.FromString(answer.content).partial_success
    assert partial.rejected_spans == 1
    assert partial.error_message == "1 rejected, the first for occurred_at: is more than 24 hours ahead"


def test_a_span_that_contradicts_itself_is_kept_and_not_rejected(ingest: httpx.Client, admin: httpx.Client) -> None:
    more = {"key": "gen_ai.usage.reasoning.output_tokens", "value": {"intValue": "101"}}
    found = _one(20)
    answer = ingest.post(URL, json=export({**found, "attributes": [*found["attributes"], more]})).json()
    assert answer["partialSuccess"]["rejectedSpans"] == "0"
    assert answer["partialSuccess"]["errorMessage"].startswith(
        "1 kept as exceptions, the first for part_exceeds_whole: gen_ai.usage.reasoning.output_tokens 101 > "
    )
    kept = admin.get("/v1/exceptions", params={"kind": "contradiction"}).json()["exceptions"]
    assert [(row["event_id"], row["occurred_at"]) for row in kept] == [("openai:otlp-20", "2026-07-01T10:00:00Z")]


def test_a_conflicting_span_is_told_as_rejected(ingest: httpx.Client) -> None:
    assert ingest.post(URL, json=export(_one(30))).json() == {}
    [answer] = [ingest.post(URL, json=export(_one(30, endTimeUnixNano=str(1_782_900_009 * 10**9)))).json()]
    assert answer["partialSuccess"]["rejectedSpans"] == "1"
    assert answer["partialSuccess"]["errorMessage"].startswith("1 in conflict, the first openai:otlp-30: ")


@pytest.mark.parametrize(
    ("content", "kind", "status", "code"),
    [
        (b"\x0a\xff\xff", "application/x-protobuf", 400, 3),
        (b'{"resourceSpans": 5', "application/json", 400, None),
        (b"[]", "application/json", 400, None),
        (b"", "text/plain", 415, None),
        (b"\0" * 10_000_001, "application/x-protobuf", 413, 8),
    ],
)
def test_what_can_not_be_read_at_all_is_refused_in_the_senders_form(
    ingest: httpx.Client, content: bytes, kind: str, status: int, code: int | None
) -> None:
    answer = ingest.post(URL, content=content, headers={"Content-Type": kind})
    assert answer.status_code == status
    if code is None:
        assert set(answer.json()) == {"error", "field", "value", "message"}
    else:
        assert answer.headers["Content-Type"] == "application/x-protobuf"
        told = Status.FromString(answer.content)
        assert (told.code, bool(told.message)) == (code, True)


def test_without_a_good_key_the_exporter_fails_and_does_not_try_again(api: Running, keys: dict[str, str]) -> None:
    started = time.monotonic()
    assert exporter(api, "tc_acme_none").export(_spans()[:1]) is SpanExportResult.FAILURE
    assert exporter(api, keys["viewer"]).export(_spans()[:1]) is SpanExportResult.FAILURE
    assert time.monotonic() - started < 5
    answer = api.client().post(URL, content=b"", headers=PROTOBUF)
    told = Status.FromString(answer.content)
    assert (answer.status_code, answer.headers["WWW-Authenticate"], told.code) == (401, "Bearer", 16)
    assert told.message == "the API key is missing, malformed, unknown or revoked"


def test_a_busy_server_is_tried_again_after_the_stated_time(database: Database, keys: dict[str, str]) -> None:
    going = threading.Event()

    def slow() -> Any:
        yield b"["
        assert going.wait(20)
        yield b"]"

    with (
        running(database, Settings(max_requests=1)) as server,
        ThreadPoolExecutor(2) as pool,
        server.client(keys["ingest"]) as first,
        server.client(keys["ingest"]) as other,
    ):
        held = pool.submit(lambda: first.post("/v1/usage/events", content=slow()))
        while server.app.state.service.in_work == 0:
            time.sleep(0.01)
        refused = other.post(URL, content=b"", headers=PROTOBUF)
        sending = pool.submit(lambda: exporter(server, keys["ingest"]).export(_spans()[:1]))
        time.sleep(0.3)
        assert not sending.done()
        going.set()
        assert held.result().status_code == 200
        assert sending.result() is SpanExportResult.SUCCESS
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
    assert Status.FromString(refused.content).code == 8


def test_a_lost_database_is_told_in_the_senders_form_and_the_export_can_be_sent_again(
    database: Database, server: Server, keys: dict[str, str]
) -> None:
    one = ExportTraceServiceRequest.FromString(shared("otlp/gen_ai_spans.pb").read_bytes()).SerializeToString()
    with running(database) as api, api.client(keys["ingest"]) as client:
        assert client.post(URL, content=b"", headers=PROTOBUF).status_code == 200
        server.admin(f"ALTER DATABASE {database.name} ALLOW_CONNECTIONS false")
        server.admin(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database.name}'")
        try:
            lost = client.post(URL, content=one, headers=PROTOBUF)
        finally:
            server.admin(f"ALTER DATABASE {database.name} ALLOW_CONNECTIONS true")
        assert lost.status_code == 503
        assert int(lost.headers["Retry-After"]) >= 1
        told = Status.FromString(lost.content)
        assert (told.code, database.name in told.message) == (14, False)
        assert client.post(URL, content=one, headers=PROTOBUF).content == b""
