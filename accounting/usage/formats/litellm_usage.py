"""What did a LiteLLM call use? The payload's own counts, divided by the usage object where there is one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accounting.usage.formats.answer import details
from accounting.usage.formats.counts import check_parts, check_sum, count, optional_count
from accounting.usage.formats.fields import amount
from accounting.usage.formats.structure import mapping
from accounting.usage.formats.tokens import Tokens
from accounting.usage.native import NativeUsage
from accounting.usage.wire import UsageContradiction

Object = Mapping[str, Any]

UNSTATED_IS_UNKNOWN = ("vllm", "hosted_vllm")
"""Providers that state cached tokens on request only: without them nothing is known of the cache."""
DETAILS = "prompt_tokens_details"
READS = (f"{DETAILS}.cached_tokens", "cache_read_input_tokens")
WRITES = (f"{DETAILS}.cache_creation_tokens", f"{DETAILS}.cache_write_tokens", "cache_creation_input_tokens")
SEARCHES = ("server_tool_use.web_search_requests", f"{DETAILS}.web_search_requests")
LIFETIMES = {
    "cache_write_5m_tokens": "ephemeral_5m_input_tokens",
    "cache_write_1h_tokens": "ephemeral_1h_input_tokens",
    "cache_write_30m_tokens": "ephemeral_30m_input_tokens",
    "cache_write_12h_tokens": "ephemeral_12h_input_tokens",
}


def usage_object(metadata: Object, response: Object) -> Object:
    """The provider's usage as LiteLLM keeps it; empty where it kept none."""
    return mapping(metadata.get("usage_object")) or mapping(response.get("usage"))


def hit(body: Object) -> bool:
    """Did the gateway answer from its own cache? The database writes the flag as text, `None` among it."""
    return body.get("cache_hit") in (True, "True", "true")


def tokens_of(body: Object, metadata: Object, response: Object, kept: Object) -> Tokens:
    """Counts of one row. Raises UsageContradiction where an identity does not hold or two sources disagree."""
    cost = amount(body, "response_cost", kept)
    cost = amount(body, "spend", kept) if cost is None else cost
    prompt, completion = count(body, "prompt_tokens", kept), optional_count(body, "completion_tokens", kept) or 0
    sums = {"prompt_tokens": prompt, "completion_tokens": completion}
    check_sum(("total_tokens", optional_count(body, "total_tokens", kept)), sums, kept)
    if hit(body):
        return Tokens(NativeUsage(), reported_cost_usd=cost)
    usage = usage_object(metadata, response)
    for path in (DETAILS, f"{DETAILS}.cache_creation_token_details", "completion_tokens_details", "server_tool_use"):
        details(usage, path, kept)
    for name, stated in sums.items():
        _same({name: stated, f"usage_object.{name}": optional_count(usage, name, kept)}, kept)
    cached, written = _either(usage, READS, kept), _either(usage, WRITES, kept) or 0
    check_parts(("prompt_tokens", prompt), {READS[0]: cached or 0, WRITES[0]: written}, kept, "cached_exceeds_input")
    divided = "prompt_tokens" in usage or DETAILS in usage
    if cached is None and divided and body.get("custom_llm_provider") not in UNSTATED_IS_UNKNOWN:
        cached = 0
    parts = _parts(usage, prompt - (cached or 0) - written, completion, kept)
    lifetimes = {
        name: optional_count(usage, f"{DETAILS}.cache_creation_token_details.{field}", kept) or 0
        for name, field in LIFETIMES.items()
    }
    check_parts((WRITES[0], written), {LIFETIMES[name]: tokens for name, tokens in lifetimes.items()}, kept)
    native = NativeUsage(
        input_tokens=prompt,
        cache_read_tokens=cached,
        cache_write_tokens=written - sum(lifetimes.values()),
        output_tokens=completion,
        web_search_requests=_either(usage, SEARCHES, kept) or 0,
        web_fetch_requests=optional_count(usage, "server_tool_use.web_fetch_requests", kept) or 0,
        **lifetimes,
        **parts,
    )
    return Tokens(native, reported_cost_usd=cost)


def _parts(usage: Object, uncached: int, completion: int, kept: Object) -> dict[str, int]:
    """Modalities and reasoning, each held against its whole."""
    given, made = f"{DETAILS}.", "completion_tokens_details."
    fields = {
        "audio_input_tokens": f"{given}audio_tokens",
        "image_input_tokens": f"{given}image_tokens",
        "video_input_tokens": f"{given}video_tokens",
        "reasoning_tokens": f"{made}reasoning_tokens",
        "audio_output_tokens": f"{made}audio_tokens",
        "image_output_tokens": f"{made}image_tokens",
    }
    found = {name: optional_count(usage, field, kept) or 0 for name, field in fields.items()}
    inputs = {fields[name]: tokens for name, tokens in found.items() if "input" in name and tokens}
    outputs = {fields[name]: found[name] for name in ("audio_output_tokens", "image_output_tokens") if found[name]}
    check_parts(("uncached prompt_tokens", uncached), inputs, kept)
    check_parts(("completion_tokens", completion), outputs, kept)
    check_parts(("completion_tokens", completion), {fields["reasoning_tokens"]: found["reasoning_tokens"]}, kept)
    return found


def _either(usage: Object, names: tuple[str, ...], kept: Object) -> int | None:
    """Tokens that LiteLLM states at several places: one of them, the others must agree; None where none is stated."""
    return _same({name: optional_count(usage, name, kept) for name in names}, kept)


def _same(places: Mapping[str, int | None], kept: Object) -> int | None:
    stated = {name: tokens for name, tokens in places.items() if tokens is not None}
    if len(set(stated.values())) > 1:
        equation = " <> ".join(f"{name} {tokens}" for name, tokens in stated.items())
        raise UsageContradiction("sources_disagree", equation, kept)
    return next(iter(stated.values()), None)
