"""Do real token counts, sent as spans, cost what they should? The hundred spans, and spans of the real OpenTelemetry SDK."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from accounting.money import format_minor
from accounting.pricing.rate import rate
from accounting.pricing.reasons import REASONS
from accounting.usage.classes import CACHE_WRITES, USAGE_COLUMNS
from accounting.usage.otlp.decode import Span, from_json, from_protobuf
from accounting.usage.otlp.spans import call_of
from accounting.usage.otlp.vocabulary import wanted
from accounting.usage.wire import Context
from tests.accounting.pricing.rating import batch, list_book
from tests.shared_data import shared

EXCEPTIONS: dict[str, str] = {}
"""Span id -> why its cost differs from the one stated. Empty: all hundred agree."""


def costs(spans: list[Span]) -> dict[str, str]:
    """Span id -> list cost as plain decimal text, or the reason there is none."""
    events = [_event(span) for span in spans]
    out = rate(list_book(), batch(events))
    told = (
        REASONS[reason] or format_minor(cost) for reason, cost in zip(out.reason, out.list_cost.tolist(), strict=True)
    )
    return dict(zip((span.span_id for span in spans), told, strict=True))


def _event(span: Span) -> dict[str, Any]:
    call = call_of(span, Context())
    assert call is not None
    assert call.usage is not None
    usage = call.usage
    columns = {name: getattr(usage, name) for name in USAGE_COLUMNS if name != "uncached_input_tokens"}
    cached = sum(columns[name] for name in ("cache_read_tokens", *CACHE_WRITES))
    return {
        "provider": call.provider,
        "model": call.response_model or call.model,
        "service_tier": call.service_tier,
        "at": call.occurred_at,
        "uncached_input_tokens": usage.input_tokens - cached,
        **columns,
    }


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
def test_a_hundred_spans_cost_what_they_should(encoding: str) -> None:
    if encoding == "protobuf":
        spans = from_protobuf(shared("otlp/gen_ai_spans.pb").read_bytes(), wanted)
    else:
        spans = from_json(shared("otlp/gen_ai_spans.otlp.json").read_bytes(), wanted)
    lines = shared("otlp/expected.jsonl").read_text(encoding="utf-8").splitlines()
    expected = {row["span_id"]: row["expected_cost_usd_2025_11_06"] for row in map(json.loads, lines)}
    found = costs(spans)
    assert found.keys() == expected.keys()
    differing = {span_id for span_id in expected if Decimal(found[span_id]) != Decimal(expected[span_id])}
    assert differing == EXCEPTIONS.keys()
    assert len(expected) == 100


def test_spans_of_the_real_sdk_are_read() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource.create({"service.name": "assistant-api"}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("t")
    with tracer.start_as_current_span("invoke_agent a", attributes={"gen_ai.operation.name": "invoke_agent"}) as agent:
        agent.set_attribute("gen_ai.usage.input_tokens", 1_000)
        with tracer.start_as_current_span("chat gpt-4o", kind=SpanKind.CLIENT) as leaf:
            leaf.set_attributes(
                {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.provider.name": "openai",
                    "gen_ai.request.model": "gpt-4o",
                    "gen_ai.usage.input_tokens": 1_000,
                    "gen_ai.usage.output_tokens": 100,
                    "gen_ai.usage.cache_read.input_tokens": 400,
                    "gen_ai.input.messages": "canary",
                }
            )
    provider.shutdown()
    body = encode_spans(exporter.get_finished_spans()).SerializeToString()
    found = {span.name: call_of(span, Context()) for span in from_protobuf(body, wanted)}
    chat, total = found["chat gpt-4o"], found["invoke_agent a"]
    assert chat is not None
    assert total is not None
    assert (chat.aggregate, total.aggregate) == (False, True)
    assert chat.tags == {"service.name": "assistant-api"}
    [cost] = costs([span for span in from_protobuf(body, wanted) if span.name == "chat gpt-4o"]).values()
    assert cost == "0.003"
