"""How does a wire body become native events beside its evidence? Format module, context, identity; contradictions are kept, not dropped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from accounting.errors import InvalidInput
from accounting.usage.formats.contradicted import ContradictedCall
from accounting.usage.formats.registry import FORMATS, choose
from accounting.usage.identity import event_id
from accounting.usage.native import NativeEvent, normalise
from accounting.usage.parse import Rejection, shown
from accounting.usage.wire import Body, Call, Context, Finding, Suspended, UsageContradiction

_CANONICAL = msgspec.json.Encoder(order="sorted")


@dataclass(frozen=True)
class Booked:
    """A native event read from a wire body.

    Attributes:
        index: position of the body in what was sent.
        evidence: what is kept of the call, JSON (see `evidence`).
        context, body: the whole context and the pruned body as JSON texts, for an exception.
    """

    index: int
    event: NativeEvent
    evidence: bytes
    findings: tuple[Finding, ...]
    context: str
    body: str


@dataclass
class WireRead:
    """What a list of bodies holds: len(booked) + len(rejected) + len(suspended) + aggregates = calls read."""

    wire_format: str
    booked: list[Booked] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)
    suspended: list[Suspended] = field(default_factory=list)
    aggregates: int = 0


def read(wire_format: str, pairs: Iterable[tuple[Body | list[Body], Context]]) -> WireRead:
    """Reads (body, context) pairs of one format. Raises InvalidInput for a format that no module has."""
    if wire_format not in FORMATS:
        raise InvalidInput("format", wire_format, f"is none of {', '.join(sorted(FORMATS))}")
    result = WireRead(wire_format)
    for index, (body, context) in enumerate(pairs):
        module = choose(wire_format, context)
        try:
            calls = module.read(body, context)
        except UsageContradiction as contradiction:
            result.suspended.append(_suspended(index, module.NAME, context, contradiction))
        else:
            for call in calls:
                _book(result, index, call, context, module.NAME)
    return result


def evidence(call: Call, context: Context, wire_format: str) -> bytes:
    """What is kept of a call: format, context without identity, and the pruned body, as JSON."""
    return _CANONICAL.encode(
        {"format": wire_format, "part": call.part, "context": _kept(context), "body": call.usage_body}
    )


_IDENTITY = ("user_id", "account_id", "tags", "task_id", "trace_id")


def _kept(context: Context) -> dict[str, Any]:
    """A context without who made the call: that is on the event's row alone, where it can be erased."""
    return {name: value for name, value in msgspec.to_builtins(context).items() if name not in _IDENTITY}


def _suspended(index: int, name: str, context: Context, contradiction: UsageContradiction) -> Suspended:
    body = contradiction.usage_body
    if isinstance(contradiction, ContradictedCall):
        call = contradiction.call
    else:
        call = Call(usage=None, usage_body=body, provider=context.provider or name, surface=name, model=context.model)
    return Suspended(
        index,
        event_id(call, context, name),
        contradiction.reason,
        contradiction.equation,
        name,
        _CANONICAL.encode(context).decode(),
        _CANONICAL.encode(body).decode(),
    )


def _book(result: WireRead, index: int, call: Call, context: Context, wire_format: str) -> None:
    if call.aggregate:
        result.aggregates += 1
        return
    fields = _fields(call, context, wire_format)
    try:
        event = msgspec.convert(fields, NativeEvent)
    except msgspec.ValidationError as error:
        path = _PATH.search(str(error))
        name = path["path"] if path else "event"
        value = fields.get(name) if path else None
        result.rejected.append(Rejection(index, fields["event_id"], name, shown(value), str(error)))
        return
    if (fault := normalise(event)) is not None:
        result.rejected.append(Rejection(index, event.event_id, fault[0], shown(fault[1]), fault[2]))
        return
    kept = evidence(call, context, wire_format)
    whole, body = _CANONICAL.encode(context).decode(), _CANONICAL.encode(call.usage_body).decode()
    result.booked.append(Booked(index, event, kept, call.findings, whole, body))


_PATH = re.compile(r"`\$\.(?P<path>[^`]*)`|`(?P<missing>[a-z_]+)`$")

_BOTH = (
    "occurred_at",
    "first_token_at",
    "completed_at",
    "region",
    "batch",
    "status",
    "account_id",
    "user_id",
    "feature",
    "task_id",
    "trace_id",
    "tags",
    "reasoning_effort",
)
"""What context and body may both state: the context wins."""
_CONTEXT_ONLY = ("deployment", "replica", "requested_service_tier", "purpose", "retry_of", "score")
_CALL_ONLY = ("provider", "surface", "response_id", "service_tier", "reported_cost_usd", "usage")


def _fields(call: Call, context: Context, wire_format: str) -> dict[str, Any]:
    fields: dict[str, Any] = {name: _first(getattr(context, name), getattr(call, name)) for name in _BOTH}
    fields |= {name: getattr(context, name) for name in _CONTEXT_ONLY}
    fields |= {name: getattr(call, name) for name in _CALL_ONLY}
    fields |= _models(call, context)
    if isinstance(fields["tags"], Mapping):
        fields["tags"] = dict(fields["tags"])
    fields["event_id"] = event_id(call, context, wire_format)
    if fields["status"] is None:
        fields["status"] = "ok"
    return {name: value for name, value in fields.items() if value is not None or name == "usage"}


def _models(call: Call, context: Context) -> dict[str, str | None]:
    """Who asked for what, and what was served: a body with one name states the served one where the context states another."""
    requested = context.model or call.model
    served = call.response_model
    if served is None and context.model is not None and call.model not in (None, context.model):
        served = call.model
    return {"model": requested or served, "response_model": None if served == (requested or served) else served}


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def contexts(items: object, wire_format: str) -> list[tuple[Body | list[Body], Context]]:
    """Pairs from a request: a body, `{response, context}`, or a list of either.

    Raises InvalidInput for an item of neither kind, or a context with an unknown field or a bad value.
    """
    listed = items if isinstance(items, list) else [items]
    pairs: list[tuple[Body | list[Body], Context]] = []
    for index, item in enumerate(listed):
        if not isinstance(item, dict):
            raise InvalidInput(f"[{index}]", shown(item), f"a {wire_format} body or {{response, context}} is expected")
        if "response" in item and set(item) <= {"response", "context"}:
            pairs.append((item["response"], _context(index, item.get("context"))))
        else:
            pairs.append((item, Context()))
    return pairs


def _context(index: int, given: object) -> Context:
    try:
        return msgspec.convert(given or {}, Context)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"[{index}].context", shown(given), str(error)) from error
