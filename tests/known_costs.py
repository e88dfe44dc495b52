"""How does the normalised `usage` of a known-costs row read as an event's usage columns?

The data set counts tokens in sets within sets, and each row says in `usage_convention` what its `input_tokens` includes:

- `input_tokens` includes `cache_read_tokens` and `cache_write_tokens`, so the uncached input is what is left of it
- `cache_write_tokens` includes `cache_write_5m_tokens` and `cache_write_1h_tokens`; the column of the same name holds the rest,
  whose lifetime nobody stated; where only a lifetime is given, that is all that was written
- `output_tokens` includes `output_reasoning_tokens`, whether the row's convention says so or not: its cost is worked out that way
- `input_audio_tokens`, `input_image_tokens`, `input_video_tokens` are parts of the input, cached ones included, and
  `cache_audio_read_tokens` are those of the audio that came from the cache; the columns hold the uncached parts
- `*_text_*` counts only say what is left without the other modalities, and are nobody's price

An unknown key or an unknown convention raises: a row is never mapped by a guess.
"""

from __future__ import annotations

import json
from typing import Any

from tests.shared_data import shared

CONVENTIONS = {
    "input_tokens includes cache_read and cache_write",
    "input_tokens includes cache_read and cache_write; output_tokens includes reasoning",
}
_IGNORED = {"input_text_tokens", "output_text_tokens", "cache_text_read_tokens"}
_UNIT = {"web_searches": "web_search_requests"}
_SAME = {"output_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens"}
_RENAMED = {
    "output_reasoning_tokens": "reasoning_tokens",
    "output_audio_tokens": "audio_output_tokens",
    "output_image_tokens": "image_output_tokens",
    "cache_audio_read_tokens": "audio_cache_read_tokens",
    "input_image_tokens": "image_input_tokens",
    "input_video_tokens": "video_input_tokens",
    **_UNIT,
}
_SPLIT = {"input_tokens", "cache_write_tokens", "input_audio_tokens"}


def rows_by_status(status: str) -> list[dict[str, Any]]:
    """Rows with a status (`verified`, `superseded`, `disputed`) that carry a date, in the order of the file."""
    lines = shared("known-costs/known_costs.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [row for row in rows if row["status"] == status and row.get("date")]


def usage_columns(row: dict[str, Any]) -> dict[str, int]:
    """Usage column -> count of one row; columns that the row does not count are left out."""
    usage = row["usage"]
    if row["usage_convention"] not in CONVENTIONS:
        raise ValueError(f"{row['id']}: unknown usage_convention {row['usage_convention']!r}")
    if unknown := usage.keys() - _IGNORED - _SAME - _RENAMED.keys() - _SPLIT:
        raise ValueError(f"{row['id']}: unknown usage {sorted(unknown)}")
    columns = {name: usage[name] for name in _SAME if name in usage}
    columns |= {column: usage[name] for name, column in _RENAMED.items() if name in usage}
    by_lifetime = usage.get("cache_write_5m_tokens", 0) + usage.get("cache_write_1h_tokens", 0)
    written = usage.get("cache_write_tokens", by_lifetime)
    columns["cache_write_tokens"] = written - by_lifetime
    columns["uncached_input_tokens"] = usage.get("input_tokens", 0) - usage.get("cache_read_tokens", 0) - written
    columns["audio_input_tokens"] = usage.get("input_audio_tokens", 0) - usage.get("cache_audio_read_tokens", 0)
    return columns
