"""Which token classes and units exist, and what is part of what?

Usage columns are what an event row stores; priced classes are what a tariff prices. The two differ in one way: in a usage
column a modality is a *part* of its whole (`audio_input_tokens` inside `uncached_input_tokens`), while priced classes are
disjoint, so that a cost is a plain sum of quantity times price.
"""

from __future__ import annotations

CACHE_WRITES = (
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "cache_write_30m_tokens",
    "cache_write_12h_tokens",
    "cache_write_tokens",
)
"""Cache writes by lifetime; the last one is a write whose lifetime the wire does not state."""

USAGE_COLUMNS = (
    "uncached_input_tokens",
    "cache_read_tokens",
    *CACHE_WRITES,
    "output_tokens",
    "reasoning_tokens",
    "audio_input_tokens",
    "audio_cache_read_tokens",
    "audio_output_tokens",
    "image_input_tokens",
    "image_output_tokens",
    "video_input_tokens",
    "web_search_requests",
    "web_fetch_requests",
)
"""Counts of an event row, integers >= 0. total input = uncached_input + cache_read + all cache writes."""

PARTS = {
    "uncached_input_tokens": ("audio_input_tokens", "image_input_tokens", "video_input_tokens"),
    "cache_read_tokens": ("audio_cache_read_tokens",),
    "output_tokens": ("audio_output_tokens", "image_output_tokens"),
}
"""Whole -> its parts that may have a price of their own. `reasoning_tokens` is a memo inside output (see priced class `reasoning`)."""

PRICED_CLASSES = (
    "uncached_input",
    "cache_read",
    "cache_write_5m",
    "cache_write_1h",
    "cache_write_30m",
    "cache_write_12h",
    "cache_write",
    "output",
    "reasoning",
    "audio_input",
    "audio_cache_read",
    "audio_output",
    "image_input",
    "image_output",
    "video_input",
    "web_search",
    "web_fetch",
    "requests",
)
"""Disjoint classes a tariff prices. `reasoning` is taken out of `output` only where a tariff row states a reasoning price."""

UNIT_CLASSES = {"web_search": 1_000, "web_fetch": 1_000, "requests": 1_000}
"""Classes that are counted things, with the number of units their price is stated for; all others are per million tokens."""

FALLBACKS = {
    "cache_read": ("uncached_input",),
    "cache_write_5m": ("cache_write", "uncached_input"),
    "cache_write_1h": ("cache_write", "uncached_input"),
    "cache_write_30m": ("cache_write", "uncached_input"),
    "cache_write_12h": ("cache_write", "uncached_input"),
    "cache_write": ("uncached_input",),
    "audio_input": ("uncached_input",),
    "audio_cache_read": ("cache_read", "audio_input", "uncached_input"),
    "audio_output": ("output",),
    "image_input": ("uncached_input",),
    "image_output": ("output",),
    "video_input": ("uncached_input",),
}
"""Where a tariff states no price for a class: the classes whose price is used instead, the first that has one, marked as a
fallback on the component. Cached audio without any cache price costs what audio costs, not what text costs. A class without an
entry here and without a price leaves the event unpriced (a missing price is never 0)."""
