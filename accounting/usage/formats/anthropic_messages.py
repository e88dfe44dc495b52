"""Which calls does an Anthropic Messages body hold? Input excludes the cache; compactions and advisors come on top."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from accounting.usage.formats.answer import details
from accounting.usage.formats.anthropic_iterations import sort_iterations
from accounting.usage.formats.contradicted import ContradictedCall, counted
from accounting.usage.formats.counts import allow, check_parts, check_sum, count, optional_count
from accounting.usage.formats.fields import merged, text
from accounting.usage.formats.structure import items, mapping, mappings
from accounting.usage.native import NativeUsage
from accounting.usage.wire import Body, Call, Context, Finding, UsageContradiction

NAME = "anthropic_messages"
IDENTITY = (
    "total input = input_tokens + cache_read_input_tokens + cache_creation_input_tokens; "
    "ephemeral_5m_input_tokens + ephemeral_1h_input_tokens <= cache_creation_input_tokens (the rest was written for 5 minutes); "
    "thinking_tokens <= output_tokens; input_tokens and output_tokens = sum over the iterations that the served model answered"
)
KEYS = (("anthropic", "messages"), ("google", "messages"), ("aws", "messages"), ("azure", "messages"))
WORDS = ("type", "model", "service_tier", "speed", "inference_geo", "status", "stop_reason", "served_by")
SELLERS = {"msg_bdrk_": "aws", "msg_vrtx_": "google"}
"""Who served a message says the beginning of its id (kept as `served_by`, ids are not); all others are Anthropic's own."""


def recognises(body: Body) -> bool:
    message = _message(body)
    message = mapping(message.get("message")) if message.get("type") == "message_start" else message
    usage = message.get("usage")
    if str(message.get("id")).startswith("msg_bdrk_") or not isinstance(usage, Mapping) or "prompt_tokens" in usage:
        return False
    return message.get("type") in ("message", "message_delta") or "cache_creation_input_tokens" in usage


def read(body: Body | list[Body], context: Context) -> list[Call]:
    if isinstance(body, list):
        return list(calls(*streamed(mappings(body)), context))
    message = _message(body)
    # That envelope is only that of a batch's results.
    return [replace(call, batch=None if message is body else True) for call in calls(message, (), context)]


def _message(body: Body) -> Body:
    """The message itself, also where it stands in a line of a batch's results."""
    result = mapping(body.get("result"))
    if result.get("type") in ("errored", "canceled", "expired"):
        return {"type": "error"}
    message = result.get("message")
    return message if isinstance(message, Mapping) else body


def streamed(events: Sequence[Body]) -> tuple[Body, tuple[Finding, ...]]:
    """The message that a stream's events amount to: counts are cumulative, the last one stated wins."""
    starts = [event["message"] for event in events if isinstance(event.get("message"), Mapping)]
    deltas = [event["usage"] for event in events if isinstance(event.get("usage"), Mapping)]
    message = dict(starts[0]) if starts else {}
    opening = message.get("usage")
    message["usage"] = merged([*([opening] if isinstance(opening, Mapping) else []), *deltas])
    if any(event.get("type") == "error" for event in events):
        message["type"] = "error"
    cut = Finding("stream_incomplete", "no message_delta with usage: the output counted is what the opening event said")
    return message, (cut,) if starts and not deltas else ()


def calls(message: Body, findings: tuple[Finding, ...], context: Context) -> Iterator[Call]:
    """The calls of one message, the answered one first."""
    kept = allow({key: message[key] for key in (*WORDS, "usage") if key in message}, WORDS)
    usage = details(message, "usage", kept)
    response_id = text(message, "id")
    served_by = next((seller for start, seller in SELLERS.items() if (response_id or "").startswith(start)), None)
    served_by = served_by or next((seller for seller in SELLERS.values() if message.get("served_by") == seller), None)
    if served_by:
        kept["served_by"] = served_by
    geo = text(usage, "inference_geo")
    main = Call(
        usage=None,
        usage_body=kept,
        provider=context.provider or served_by or "anthropic",
        surface=context.surface or "messages",
        model=text(message, "model"),
        response_id=response_id,
        service_tier="fast" if usage.get("speed") == "fast" else text(usage, "service_tier"),
        region=None if geo == "not_available" else geo,
        status="error" if message.get("type") == "error" else None,
        findings=findings,
    )
    if not usage:
        yield main
        return
    try:
        served, others, unknown = sort_iterations(items(usage, "iterations", kept), kept)
    except UsageContradiction as contradiction:
        raise ContradictedCall(contradiction, main) from contradiction
    if unknown:
        detail = f"{unknown} iterations of a kind that no rule knows are not counted"
        main = replace(main, findings=(*findings, Finding("unknown_iteration", detail)))
    yield counted(main, lambda: _served(usage, served, kept))
    for part, item in others:
        further = replace(main, part=part, model=text(item, "model") or main.model, findings=())
        yield counted(further, lambda item=item: _counts(item, kept))  # type: ignore[misc]


def _served(usage: Body, served: list[Body], kept: Mapping[str, Any]) -> NativeUsage:
    counts = _counts(usage, kept)
    for name in ("input_tokens", "output_tokens") if served else ():
        parts = {f"iterations.{place}.{name}": count(item, name, kept) for place, item in enumerate(served)}
        check_sum((name, count(usage, name, kept)), parts, kept)
    details(usage, "server_tool_use", kept)
    counts.web_search_requests = optional_count(usage, "server_tool_use.web_search_requests", kept) or 0
    counts.web_fetch_requests = optional_count(usage, "server_tool_use.web_fetch_requests", kept) or 0
    return counts


def _counts(usage: Body, kept: Mapping[str, Any]) -> NativeUsage:
    for name in ("cache_creation", "output_tokens_details"):
        details(usage, name, kept)
    five, hour, thinking = (
        optional_count(usage, path, kept) or 0
        for path in (
            "cache_creation.ephemeral_5m_input_tokens",
            "cache_creation.ephemeral_1h_input_tokens",
            "output_tokens_details.thinking_tokens",
        )
    )
    written = optional_count(usage, "cache_creation_input_tokens", kept)
    written = five + hour if written is None else written
    split = {"ephemeral_5m_input_tokens": five, "ephemeral_1h_input_tokens": hour}
    check_parts(("cache_creation_input_tokens", written), split, kept)
    output, cached = count(usage, "output_tokens", kept), optional_count(usage, "cache_read_input_tokens", kept) or 0
    check_parts(("output_tokens", output), {"thinking_tokens": thinking}, kept)
    return NativeUsage(
        input_tokens=count(usage, "input_tokens", kept) + cached + written,
        cache_read_tokens=cached,
        cache_write_5m_tokens=written - hour,
        cache_write_1h_tokens=hour,
        output_tokens=output,
        reasoning_tokens=thinking,
    )
