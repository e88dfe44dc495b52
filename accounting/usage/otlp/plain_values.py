"""Which spans of one layout have nothing unusual in their values, and which counts and tags do these state?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from accounting.usage.formats.counts import LIMIT
from accounting.usage.identity import LONGEST
from accounting.usage.otlp.decode import Span
from accounting.usage.otlp.layout import COUNT_SLOTS, Layout
from accounting.usage.otlp.leaves import first, is_leaf
from accounting.usage.otlp.vocabulary import NAMES

Numbered = tuple[int, Span]
Flags = npt.NDArray[np.bool_]
Column = Sequence[Any]

LATEST_NS = 253_402_300_800_000_000_000
"""The year 10000."""


def columns_of(group: Sequence[Numbered]) -> list[Column]:
    return list(zip(*(span.attributes.values() for _, span in group), strict=True))


def plain_rows(layout: Layout, group: Sequence[Numbered]) -> Flags:
    """Which spans have nothing unusual in their values, shape (n,)."""
    columns = columns_of(group)
    good = np.array([_ordinary(span) for _, span in group], np.bool_)
    for place in layout.texts.values():
        good &= np.array([0 < len(text) <= LONGEST and "\x00" not in text for text in columns[place]], np.bool_)
    if "response_id" in layout.texts:
        ids = columns[layout.texts["response_id"]]
        # An assistant's run is shared by several calls; an id too long to be one event's id is cut by another rule.
        good &= np.array([len(text) <= LONGEST // 2 and not text.startswith("run_") for text in ids], np.bool_)
        if "provider" in layout.texts:
            good &= np.array([len(text) <= LONGEST // 4 for text in columns[layout.texts["provider"]]], np.bool_)
    good &= _leaves(layout, columns, len(group)) & _no_nul_in_resources(group)
    for place in layout.counts.values():
        good &= np.array([0 <= count <= LIMIT for count in columns[place]], np.bool_)
    rows = np.flatnonzero(good).tolist()
    counts = counts_of(layout, [[column[row] for row in rows] for column in columns], len(rows))
    written = counts["cache_write"]
    good[rows] = (
        (counts["cache_read"] + written <= counts["input"])
        & (counts["cache_write_5m"] + counts["cache_write_1h"] <= written)
        & (counts["reasoning"] <= counts["output"])
    )
    return good


def _ordinary(span: Span) -> bool:
    """Well-formed ids and times, and no error."""
    ids = span.trace_id.isalnum() and span.span_id.isalnum() and len(span.trace_id) + len(span.span_id) < LONGEST
    return ids and not span.error and 0 < span.start_ns <= span.end_ns < LATEST_NS


def _leaves(layout: Layout, columns: Sequence[Column], rows: int) -> Flags:
    """Spans that do not say that they are no single call."""
    if not layout.leaves:
        return np.ones(rows, np.bool_)
    words = list(zip(*(columns[place] for place in layout.leaves.values()), strict=True))
    told = {
        word: all(word) and is_leaf({NAMES[slot][0]: text for slot, text in zip(layout.leaves, word, strict=True)})
        for word in set(words)
    }
    return np.array([told[word] is not False for word in words], np.bool_)


def _no_nul_in_resources(group: Sequence[Numbered]) -> Flags:
    known = {place: "\x00" not in "".join((tags or {}).values()) for place, tags in base_tags(group).items()}
    return np.array([known[id(span.resource)] for _, span in group], np.bool_)


def counts_of(layout: Layout, columns: Sequence[Column], rows: int) -> dict[str, npt.NDArray[np.int64]]:
    """Every count as a column; what is absent is 0, and writes without a total of their own are the sum of their lifetimes."""
    found = {
        slot: np.array(columns[layout.counts[slot]], np.int64) if slot in layout.counts else np.zeros(rows, np.int64)
        for slot in COUNT_SLOTS
    }
    if "cache_write" not in layout.counts:
        found["cache_write"] = found["cache_write_5m"] + found["cache_write_1h"]
    return found


def base_tags(group: Sequence[Numbered]) -> dict[int, dict[str, str] | None]:
    """Tags that the resource gives, by its identity: all its spans share it."""
    found: dict[int, dict[str, str] | None] = {}
    for place, resource in {id(span.resource): span.resource for _, span in group}.items():
        stated = {NAMES[slot][0]: first(resource, slot) for slot in ("service", "environment")}
        found[place] = {name: value[:1024] for name, value in stated.items() if value} or None
    return found
