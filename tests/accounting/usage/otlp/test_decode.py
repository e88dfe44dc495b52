"""OTLP in every encoding met: protobuf, JSON with hex ids, JSON as protobuf's own printer writes it."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest
from google.protobuf.json_format import MessageToJson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from accounting.errors import InvalidInput
from accounting.usage.otlp.decode import Span, from_json, from_protobuf, from_tree, identifier
from accounting.usage.otlp.vocabulary import wanted
from tests.accounting.usage.otlp.spans import CHAT, SPAN, TRACE, request, span
from tests.shared_data import shared


def spans_of(tree: dict[str, Any]) -> list[Span]:
    return from_json(json.dumps(tree).encode(), wanted)


def test_one_hundred_spans_are_the_same_in_every_encoding() -> None:
    raw = shared("otlp/gen_ai_spans.pb").read_bytes()
    spans = from_protobuf(raw, wanted)
    assert len(spans) == 100
    assert spans == from_json(shared("otlp/gen_ai_spans.otlp.json").read_bytes(), wanted)
    message = ExportTraceServiceRequest.FromString(raw)
    printed = MessageToJson(message)
    assert '"kind": "SPAN_KIND_CLIENT"' in printed
    assert spans == from_json(printed.encode(), wanted)
    assert spans == from_json(MessageToJson(message, preserving_proto_field_name=True).encode(), wanted)
    assert spans == from_tree(json.loads(printed), wanted)


def test_only_wanted_attributes_are_decoded() -> None:
    given = {**CHAT, "gen_ai.input.messages": "canary", "gen_ai.usage.input_tokens": 5, "gen_ai.usage.new_kind": 6}
    [found] = spans_of(request(span(given), service_name="s", host_name="canary"))
    assert found.attributes == {**CHAT, "gen_ai.usage.input_tokens": 5, "gen_ai.usage.new_kind": 6}
    assert found.resource == {"service.name": "s"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"intValue": "59200"}, 59_200),
        ({"intValue": 59_200}, 59_200),
        ({"int_value": "59200"}, 59_200),
        ({"doubleValue": 59_200.0}, 59_200.0),
        ({"stringValue": "59200"}, "59200"),
        ({"boolValue": False}, False),
        ({"doubleValue": "-Infinity"}, float("-inf")),
        ({"intValue": "5x"}, "5x"),
        ({"intValue": ""}, ""),
        ({}, None),
        (None, None),
        ({"arrayValue": {"values": []}}, None),
    ],
)
def test_values_of_every_kind(given: Any, expected: Any) -> None:
    [found] = spans_of(request(span({}) | {"attributes": [{"key": "gen_ai.usage.input_tokens", "value": given}]}))
    assert found.attributes == {"gen_ai.usage.input_tokens": expected}


def test_ids_are_hex_or_base64() -> None:
    assert identifier(TRACE.upper(), 16) == TRACE
    assert identifier(b64encode(bytes.fromhex(TRACE)).decode(), 16) == TRACE
    assert identifier(b64encode(bytes.fromhex(SPAN)).decode(), 8) == SPAN
    assert identifier("", 8) == ""
    assert identifier(None, 8) == ""
    assert identifier("span-7", 8) == "span-7"


@pytest.mark.parametrize("code", [2, "2", "STATUS_CODE_ERROR"])
def test_an_error_by_number_and_by_name(code: Any) -> None:
    [failed] = spans_of(request(span({}, status={"code": code})))
    [fine] = spans_of(request(span({}, status={"code": 1})))
    assert (failed.error, fine.error) == (True, False)


def test_absent_parts_are_empty() -> None:
    assert spans_of({}) == []
    assert spans_of({"resourceSpans": None}) == []
    assert spans_of({"resourceSpans": [{"scopeSpans": [{"spans": [{}]}]}]}) == [Span("", "", "", 0, 0, False, {}, {})]


@pytest.mark.parametrize("moment", [-1, 1.5, True, "yesterday", 1 << 64])
def test_a_time_that_is_none_is_refused(moment: Any) -> None:
    with pytest.raises(InvalidInput, match="not nanoseconds since the epoch"):
        spans_of(request(span({}, startTimeUnixNano=moment)))


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"resourceSpans": 5}', b"\xff", b"[" * 100_000, b'{"x":' + b"[" * 100_000]
)
def test_json_of_another_shape_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidInput, match="not an OTLP/JSON trace export request"):
        from_json(body, wanted)


def test_protobuf_that_is_cut_off_is_refused() -> None:
    raw = shared("otlp/gen_ai_spans.pb").read_bytes()
    with pytest.raises(InvalidInput, match="not an OTLP trace export request"):
        from_protobuf(raw[:-7], wanted)
