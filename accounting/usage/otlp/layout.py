"""Is a span plain by the names and kinds of its attributes, and if so, where does each thing stand?

Spans of one sender look alike: the same attributes in the same order. What that says is worked out once a layout; the values of all
its spans are then read together (plain.py). Whatever is not plain here takes the general way, span by span (spans.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from accounting.usage.otlp.vocabulary import GEN_AI, NAMES, WORDS

COUNT_SLOTS = ("input", "cache_read", "cache_write", "cache_write_5m", "cache_write_1h", "output", "reasoning")
"""Counts of text calls; spans with modalities take the general way."""
TEXT_SLOTS = (
    "provider",
    "model",
    "response_model",
    "response_id",
    "service_tier",
    "requested_service_tier",
    "user",
    "conversation",
    "agent",
)
"""Names that end up in the event."""
LEAF_SLOTS = ("operation", "step", "kind")

_COUNTS = {key: slot for slot in COUNT_SLOTS for key in GEN_AI[slot]}
_KNOWN = frozenset(key for slot in (*TEXT_SLOTS, *LEAF_SLOTS, "error") for key in NAMES[slot])


@dataclass(frozen=True)
class Layout:
    """Where the attributes of plain spans stand, by position in the span.

    Attributes:
        counts, texts, leaves: slot -> position; of several spellings of a text the one that is believed.
        evidence: positions of what is kept, in the order of their names. words: which of these are short words.
        template: the evidence as JSON, with a place for each of them, then for the end and the start.
    """

    counts: dict[str, int]
    texts: dict[str, int]
    leaves: dict[str, int]
    evidence: tuple[int, ...]
    words: frozenset[int]
    template: str


def layout_of(keys: Sequence[str], kinds: Sequence[type]) -> Layout | None:
    """The layout of spans whose wanted attributes have these names and kinds; None where they aren't plain.

    Plain: a model and at least one count, every count an integer under one spelling, every name a text, nothing else wanted.
    """
    position = {key: place for place, key in enumerate(keys)}
    counts: dict[str, int] = {}
    for key, place in position.items():
        slot = _COUNTS.get(key)
        if kinds[place] is not (str if slot is None else int) or (slot is None and key not in _KNOWN):
            return None
        if slot is not None and counts.setdefault(slot, place) != place:
            return None
    texts = _places(TEXT_SLOTS, position)
    if not counts or "model" not in texts:
        return None
    kept = sorted(key for key in position if key in _COUNTS or key in WORDS)
    shown = ",".join(f'"{key}":"%s"' if key in WORDS else f'"{key}":%d' for key in kept)
    return Layout(
        counts,
        texts,
        _places(LEAF_SLOTS, position),
        tuple(position[key] for key in kept),
        frozenset(position[key] for key in kept if key in WORDS),
        f'{{"body":{{"attributes":{{{shown}}},"end_ns":%d,"error":false,"start_ns":%d}},"context":{{}},'
        '"format":"otlp","part":""}',
    )


def _places(slots: Sequence[str], position: dict[str, int]) -> dict[str, int]:
    found = {slot: next((position[key] for key in NAMES[slot] if key in position), None) for slot in slots}
    return {slot: place for slot, place in found.items() if place is not None}
