"""Which calls does an OTLP/JSON export request hold, whose spans follow OpenTelemetry's GenAI conventions?"""

from __future__ import annotations

from accounting.usage.formats.contradicted import ContradictedCall
from accounting.usage.formats.structure import mapping, mappings
from accounting.usage.otlp.decode import Span, from_tree
from accounting.usage.otlp.spans import calls
from accounting.usage.otlp.vocabulary import wanted
from accounting.usage.wire import Body, Call, Context

NAME = "otlp"
IDENTITY = (
    "gen_ai.usage.input_tokens holds cache reads and cache writes, gen_ai.usage.output_tokens holds the reasoning, each modality "
    "is inside its total; two spellings of one count agree"
)
KEYS: tuple[tuple[str, str], ...] = ()
"""Any provider's calls: the envelope says that the rule applies."""


def recognises(body: Body) -> bool:
    """An export request, or the evidence of one span; OpenInference's spans are another format."""
    return ("resourceSpans" in body or "resource_spans" in body) and not speaks_openinference(body)


def speaks_openinference(body: Body) -> bool:
    """Has any span of the request an attribute of OpenInference?"""
    return any(
        str(attribute.get("key")).startswith(("openinference.", "llm.token_count."))
        for resource in mappings(body.get("resourceSpans") or body.get("resource_spans"))
        for scope in mappings(resource.get("scopeSpans") or resource.get("scope_spans"))
        for span in mappings(scope.get("spans"))
        for attribute in mappings(span.get("attributes"))
    )


def read(body: Body | list[Body], context: Context) -> list[Call]:
    """The calls of a request, aggregates marked. Raises ContradictedCall for the first that contradicts itself.

    Where one contradiction must not cost the other calls: `accounting.usage.otlp.spans.calls`.
    """
    found = []
    for request in mappings(body) if isinstance(body, list) else [body]:
        for call in calls(spans_of(request), context):
            if isinstance(call, ContradictedCall):
                raise call
            found.append(call)
    return found


def split(body: Body | list[Body]) -> list[Body]:
    """One body a span, so that a contradiction in one costs no other call."""
    return [
        {"resourceSpans": [{"resource": resource.get("resource"), "scopeSpans": [{"spans": [span]}]}]}
        for request in (mappings(body) if isinstance(body, list) else [body])
        for resource in mappings(request.get("resourceSpans") or request.get("resource_spans"))
        for scope in mappings(resource.get("scopeSpans") or resource.get("scope_spans"))
        for span in mappings(scope.get("spans"))
    ] or [body for body in [body] if isinstance(body, dict)]


def spans_of(body: Body) -> list[Span]:
    """Spans of a request, or the one that a pruned span was."""
    if "attributes" not in body:
        return from_tree(body, wanted)
    start, end = (value if type(value) is int else 0 for value in (body.get("start_ns"), body.get("end_ns")))
    return [Span("", "", "", start, end, body.get("error") is True, dict(mapping(body["attributes"])), {})]
