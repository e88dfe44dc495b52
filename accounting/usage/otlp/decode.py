"""Which spans does an OTLP/HTTP export request hold? Protobuf or JSON in every spelling met, reduced to the attributes wanted."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from accounting.errors import InvalidInput
from accounting.usage.otlp.request import AnyValue, KeyValue, Request, SpanJson

Attributes = dict[str, Any]
Wanted = Callable[[str], bool]


class Span(msgspec.Struct, gc=False):
    """One span, without anything but what a model call is read from.

    Attributes:
        trace_id, span_id: lower-case hex; '' where absent. An id in neither hex nor base64 stays as it was sent.
        start_ns, end_ns: nanoseconds since the epoch; 0 where absent.
        error: the span's status says so.
        attributes, resource: the wanted ones only; values are str, bool, int, float, or None for one of another kind.
    """

    trace_id: str
    span_id: str
    name: str
    start_ns: int
    end_ns: int
    error: bool
    attributes: Attributes
    resource: Attributes


def from_protobuf(body: bytes, wanted: Wanted) -> list[Span]:
    """Spans of a serialised ExportTraceServiceRequest. Raises InvalidInput where it is none."""
    try:
        request = ExportTraceServiceRequest.FromString(body)
    except DecodeError as error:
        raise InvalidInput("body", f"{len(body)} bytes", f"not an OTLP trace export request: {error}") from error
    spans: list[Span] = []
    for resource_spans in request.resource_spans:
        resource = _protobuf_attributes(resource_spans.resource.attributes, wanted)
        for scope_spans in resource_spans.scope_spans:
            for span in scope_spans.spans:
                attributes = _protobuf_attributes(span.attributes, wanted)
                spans.append(
                    Span(
                        span.trace_id.hex(),
                        span.span_id.hex(),
                        span.name,
                        span.start_time_unix_nano,
                        span.end_time_unix_nano,
                        span.status.code == 2,
                        attributes,
                        resource,
                    )
                )
    return spans


def _protobuf_attributes(pairs: Any, wanted: Wanted) -> Attributes:
    found: Attributes = {}
    for pair in pairs:
        key = pair.key
        if wanted(key):
            value = pair.value
            # What is not empty is the kind that is set; asking for it costs more than reading it.
            if scalar := value.string_value or value.int_value:
                found[key] = scalar
            else:
                kind = value.WhichOneof("value")
                found[key] = getattr(value, kind) if kind in _PROTOBUF_SCALARS else None
    return found


_PROTOBUF_SCALARS = frozenset(("string_value", "bool_value", "int_value", "double_value"))


def from_json(body: bytes, wanted: Wanted) -> list[Span]:
    """Spans of a request as OTLP/JSON, or as plain protobuf-to-JSON writes it. Raises InvalidInput where it is neither."""
    try:
        return _spans(msgspec.json.decode(body, type=Request), wanted)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput("body", f"{len(body)} bytes", f"not an OTLP/JSON trace export request: {error}") from error


def from_tree(body: Mapping[str, Any], wanted: Wanted) -> list[Span]:
    """As from_json, of a body that is parsed already."""
    try:
        return _spans(msgspec.convert(body, Request), wanted)
    except msgspec.ValidationError as error:
        raise InvalidInput("body", "resourceSpans", f"not an OTLP/JSON trace export request: {error}") from error


def _spans(request: Request, wanted: Wanted) -> list[Span]:
    spans: list[Span] = []
    for resource_spans in request.resourceSpans or request.resource_spans or ():
        described = resource_spans.resource
        resource = _json_attributes((described and described.attributes) or (), wanted)
        for scope_spans in resource_spans.scopeSpans or resource_spans.scope_spans or ():
            spans.extend(_span(span, resource, wanted) for span in scope_spans.spans or ())
    return spans


def _span(span: SpanJson, resource: Attributes, wanted: Wanted) -> Span:
    return Span(
        identifier(span.traceId or span.trace_id, 16),
        identifier(span.spanId or span.span_id, 8),
        span.name or "",
        _nanoseconds(span.startTimeUnixNano or span.start_time_unix_nano, "startTimeUnixNano"),
        _nanoseconds(span.endTimeUnixNano or span.end_time_unix_nano, "endTimeUnixNano"),
        span.status is not None and span.status.code in (2, "2", "STATUS_CODE_ERROR"),
        _json_attributes(span.attributes or (), wanted),
        resource,
    )


def _json_attributes(pairs: list[KeyValue] | tuple[()], wanted: Wanted) -> Attributes:
    return {pair.key: _scalar(pair.value) for pair in pairs if wanted(pair.key)}


def _scalar(value: AnyValue | None) -> Any:
    """int64 may come as decimal text or as a number, a double as text where it is not finite."""
    if value is None:
        return None
    text = value.stringValue if value.stringValue is not None else value.string_value
    if text is not None:
        return text
    whole = value.intValue if value.intValue is not None else value.int_value
    if whole is not None:
        return integer(whole)
    double = value.doubleValue if value.doubleValue is not None else value.double_value
    if double is not None:
        return float(double) if double in ("NaN", "Infinity", "-Infinity") else double
    return value.boolValue if value.boolValue is not None else value.bool_value


def integer(value: Any) -> Any:
    """An int where the value is decimal text of one; anything else stays as it is, to be refused by whoever counts it."""
    if isinstance(value, str) and len(value) <= 20 and value.removeprefix("-").isdecimal() and value.isascii():
        return int(value)
    return value


def _nanoseconds(value: Any, name: str) -> int:
    moment = integer(value)
    if moment is None:
        return 0
    if isinstance(moment, float) and moment.is_integer():
        moment = int(moment)
    if isinstance(moment, bool) or not isinstance(moment, int) or not 0 <= moment < 1 << 64:
        raise InvalidInput(name, value, "not nanoseconds since the epoch")
    return moment


def identifier(text: str | None, size: int) -> str:
    """An id of `size` bytes as lower-case hex, from hex or from base64; the two differ in length."""
    if not text:
        return ""
    if len(text) == 2 * size:
        return text.lower()
    try:
        raw = b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        return text
    return raw.hex() if len(raw) == size else text
