"""How does a Langfuse export, batch or event come apart into observations, each with what its trace says of it?"""

from __future__ import annotations

from accounting.usage.formats.fields import merged
from accounting.usage.formats.structure import mapping, mappings
from accounting.usage.wire import Body

ABOUT = ("userId", "sessionId", "tags")
"""What of a trace is read."""


def split(body: Body | list[Body]) -> list[Body]:
    """One body an observation, so that a contradiction in one costs no other call."""
    if isinstance(body, list):
        return [piece for item in mappings(body) for piece in split(item)]
    if "batch" in body:
        return _joined(mappings(body["batch"]))
    if "observations" in body:
        trace = mapping(body.get("trace") or body)
        about = {key: trace[key] for key in ABOUT if key in trace}
        return [{"trace": about, "observations": [item]} for item in mappings(body["observations"])]
    return [body]


def observation(piece: Body) -> tuple[Body, Body]:
    """(observation, trace) of one piece; an ingestion event's own type says what kind of observation its body is."""
    if "observations" in piece:
        found = mappings(piece["observations"])
        return found[0] if found else {}, mapping(piece.get("trace"))
    inner = piece.get("body")
    return ({**mapping(inner), "type": _kind(piece).upper()}, {}) if isinstance(inner, dict) else (piece, {})


def _kind(event: Body) -> str:
    return str(event.get("type")).rpartition("-")[0]


def _joined(events: list[Body]) -> list[Body]:
    """The events of one observation in a batch are cumulative: the last value wins."""
    bodies: dict[tuple[str, str], Body] = {}
    for place, event in enumerate(events):
        inner, kind = mapping(event.get("body")), _kind(event)
        key = (kind, str(inner.get("id", place)))
        bodies[key] = merged((bodies.get(key, {}), {**inner, "type": kind.upper()}))
    traces = {name: body for (kind, name), body in bodies.items() if kind == "trace"}
    return [
        {"trace": traces.get(str(body.get("traceId")), {}), "observations": [body]}
        for (kind, _), body in bodies.items()
        if kind != "trace"
    ]
