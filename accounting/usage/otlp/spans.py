"""Which spans are model calls, and what do they say? Leaves are booked; an agent's, a tool's or a carried total never is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from accounting.usage.formats.contradicted import ContradictedCall, check_range
from accounting.usage.native import Status
from accounting.usage.otlp.counts import tokens_of
from accounting.usage.otlp.decode import Span
from accounting.usage.otlp.evidence import evidence
from accounting.usage.otlp.leaves import first, is_aggregated, is_leaf
from accounting.usage.otlp.vocabulary import COUNTS, LANGFUSE_USAGE, NAMES
from accounting.usage.wire import Call, Context, UsageContradiction

Object = Mapping[str, Any]


def calls(spans: Iterable[Span], context: Context) -> Iterator[Call | ContradictedCall]:
    """The model calls among spans, in their order; aggregates marked as such, contradictions as values so that none costs another."""
    for span in spans:
        try:
            call = call_of(span, context)
        except ContradictedCall as contradiction:
            yield contradiction
        else:
            if call is not None:
                yield call


def call_of(span: Span, context: Context) -> Call | None:
    """The call of one span; None for a span that is no model call. Raises ContradictedCall."""
    attributes = span.attributes
    leaf, used = is_leaf(attributes), not COUNTS.isdisjoint(attributes) or LANGFUSE_USAGE in attributes
    if leaf is False:
        return _call(span, context, aggregate=True) if used or is_aggregated(attributes) else None
    if not used and is_aggregated(attributes):
        return _call(span, context, aggregate=True)
    if not leaf and not used:
        return None
    if leaf is None and first(attributes, "model") is None and first(attributes, "agent") is not None:
        return _call(span, context, aggregate=True)
    return _call(span, context, counted=used)


def _call(span: Span, context: Context, *, counted: bool = False, aggregate: bool = False) -> Call:
    attributes = span.attributes
    kept = evidence(span)
    started = _moment(span.start_ns)
    model, response_model = first(attributes, "model"), first(attributes, "response_model")
    response_id = first(attributes, "response_id")
    if response_id is not None and response_id.startswith("run_"):
        response_id = None  # the id of an assistant's run, which several calls share
    known: dict[str, Any] = {
        "usage_body": kept,
        "provider": context.provider or first(attributes, "provider") or "unknown",
        "surface": context.surface or "otlp",
        "model": model or response_model,
        "response_model": response_model if model else None,
        "response_id": response_id,
        "event_id": f"{span.trace_id}-{span.span_id}" if span.span_id and not response_id else None,
        "service_tier": first(attributes, "service_tier"),
        "requested_service_tier": first(attributes, "requested_service_tier"),
        "status": _status(span),
        "occurred_at": started,
        "first_token_at": _first_token(attributes, started),
        "completed_at": _moment(span.end_ns) if span.end_ns >= span.start_ns else None,
        "user_id": first(attributes, "user"),
        "trace_id": span.trace_id or None,
        "tags": _tags(span),
    }
    if not counted:
        return Call(usage=None, aggregate=aggregate, **known)
    try:
        tokens = tokens_of(attributes, kept)
        call = Call(
            usage=tokens.usage,
            reported_cost_usd=tokens.reported_cost_usd,
            unclassified_tokens=tokens.unclassified,
            findings=tuple(tokens.findings),
            **known,
        )
        check_range(tokens.usage, call)
    except UsageContradiction as contradiction:
        raise ContradictedCall(contradiction, Call(usage=None, **known)) from contradiction
    return call


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _moment(nanoseconds: int) -> datetime | None:
    """To the microsecond below; None where absent or past the year 9999."""
    if not 0 < nanoseconds < 253_402_300_800_000_000_000:
        return None
    return _EPOCH + timedelta(microseconds=nanoseconds // 1000)


def _first_token(attributes: Object, started: datetime | None) -> datetime | None:
    seconds = attributes.get(NAMES["first_chunk"][0])
    if (
        started is None
        or not isinstance(seconds, int | float)
        or not math.isfinite(seconds)
        or not 0 <= seconds < 86_400
    ):
        return None
    return started + timedelta(seconds=seconds)


def _status(span: Span) -> Status | None:
    if not span.error:
        return None
    return (
        "timeout" if (first(span.attributes, "error") or "").lower().endswith(("timeout", "timeouterror")) else "error"
    )


def _tags(span: Span) -> dict[str, str] | None:
    tags = {
        NAMES[slot][0]: value[:1024]
        for slot, where in (
            ("service", span.resource),
            ("environment", span.resource),
            ("conversation", span.attributes),
            ("agent", span.attributes),
        )
        if (value := first(where, slot))
    }
    return tags or None
