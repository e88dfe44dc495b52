"""Which call does a Bedrock Converse body hold? Input excludes the cache, the total includes it; the model is not in the body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accounting.usage.formats.answer import details
from accounting.usage.formats.contradicted import counted
from accounting.usage.formats.counts import allow, check_parts, check_sum, count, optional_count
from accounting.usage.formats.fields import first_text, merged, text
from accounting.usage.formats.structure import items, mapping, mappings
from accounting.usage.native import NativeUsage
from accounting.usage.wire import Body, Call, Context, Finding, UsageContradiction

NAME = "bedrock_converse"
IDENTITY = (
    "totalTokens = inputTokens + cacheReadInputTokens + cacheWriteInputTokens + outputTokens; "
    "the sum of cacheDetails <= cacheWriteInputTokens (the rest has no lifetime stated)"
)
KEYS = (("aws", "converse"), ("aws", "converse_stream"))
WORDS = ("stopReason", "ttl", "type", "latency")
TWINS = {"cacheReadInputTokens": "cacheReadInputTokenCount", "cacheWriteInputTokens": "cacheWriteInputTokenCount"}
"""Fields that some regions send twice; the one is taken and the other checked."""

Object = Mapping[str, Any]


def recognises(body: Body) -> bool:
    usage = mapping(_event(body).get("usage"))
    return "inputTokens" in usage and "totalTokens" in usage


def read(body: Body | list[Body], context: Context) -> list[Call]:
    events = [_event(event) for event in (mappings(body) if isinstance(body, list) else [body])]
    response = merged(events)
    kept = allow(
        {key: response[key] for key in ("stopReason", "usage", "serviceTier", "performanceConfig") if key in response},
        WORDS,
    )
    usage = details(response, "usage", kept)
    tools = mapping(usage.get("serverToolUsage"))
    used = sum(optional_count(tools, name, kept) or 0 for name in tools if not isinstance(tools[name], Mapping))
    units = Finding("unpriced_units", f"serverToolUsage {used} is not priced")
    call = Call(
        usage=None,
        usage_body=kept,
        provider=context.provider or "aws",
        surface=context.surface or "converse",
        model=first_text(response, "modelId", "trace.promptRouter.invokedModelId"),
        service_tier=_tier(response),
        findings=(units,) if used else (),
    )
    return [counted(call, lambda: _counts(usage, kept))] if usage else [call]


def _event(body: Body) -> Body:
    """The last event of a stream carries usage and tier under `metadata`."""
    metadata = body.get("metadata")
    return metadata if isinstance(metadata, Mapping) and "usage" in metadata else body


def _tier(response: Body) -> str | None:
    """Latency-optimised inference has its own price and is a tier of its own."""
    if mapping(response.get("performanceConfig")).get("latency") == "optimized":
        return "latency_optimized"
    return text(response, "serviceTier.type")


def _counts(usage: Object, kept: Object) -> NativeUsage:
    found = {name: optional_count(usage, name, kept) or 0 for name in TWINS}
    for name, twin in TWINS.items():
        stated = optional_count(usage, twin, kept)
        if stated is not None and name in usage and stated != found[name]:
            raise UsageContradiction("sources_disagree", f"{name} {found[name]} <> {twin} {stated}", kept)
        found[name] = found[name] if stated is None else stated
    cached, written = found.values()
    fresh, output = count(usage, "inputTokens", kept), count(usage, "outputTokens", kept)
    total = optional_count(usage, "totalTokens", kept)
    parts = {"inputTokens": fresh, **found, "outputTokens": output}
    check_sum(("totalTokens", total), parts, kept)
    lifetimes = {"5m": 0, "1h": 0}
    for detail in items(usage, "cacheDetails", kept):
        if (ttl := text(detail, "ttl")) in lifetimes:
            lifetimes[ttl] += optional_count(detail, "inputTokens", kept) or 0
    named = {f"cacheDetails {ttl}": tokens for ttl, tokens in lifetimes.items()}
    check_parts(("cacheWriteInputTokens", written), named, kept)
    return NativeUsage(
        input_tokens=fresh + cached + written,
        cache_read_tokens=cached,
        cache_write_5m_tokens=lifetimes["5m"],
        cache_write_1h_tokens=lifetimes["1h"],
        cache_write_tokens=written - sum(lifetimes.values()),
        output_tokens=output,
    )
