"""Which shape has a body, and which vendor's marks does it carry? By the presence of fields alone, never by their numbers.

A body carries the marks of one vendor only: the first row of MARKS that matches. So no two formats of the family recognise the
same body. Marks tell a format where a sender does not; the vendor that is priced comes from the context wherever it names one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from accounting.usage.formats.counts import value_at

CHAT, RESPONSES, EMBEDDINGS, REALTIME, IMAGES = "chat_completions", "responses", "embeddings", "realtime", "images"

USAGE_MARKS: tuple[tuple[str, frozenset[str]], ...] = (
    ("openrouter", frozenset({"is_byok", "cost_details"})),
    ("deepseek", frozenset({"prompt_cache_hit_tokens", "prompt_cache_miss_tokens"})),
    ("groq", frozenset({"queue_time", "prompt_time", "completion_time"})),
    ("xai", frozenset({"num_sources_used", "cost_in_usd_ticks", "num_server_side_tools_used"})),
    ("mistral", frozenset({"num_cached_tokens", "prompt_audio_seconds"})),
    ("openai_compatible", frozenset({"cached_tokens"})),
)
"""Format -> fields of `usage` that only this vendor sends."""

BODY_MARKS: tuple[tuple[str, frozenset[str]], ...] = (
    ("groq", frozenset({"x_groq"})),
    ("vllm", frozenset({"prompt_logprobs", "kv_transfer_params", "prompt_token_ids"})),
    ("azure_openai", frozenset({"prompt_filter_results"})),
)
"""Format -> fields of the body."""

CHOICE_MARKS: tuple[tuple[str, frozenset[str]], ...] = (
    ("openrouter", frozenset({"native_finish_reason"})),
    ("sglang", frozenset({"matched_stop"})),
    ("azure_openai", frozenset({"content_filter_results"})),
)
"""Format -> fields of the first choice."""


def usage_of(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The usage object wherever the family puts it; empty where there is none."""
    for path in ("usage", "response.usage", "x_groq.usage"):
        found = value_at(body, path)
        if isinstance(found, Mapping):
            return found
    return {}


def shape(body: Mapping[str, Any]) -> str | None:
    """Surface whose shape the body has, None for another family's body."""
    usage, kind = usage_of(body), body.get("object")
    if "prompt_tokens" in usage:
        chat = "completion_tokens" in usage or "choices" in body
        return CHAT if chat else EMBEDDINGS
    if kind in ("chat.completion", "chat.completion.chunk", "text_completion") or value_at(body, "x_groq.id"):
        return CHAT
    if "total_tokens" in usage and "input_tokens" in usage:
        return _shape_of_input(usage)
    return _shape_of_envelope(body)


def shape_of(body: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> str | None:
    """The same for streamed chunks: the shape of the last chunk that has one."""
    if isinstance(body, Mapping):
        return shape(body)
    shapes = (shape(chunk) for chunk in reversed(body) if isinstance(chunk, Mapping))
    return next((found for found in shapes if found), None)


def _shape_of_input(usage: Mapping[str, Any]) -> str:
    if "input_token_details" in usage or "output_token_details" in usage:
        return REALTIME
    split = usage.get("input_tokens_details")
    if isinstance(split, Mapping) and {"text_tokens", "image_tokens"} <= split.keys():
        return IMAGES
    return RESPONSES


def _shape_of_envelope(body: Mapping[str, Any]) -> str | None:
    inner = body.get("response")
    response = inner if isinstance(inner, Mapping) else body
    if response.get("object") == "realtime.response":
        return REALTIME
    if response.get("object") in ("response", "response.compaction"):
        return RESPONSES
    return None


def vendor(body: Mapping[str, Any]) -> str:
    """Name of the format whose marks the body carries; `openai` where it carries none."""
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
    for fields, marks in ((usage_of(body), USAGE_MARKS), (body, BODY_MARKS), (choice, CHOICE_MARKS)):
        found = next((name for name, mark in marks if not mark.isdisjoint(fields)), None)
        if found is not None:
            return found
    return "openai"
