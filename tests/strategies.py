"""Events for property tests: any counts that fit together, known and unknown models, users and times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

MODELS = [
    ("openai", "o3"),
    ("openai", "gpt-5.6-luna"),
    ("anthropic", "claude-sonnet-4-5"),
    ("anthropic", "claude-opus-4-6"),
    ("google", "gemini-2.5-flash"),
    ("openai", "a-model-no-list-knows"),
]


@st.composite
def usages(draw: st.DrawFn) -> dict[str, int]:
    """Counts whose parts fit into their wholes."""
    counts = st.integers(0, 300_000)
    read, short, long, unstated, fresh, output = (draw(counts) for _ in range(6))
    return {
        "input_tokens": fresh + read + short + long + unstated,
        "cache_read_tokens": read,
        "cache_write_5m_tokens": short,
        "cache_write_1h_tokens": long,
        "cache_write_tokens": unstated,
        "output_tokens": output,
        "reasoning_tokens": draw(st.integers(0, output)),
        "audio_input_tokens": draw(st.integers(0, fresh)),
    }


@st.composite
def events(draw: st.DrawFn, days: int = 40, year: int | None = None) -> dict[str, Any]:
    """Native events; within `days` from 2026-07-01, or anywhere in a year."""
    start = datetime(year or 2026, 1 if year else 7, 1, tzinfo=UTC)
    seconds = draw(st.integers(0, (365 if year else days) * 86_400 - 1))
    provider, model = draw(st.sampled_from(MODELS))
    return {
        "event_id": draw(st.uuids()).hex,
        "occurred_at": (start + timedelta(seconds=seconds)).isoformat(),
        "provider": provider,
        "model": model,
        "status": draw(st.sampled_from(["ok", "error", "cancelled"])),
        "purpose": draw(st.sampled_from(["production", "free", "eval"])),
        "user_id": draw(st.one_of(st.none(), st.sampled_from(["ann", "bob", "čeněk", "丁"]))),
        "account_id": draw(st.one_of(st.none(), st.just("acme"))),
        "usage": draw(usages()),
    }
