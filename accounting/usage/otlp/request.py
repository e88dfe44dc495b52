"""Which fields of an OTLP/JSON request are read? Both spellings that protobuf's JSON mapping allows, camelCase and snake_case.

Values whose type differs from sender to sender are left open here and judged one by one in decode.py, so that one odd attribute
does not cost the whole request. Field names are the wire's own.
"""

from __future__ import annotations

from typing import Any

import msgspec


class AnyValue(msgspec.Struct, gc=False):
    stringValue: str | None = None
    intValue: Any = None
    doubleValue: Any = None
    boolValue: bool | None = None
    string_value: str | None = None
    int_value: Any = None
    double_value: Any = None
    bool_value: bool | None = None


class KeyValue(msgspec.Struct, gc=False):
    key: str
    value: AnyValue | None = None


class StatusJson(msgspec.Struct, gc=False):
    code: Any = None


class SpanJson(msgspec.Struct, gc=False):
    traceId: str | None = None
    spanId: str | None = None
    name: str | None = None
    startTimeUnixNano: Any = None
    endTimeUnixNano: Any = None
    attributes: list[KeyValue] | None = None
    status: StatusJson | None = None
    trace_id: str | None = None
    span_id: str | None = None
    start_time_unix_nano: Any = None
    end_time_unix_nano: Any = None


class ScopeSpans(msgspec.Struct, gc=False):
    spans: list[SpanJson] | None = None


class Resource(msgspec.Struct, gc=False):
    attributes: list[KeyValue] | None = None


class ResourceSpans(msgspec.Struct, gc=False):
    resource: Resource | None = None
    scopeSpans: list[ScopeSpans] | None = None
    scope_spans: list[ScopeSpans] | None = None


class Request(msgspec.Struct, gc=False):
    resourceSpans: list[ResourceSpans] | None = None
    resource_spans: list[ResourceSpans] | None = None
