"""Which tokens do Langfuse's usage details hold? Free keys that exclude each other, or subsets where their name has a dot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from accounting.usage.formats.counts import check_parts, check_sum, optional_count
from accounting.usage.formats.tokens import Tokens
from accounting.usage.native import NativeUsage
from accounting.usage.wire import Finding

Object = Mapping[str, Any]

IN_BUCKETS: Mapping[str, tuple[str, ...]] = {
    "input": (),
    "input_tokens": (),
    "input_text": (),
    "input_text_tokens": (),
    "input_audio": ("audio_input_tokens",),
    "input_audio_tokens": ("audio_input_tokens",),
    "input_image": ("image_input_tokens",),
    "input_image_tokens": ("image_input_tokens",),
    "input_video_tokens": ("video_input_tokens",),
    "input_cached_tokens": ("cache_read_tokens",),
    "input_cached_text_tokens": ("cache_read_tokens",),
    "input_cached_audio_tokens": ("cache_read_tokens", "audio_cache_read_tokens"),
    "input_cache_read": ("cache_read_tokens",),
    "input_cache_read_tokens": ("cache_read_tokens",),
    "cache_read_input_tokens": ("cache_read_tokens",),
    "input_cache_creation": ("cache_write_tokens",),
    "input_cache_creation_5m": ("cache_write_5m_tokens",),
    "input_cache_creation_1h": ("cache_write_1h_tokens",),
    "input_ephemeral_5m_input_tokens": ("cache_write_5m_tokens",),
    "input_ephemeral_1h_input_tokens": ("cache_write_1h_tokens",),
    "cache_creation_input_tokens": ("cache_write_tokens",),
    "cache_write_tokens": ("cache_write_tokens",),
}
"""Buckets of the input: each adds to the total input and to the named counts."""

OUT_BUCKETS: Mapping[str, tuple[str, ...]] = {
    "output": (),
    "output_tokens": (),
    "output_text": (),
    "output_text_tokens": (),
    "output_reasoning": ("reasoning_tokens",),
    "output_reasoning_tokens": ("reasoning_tokens",),
    "reasoning_tokens": ("reasoning_tokens",),
    "output_accepted_prediction_tokens": (),
    "output_rejected_prediction_tokens": (),
    "output_audio": ("audio_output_tokens",),
    "output_audio_tokens": ("audio_output_tokens",),
    "output_image_tokens": ("image_output_tokens",),
}
"""Buckets of the output."""

SUBSETS: Mapping[str, tuple[str, str]] = {
    "prompt_details.cache_read": ("input_tokens", "cache_read_tokens"),
    "prompt_details.cache_write": ("input_tokens", "cache_write_tokens"),
    "prompt_details.audio": ("input_tokens", "audio_input_tokens"),
    "completion_details.reasoning": ("output_tokens", "reasoning_tokens"),
    "completion_details.audio": ("output_tokens", "audio_output_tokens"),
}
"""OpenInference's names as Langfuse stores them: parts of `input` or `output`, not buckets beside them."""


def usage_of_buckets(details: Object, kept: Object) -> Tokens:
    """Counts of usage details. `total` is the sum of the buckets and is checked; buckets that no rule knows are unclassified.

    Raises UsageContradiction: `tokens_do_not_add_up`, `part_exceeds_whole` and those of a count.
    """
    stated = {key: tokens for key in details if (tokens := optional_count(details, key, kept)) is not None}
    total = stated.pop("total", None)
    parts = {SUBSETS[key]: stated.pop(key) for key in list(stated) if key in SUBSETS}
    stated = {key: tokens for key, tokens in stated.items() if "." not in key}
    counts: Counter[str] = Counter()
    unknown = 0
    for key, tokens in stated.items():
        whole, names = ("input_tokens", IN_BUCKETS) if key in IN_BUCKETS else ("output_tokens", OUT_BUCKETS)
        if key in names:
            counts.update({whole: tokens, **dict.fromkeys(names[key], tokens)})
        else:
            unknown += tokens
    check_sum(("total", total), stated, kept)
    _add_subsets(counts, parts, kept)
    findings = [Finding("unknown_bucket", f"{unknown} tokens in buckets that no rule knows")] if unknown else []
    return Tokens(NativeUsage(**counts), findings, unknown)


def _add_subsets(counts: Counter[str], parts: Mapping[tuple[str, str], int], kept: Object) -> None:
    cached = {part: tokens for (_, part), tokens in parts.items() if part.startswith("cache")}
    check_parts(("input", counts["input_tokens"]), cached, kept, reason="cached_exceeds_input")
    for (whole, part), tokens in parts.items():
        check_parts((whole, counts[whole]), {part: tokens}, kept)
        counts[part] += tokens
