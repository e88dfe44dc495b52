"""Which of two observers of one call is believed? A gateway's log and an SDK's trace may both report it; it counts once.

The observer of the higher rank stays as a whole: its user, its tags, its counts. So the result does not depend on who came first.
"""

from __future__ import annotations

from collections.abc import Mapping

RANKS: Mapping[str, int] = {
    "native": 5,
    "litellm": 4,
    "langfuse": 3,
    "posthog": 3,
    "otlp": 1,
    "openinference": 1,
}
"""The sender's own log, then a gateway that knows its users, then analytics, then traces."""
BODY = 2
"""A provider's own body: it knows the counts best, and no user."""


def rank(wire_format: str) -> int:
    """The higher the rank, the more is known of who made the call and why."""
    return RANKS.get(wire_format, BODY)
