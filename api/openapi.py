"""What does /openapi.json say beyond what FastAPI reads from the routes? The event's schema, examples and errors."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import FastAPI

from accounting.usage.native import NativeEvent
from accounting.usage.wire import Context
from api.schemas import Problem

EXAMPLE_EVENT: dict[str, Any] = {
    "event_id": "req-1",
    "occurred_at": "2026-02-10T09:30:00Z",
    "provider": "openai",
    "model": "gpt-4o",
    "status": "ok",
    "user_id": "user-17",
    "feature": "chat",
    "usage": {"input_tokens": 1200, "cache_read_tokens": 1000, "output_tokens": 250},
}
_EVENT = {"$ref": "#/components/schemas/NativeEvent"}
_LINES = msgspec.json.encode(EXAMPLE_EVENT).decode() + "\n"

_COMPRESSED = [
    {
        "name": "Content-Encoding",
        "in": "header",
        "required": False,
        "schema": {"enum": ["gzip", "deflate", "zstd"]},
        "description": "How the body is compressed.",
    }
]

EVENTS_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"oneOf": [{"type": "array", "items": _EVENT}, _EVENT]},
                "example": [EXAMPLE_EVENT],
            },
            "application/x-ndjson": {"schema": {"type": "string"}, "example": _LINES},
        },
    },
    "parameters": _COMPRESSED,
}
EVENT_BODY: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": _EVENT, "example": EXAMPLE_EVENT}}},
}

EXAMPLE_BODY: dict[str, Any] = {
    "response": {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1770715800,
        "model": "gpt-4o-2024-08-06",
        "usage": {
            "prompt_tokens": 1200,
            "completion_tokens": 250,
            "total_tokens": 1450,
            "prompt_tokens_details": {"cached_tokens": 1000},
        },
    },
    "context": {"user_id": "user-17", "feature": "chat", "purpose": "production"},
}
_WITH_CONTEXT = {
    "type": "object",
    "properties": {
        "response": {"oneOf": [{"type": "object"}, {"type": "array", "items": {"type": "object"}, "minItems": 1}]},
        "context": {"$ref": "#/components/schemas/Context"},
    },
    "required": ["response"],
}
_BODY = {"anyOf": [_WITH_CONTEXT, {"type": "object", "description": "the body alone"}]}

WIRE_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"anyOf": [{"type": "array", "items": _BODY}, _BODY]},
                "example": [EXAMPLE_BODY],
            },
            "application/x-ndjson": {
                "schema": {"type": "string"},
                "example": msgspec.json.encode(EXAMPLE_BODY).decode() + "\n",
            },
        },
    },
    "parameters": _COMPRESSED,
}

_EXAMPLE_SPAN: dict[str, Any] = {
    "traceId": "5b8efff798038103d269b633813fc60c",
    "spanId": "eee19b7ec3c1b174",
    "name": "chat gpt-4o",
    "kind": 3,
    "startTimeUnixNano": "1770715800000000000",
    "endTimeUnixNano": "1770715802000000000",
    "attributes": [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.provider.name", "value": {"stringValue": "openai"}},
        {"key": "gen_ai.request.model", "value": {"stringValue": "gpt-4o"}},
        {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "1200"}},
        {"key": "gen_ai.usage.output_tokens", "value": {"intValue": "250"}},
    ],
}
TRACES_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-protobuf": {"schema": {"type": "string", "format": "binary"}},
            "application/json": {
                "schema": {"type": "object", "description": "ExportTraceServiceRequest in protobuf's JSON"},
                "example": {"resourceSpans": [{"scopeSpans": [{"spans": [_EXAMPLE_SPAN]}]}]},
            },
        },
    },
    "parameters": _COMPRESSED,
}

_MEANING = {
    400: "A value that can't be used; `field` and `value` name it.",
    401: "The API key is missing, malformed, unknown or revoked.",
    403: "The key's scope does not reach this route.",
    404: "No such thing for this tenant.",
    409: "It contradicts what is recorded; what is recorded stays.",
    413: "The body is beyond 10 MB as sent or 64 MB decompressed, or is usage of more than 100,000 rows.",
    415: "A Content-Type or Content-Encoding that is not read.",
    429: "Too much work in hand; send it again after Retry-After seconds.",
    503: "The database is away; nothing was kept, send it again after Retry-After seconds.",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors of a route that needs a key, for its documentation."""
    return {
        status: {"model": Problem, "description": _MEANING[status]} for status in sorted({*statuses, 401, 403, 503})
    }


def install(app: FastAPI) -> None:
    """Adds the event's schema, and leaves out the 422 that FastAPI assumes: a bad value is answered 400."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = made()
            _, components = msgspec.json.schema_components(
                [NativeEvent, Context], ref_template="#/components/schemas/{name}"
            )
            kept = schema["components"]["schemas"]
            kept.update(components)
            for path in schema["paths"].values():
                for operation in path.values():
                    operation["responses"].pop("422", None)
            for name in ("HTTPValidationError", "ValidationError"):
                kept.pop(name, None)
        assert app.openapi_schema is not None
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
