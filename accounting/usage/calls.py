"""How does a call become a native event beside its evidence, and a contradiction something that can be read again?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import structs

from accounting.errors import InvalidInput
from accounting.usage.formats.contradicted import ContradictedCall
from accounting.usage.formats.registry import FORMATS
from accounting.usage.identity import event_id
from accounting.usage.native import NativeEvent, normalise
from accounting.usage.parse import Rejection, shown
from accounting.usage.storable import REASON, readable, unstorable
from accounting.usage.wire import Call, Context, Finding, Suspended, UsageContradiction

NOT_REPLAYABLE = " (not in the evidence kept: send the body again)"
"""Ends the detail of a contradiction that a replay can't judge, since its cause was no number and so is not kept."""

_CANONICAL = msgspec.json.Encoder(order="sorted")


@dataclass(frozen=True)
class Booked:
    """A native event read from a wire body.

    Attributes:
        index: position of the body in what was sent.
        evidence: what is kept of the call, JSON (see `evidence`).
        call, context: what the event was made of. call is None for a span that was read with others of its layout: what contradicts
            itself or deserves a finding is never read so.
        rule: name of the module that read it.
    """

    index: int
    event: NativeEvent
    evidence: bytes
    call: Call | None
    context: Context
    rule: str

    @property
    def findings(self) -> tuple[Finding, ...]:
        return () if self.call is None else self.call.findings


@dataclass
class WireRead:
    """What a list of bodies holds."""

    wire_format: str
    booked: list[Booked] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)
    suspended: list[Suspended] = field(default_factory=list)
    aggregates: int = 0

    @property
    def calls(self) -> int:
        """How many calls were read, whatever became of each."""
        return len(self.booked) + len(self.rejected) + len(self.suspended) + self.aggregates


def keep(result: WireRead, index: int, calls: Iterable[Call | UsageContradiction], context: Context, rule: str) -> None:
    """Adds calls and contradictions of the body at `index`, read by the module `rule`, to what is read so far.

    Of a body that the sender calls a carried total every call is an aggregate, even one that contradicts itself: its own calls are
    told elsewhere.
    """
    for call in calls:
        if context.totals == "carried":
            result.aggregates += 1
        elif isinstance(call, ContradictedCall):
            suspend(result, index, call.call, context, rule, call)
        elif isinstance(call, UsageContradiction):
            unknown = Call(
                usage=None,
                usage_body=call.usage_body,
                provider=context.provider or rule,
                surface=rule,
                model=context.model,
            )
            suspend(result, index, unknown, context, rule, call)
        elif call.aggregate:
            result.aggregates += 1
        else:
            _book(result, index, call, context, rule)


def evidence(call: Call, context: Context, rule: str) -> bytes:
    """What is kept of a call: the rule that read it, context without identity, and the pruned body, as JSON."""
    return _CANONICAL.encode({"format": rule, "part": call.part, "context": _kept(context), "body": call.usage_body})


_IDENTITY = ("user_id", "account_id", "tags", "task_id", "trace_id")


def _kept(context: Context) -> dict[str, Any]:
    """A context without who made the call: that is on the event's row alone, where it can be erased."""
    return {name: value for name, value in msgspec.to_builtins(context).items() if name not in _IDENTITY}


def suspend(
    result: WireRead, index: int, call: Call, context: Context, rule: str, contradiction: UsageContradiction
) -> None:
    """Keeps a call that contradicts itself, with all that a replay needs; what can't be kept is rejected."""
    identity = event_id(call, context, rule)
    if "\x00" in identity:
        result.rejected.append(Rejection(index, readable(identity), "event_id", None, REASON))
        return
    stated = {name: _first(getattr(context, name), getattr(call, name)) for name in _BOTH}
    try:
        whole = msgspec.convert(msgspec.to_builtins(structs.replace(context, **stated)), Context)
    except msgspec.ValidationError as error:
        result.rejected.append(Rejection(index, readable(identity), _field(error), None, str(error)))
        return
    if (name := unstorable(whole)) is not None:
        result.rejected.append(Rejection(index, readable(identity), name, None, REASON))
        return
    texts = _CANONICAL.encode(whole).decode(), _CANONICAL.encode(contradiction.usage_body).decode()
    reason, equation = contradiction.reason, contradiction.equation
    if not _contradicts(rule, contradiction.usage_body, context):
        equation += NOT_REPLAYABLE
    result.suspended.append(Suspended(index, identity, reason, equation, rule, *texts, whole.occurred_at))


def _contradicts(rule: str, usage_body: Mapping[str, Any], context: Context) -> bool:
    """Whether what is kept contradicts itself as the body did: text in the place of a count, for one, is not kept."""
    try:
        FORMATS[rule].read(usage_body, context)
    except (UsageContradiction, InvalidInput):
        return True
    return False


def _book(result: WireRead, index: int, call: Call, context: Context, rule: str) -> None:
    fields = _fields(call, context, rule)
    try:
        event = msgspec.convert(fields, NativeEvent)
    except msgspec.ValidationError as error:
        name = _field(error)
        value = fields.get(name)
        text = shown(value) if isinstance(value, str) else None
        result.rejected.append(Rejection(index, readable(fields["event_id"]), name, text, str(error)))
        return
    if (fault := normalise(event)) is not None:
        result.rejected.append(Rejection(index, event.event_id, fault[0], shown(fault[1]), fault[2]))
    elif (unkept := unstorable(event)) is not None:
        result.rejected.append(Rejection(index, readable(event.event_id), unkept, None, REASON))
    else:
        result.booked.append(Booked(index, event, evidence(call, context, rule), call, context, rule))


def _field(error: msgspec.ValidationError) -> str:
    """Which field an error of conversion names."""
    found = _PATH.search(str(error))
    return (found["path"] or found["missing"]) if found else "event"


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
    "requested_service_tier",
)
"""What context and body may both state: the context wins."""
BATCH_SURFACES = frozenset(("batch", "batch_generate_content", "batch_inference"))
"""Surfaces that are a batch interface, whether or not a body says that it came through one."""
_CONTEXT_ONLY = ("deployment", "replica", "purpose", "retry_of", "score")
_CALL_ONLY = ("provider", "surface", "response_id", "service_tier", "reported_cost_usd", "usage")


def _fields(call: Call, context: Context, rule: str) -> dict[str, Any]:
    fields: dict[str, Any] = {name: _first(getattr(context, name), getattr(call, name)) for name in _BOTH}
    fields |= {name: getattr(context, name) for name in _CONTEXT_ONLY}
    fields |= {name: getattr(call, name) for name in _CALL_ONLY}
    fields |= _models(call, context)
    if fields["batch"] is None and call.surface in BATCH_SURFACES:
        fields["batch"] = True
    if isinstance(fields["tags"], Mapping):
        fields["tags"] = dict(fields["tags"])
    fields["event_id"] = event_id(call, context, rule)
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
