"""Hand-made OTLP/JSON spans, and the calls they are read to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accounting.usage.formats.contradicted import ContradictedCall
from accounting.usage.otlp.decode import from_tree
from accounting.usage.otlp.spans import calls
from accounting.usage.otlp.vocabulary import wanted
from accounting.usage.wire import Call, Context

TRACE, SPAN = "4df0ac775ee2ae7a67120b7f8e16168c", "f6cdb2bd343ebc8e"
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4o"}


def value(given: Any) -> dict[str, Any]:
    """A value as OTLP/JSON writes it: int64 as decimal text."""
    if isinstance(given, bool):
        return {"boolValue": given}
    if isinstance(given, int):
        return {"intValue": str(given)}
    return {"doubleValue": given} if isinstance(given, float) else {"stringValue": given}


def span(attributes: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "traceId": TRACE,
        "spanId": SPAN,
        "name": "canary name",
        "kind": 3,
        "startTimeUnixNano": "1789041600000000999",
        "endTimeUnixNano": "1789041601200000000",
        "attributes": [{"key": key, "value": value(given)} for key, given in attributes.items()],
        "status": {},
        **fields,
    }


def request(*spans: Mapping[str, Any], **resource: str) -> dict[str, Any]:
    described = {"attributes": [{"key": key.replace("_", "."), "value": value(text)} for key, text in resource.items()]}
    return {"resourceSpans": [{"resource": described, "scopeSpans": [{"spans": list(spans)}]}]}


def read(*spans: Mapping[str, Any], context: Context | None = None, **resource: str) -> list[Call | ContradictedCall]:
    return list(calls(from_tree(request(*spans, **resource), wanted), context or Context()))


def one(attributes: Mapping[str, Any], **fields: Any) -> Call:
    """The one call of one span; its evidence holds no text of a person and no id."""
    [call] = read(span(attributes, **fields))
    assert isinstance(call, Call)
    assert not any(word in str(call.usage_body) for word in ("canary", TRACE, SPAN))
    return call
