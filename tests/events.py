"""Native events for tests: a plain one, and bodies of many."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

GPT = {"provider": "openai", "model": "gpt-5.6-terra"}
"""A model priced all through 2026: input 2.0, cache read 0.2, output ... are looked up by tests that need the figures."""


def event(event_id: str, **changes: Any) -> dict[str, Any]:
    """A complete native event: 1,000 tokens in, 100 out, 2026-07-01 noon; `usage` changes are merged into it."""
    usage = {"input_tokens": 1000, "output_tokens": 100, **changes.pop("usage", {})}
    return {
        "event_id": event_id,
        "occurred_at": "2026-07-01T12:00:00Z",
        "provider": "openai",
        "model": "o3",
        "status": "ok",
        "usage": usage,
        **changes,
    }


def body(events: Iterable[dict[str, Any]]) -> bytes:
    """A JSON array of events."""
    return json.dumps(list(events)).encode()


def lines(events: Iterable[dict[str, Any]]) -> bytes:
    """JSON Lines of events."""
    return b"".join(json.dumps(one).encode() + b"\n" for one in events)
