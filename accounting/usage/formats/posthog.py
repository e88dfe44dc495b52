"""Which call does a PostHog `$ai_generation` event hold? Its own flag says whether the input excludes the cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accounting.usage.formats.contradicted import counted
from accounting.usage.formats.counts import allow, check_parts, optional_count
from accounting.usage.formats.fields import amount, first_text, text
from accounting.usage.formats.structure import mapping, mappings, moment
from accounting.usage.formats.tokens import Tokens
from accounting.usage.native import NativeUsage
from accounting.usage.wire import Body, Call, Context

NAME = "posthog"
IDENTITY = (
    "$ai_cache_reporting_exclusive true: total input = $ai_input_tokens + $ai_cache_read_input_tokens + "
    "$ai_cache_creation_input_tokens; false: the input holds both; absent: exclusive for Anthropic, inclusive for all others; "
    "$ai_reasoning_tokens <= $ai_output_tokens, but beside it where Gemini was called through Google's own package"
)
KEYS: tuple[tuple[str, str], ...] = ()
"""Any provider's calls: the envelope says that the rule applies."""
EVENTS = ("$ai_generation", "$ai_embedding")
GOOGLE = ("gemini", "google", "vertex", "vertex_ai", "google_vertex")
REASONING_INSIDE = ("vercel",)
"""Frameworks that write an output with the reasoning inside, Gemini's too."""
WORDS = ("$ai_provider", "$ai_model", "$ai_service_tier", "$ai_framework")
_PREFIX = "$ai_"

Object = Mapping[str, Any]


def recognises(body: Body) -> bool:
    return body.get("event") in EVENTS or any(recognises(event) for event in mappings(body.get("batch")))


def split(body: Body | list[Body]) -> list[Body]:
    """One body an event, so that a contradiction in one costs no other call."""
    events = mappings(body) if isinstance(body, list) else mappings(body.get("batch")) or [body]
    return [event for event in events if event.get("event") in EVENTS]


def read(body: Body | list[Body], context: Context) -> list[Call]:
    return [_call(event, context) for event in split(body)]


def _call(event: Body, context: Context) -> Call:
    properties = mapping(event.get("properties"))
    of_ai = {key: value for key, value in properties.items() if key.startswith(_PREFIX) and key not in _CONTENT}
    kept = {"event": event["event"], "properties": allow(of_ai, WORDS)}
    call = Call(
        usage=None,
        usage_body=kept,
        provider=context.provider or text(properties, "$ai_provider") or "unknown",
        surface=context.surface or NAME,
        model=text(properties, "$ai_model"),
        response_id=text(properties, "$ai_response_id"),
        event_id=first_text(event, "uuid", "properties.$ai_generation_id"),
        service_tier=text(properties, "$ai_service_tier"),
        status="error" if properties.get("$ai_is_error") is True else None,
        occurred_at=moment(event, "timestamp"),
        user_id=first_text(event, "distinct_id", "properties.distinct_id"),
        trace_id=text(properties, "$ai_trace_id"),
    )
    if properties.get("$ai_input_tokens") is None and properties.get("$ai_output_tokens") is None:
        return call
    return counted(call, lambda: _tokens(properties, kept))


_CONTENT = ("$ai_input", "$ai_output", "$ai_output_choices", "$ai_input_state", "$ai_output_state", "$ai_tools")
"""Properties that hold prompts and answers: not even their numbers are kept."""


def _tokens(properties: Object, kept: Object) -> Tokens:
    def stated(name: str) -> int:
        return optional_count(properties, f"$ai_{name}", kept) or 0

    given, cached, written = (
        stated(name) for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    )
    five, hour = stated("cache_creation_5m_input_tokens"), stated("cache_creation_1h_input_tokens")
    written = written or five + hour
    split_ = {"$ai_cache_creation_5m_input_tokens": five, "$ai_cache_creation_1h_input_tokens": hour}
    check_parts(("$ai_cache_creation_input_tokens", written), split_, kept)
    total = given + cached + written
    if not _exclusive(properties):
        parts = {"$ai_cache_read_input_tokens": cached, "$ai_cache_creation_input_tokens": written}
        check_parts(("$ai_input_tokens", given), parts, kept, reason="cached_exceeds_input")
        total = given
    output, reasoning = stated("output_tokens"), stated("reasoning_tokens")
    if _reasoning_beside(properties):
        output += reasoning
    check_parts(("$ai_output_tokens", output), {"$ai_reasoning_tokens": reasoning}, kept)
    audio, image = stated("audio_output_tokens"), stated("image_output_tokens")
    check_parts(
        ("$ai_output_tokens", output), {"$ai_audio_output_tokens": audio, "$ai_image_output_tokens": image}, kept
    )
    native = NativeUsage(
        input_tokens=total,
        cache_read_tokens=cached,
        cache_write_5m_tokens=five,
        cache_write_1h_tokens=hour,
        cache_write_tokens=written - five - hour,
        output_tokens=output,
        reasoning_tokens=reasoning,
        audio_output_tokens=audio,
        image_output_tokens=image,
        web_search_requests=stated("web_search_count"),
    )
    return Tokens(native, reported_cost_usd=amount(properties, "$ai_total_cost_usd", kept))


def _exclusive(properties: Object) -> bool:
    flag = properties.get("$ai_cache_reporting_exclusive")
    return flag if isinstance(flag, bool) else properties.get("$ai_provider") == "anthropic"


def _reasoning_beside(properties: Object) -> bool:
    return properties.get("$ai_provider") in GOOGLE and properties.get("$ai_framework") not in REASONING_INSIDE
