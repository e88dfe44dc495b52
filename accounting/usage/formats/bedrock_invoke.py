"""Which call does a Bedrock InvokeModel body hold? The vendor's own shape; Bedrock adds its metrics to the last chunk of a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from accounting.usage.formats import anthropic_messages
from accounting.usage.formats.contradicted import counted
from accounting.usage.formats.counts import allow, check_sum, count, optional_count
from accounting.usage.formats.fields import merged
from accounting.usage.formats.structure import mapping, mappings
from accounting.usage.native import NativeUsage
from accounting.usage.wire import Body, Call, Context

NAME = "bedrock_invoke"
IDENTITY = (
    "Claude: as anthropic_messages; others: total input = input + cache read + cache write; "
    "outputTokenCount of amazon-bedrock-invocationMetrics = the vendor's own output count where both are stated"
)
KEYS = (("aws", "invoke_model"), ("aws", "invoke_model_stream"), ("aws", "batch_inference"))
METRICS = "amazon-bedrock-invocationMetrics"
WORDS = ("stop_reason", "completionReason", "stopReason")

Object = Mapping[str, Any]

SHAPES: tuple[tuple[str, str, str, str], ...] = (
    ("usage.inputTokens", "usage.outputTokens", "usage.cacheReadInputTokenCount", "usage.cacheWriteInputTokenCount"),
    ("prompt_token_count", "generation_token_count", "", ""),
    ("inputTextTokenCount", "results.tokenCount", "", ""),
    (
        f"{METRICS}.inputTokenCount",
        f"{METRICS}.outputTokenCount",
        f"{METRICS}.cacheReadInputTokenCount",
        f"{METRICS}.cacheWriteInputTokenCount",
    ),
)
"""Where Nova, Llama, Titan and the metrics of any stream state input (cache excluded), output, cache reads and cache writes."""


def recognises(body: Body) -> bool:
    if METRICS in body or str(body.get("id")).startswith("msg_bdrk_"):
        return True
    usage = mapping(body.get("usage"))
    nova = "inputTokens" in usage and "totalTokens" not in usage
    return nova or "generation_token_count" in body or "inputTextTokenCount" in body


def read(body: Body | list[Body], context: Context) -> list[Call]:
    events = mappings(body) if isinstance(body, list) else [body]
    if any("input_tokens" in mapping(mapping(event.get("message")).get("usage")) for event in events) or any(
        "input_tokens" in mapping(event.get("usage")) for event in events
    ):
        return _claude(body, events, context)
    response = merged(events)
    shape = next((shape for shape in SHAPES if _found(response, shape[0]) is not None), None)
    counts = {key: response[key] for key in (*WORDS, *_KEPT) if key in response}
    if "results" in response:
        counts["results"] = [{"tokenCount": result.get("tokenCount")} for result in mappings(response["results"])]
    kept = allow(counts, WORDS)
    call = Call(
        usage=None,
        usage_body=kept,
        provider=context.provider or "aws",
        surface=context.surface or "invoke_model",
        model=None,
    )
    return [call if shape is None else counted(call, lambda: _counts(response, shape, kept))]


_STREAMED = "totalOutputTextTokenCount"
_KEPT = ("usage", "prompt_token_count", "generation_token_count", "inputTextTokenCount", _STREAMED, METRICS)


def _claude(body: Body | list[Body], events: list[Body], context: Context) -> list[Call]:
    """Anthropic's shape, served by Bedrock; the output that Bedrock's metrics repeat is held against it."""
    calls = anthropic_messages.read(body, context)
    repeated = optional_count(merged(events), f"{METRICS}.outputTokenCount")
    main = calls[0]
    if main.usage is not None and repeated is not None:
        parts = {"usage.output_tokens": main.usage.output_tokens}
        check_sum((f"{METRICS}.outputTokenCount", repeated), parts, main.usage_body)
    return [
        replace(call, provider=context.provider or "aws", surface=context.surface or "invoke_model") for call in calls
    ]


def _found(response: Object, path: str) -> int | None:
    return optional_count(response, path) if path else None


def _titan_output(response: Object, kept: Object) -> int:
    """A whole answer counts by result, a stream in its last chunk, by Bedrock's metrics at least; an embedding has no output."""
    if "results" in response:
        return sum(count(result, "tokenCount", kept) for result in mappings(response["results"]))
    stated = (optional_count(response, path, kept) for path in (_STREAMED, f"{METRICS}.outputTokenCount"))
    return next((tokens for tokens in stated if tokens is not None), 0)


def _counts(response: Object, shape: tuple[str, str, str, str], kept: Object) -> NativeUsage:
    fresh, output, cached, written = shape
    titan = output == "results.tokenCount"
    made = _titan_output(response, kept) if titan else optional_count(response, output, kept) or 0
    repeated = optional_count(response, f"{METRICS}.outputTokenCount", kept)
    if repeated is not None:
        check_sum((f"{METRICS}.outputTokenCount", repeated), {output: made}, kept)
    read_, write = (_found(response, cached) or 0), (_found(response, written) or 0)
    return NativeUsage(
        input_tokens=count(response, fresh, kept) + read_ + write,
        cache_read_tokens=read_,
        cache_write_tokens=write,
        output_tokens=made,
    )
