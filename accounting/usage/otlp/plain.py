"""How are many spans of one layout read together? Columns of their values become events, all of a kind at once.

The result is that of `spans.calls`, span by span, to the last byte of the evidence; a test holds the two together. A span with
anything unusual in its values is left to the general way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import repeat
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from accounting.usage.calls import Booked
from accounting.usage.formats.evidence import is_word
from accounting.usage.identity import folded
from accounting.usage.native import NativeEvent, NativeUsage
from accounting.usage.otlp.layout import Layout, layout_of
from accounting.usage.otlp.plain_values import Column, Numbered, base_tags, columns_of, counts_of, plain_rows
from accounting.usage.otlp.vocabulary import NAMES
from accounting.usage.wire import Context

RULE = "otlp"
LEAST = 8
"""Fewer spans of one layout are read one by one: a layout has to pay for itself."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NOTHING = Context()


def read_plain(spans: Iterable[Numbered]) -> tuple[list[Booked], list[Numbered]]:
    """Events of plain spans, and in their order the spans that must be read one by one."""
    groups: defaultdict[tuple[tuple[str, ...], tuple[type, ...]], list[Numbered]] = defaultdict(list)
    rest: list[Numbered] = []
    for numbered in spans:
        attributes = numbered[1].attributes
        groups[tuple(attributes), tuple(map(type, attributes.values()))].append(numbered)
    booked: list[Booked] = []
    for (keys, kinds), group in groups.items():
        layout = layout_of(keys, kinds) if len(group) >= LEAST else None
        if layout is None:
            rest += group
        else:
            plain = plain_rows(layout, group)
            booked += _events(layout, [one for one, good in zip(group, plain, strict=True) if good])
            rest += [one for one, good in zip(group, plain, strict=True) if not good]
    return booked, sorted(rest, key=itemgetter(0))


def _events(layout: Layout, group: Sequence[Numbered]) -> list[Booked]:
    if not group:
        return []
    columns = columns_of(group)
    texts = {slot: columns[place] for slot, place in layout.texts.items()}
    usage = _usage(counts_of(layout, columns, len(group)))
    rows = zip(
        group,
        usage,
        _tags(layout, group, columns),
        texts.get("provider") or repeat("unknown"),
        texts["model"],
        *(texts.get(slot) or repeat(None) for slot in _OPTIONAL),
        _evidence(layout, group, columns),
        strict=False,
    )
    return [_booked(*row) for row in rows]


_OPTIONAL = ("response_model", "response_id", "service_tier", "requested_service_tier", "user")


def _booked(
    numbered: Numbered,
    usage: NativeUsage,
    tags: dict[str, str] | None,
    provider: str,
    model: str,
    response_model: str | None,
    response_id: str | None,
    service_tier: str | None,
    requested_service_tier: str | None,
    user: str | None,
    evidence: bytes,
) -> Booked:
    index, span = numbered
    event = NativeEvent(
        event_id=f"{folded(provider)}:{response_id}" if response_id else f"{span.trace_id}-{span.span_id}",
        occurred_at=_moment(span.start_ns),
        completed_at=_moment(span.end_ns),
        provider=provider,
        surface=RULE,
        model=model,
        response_model=None if response_model == model else response_model,
        response_id=response_id,
        service_tier=service_tier,
        requested_service_tier=requested_service_tier,
        status="ok",
        user_id=user,
        trace_id=span.trace_id,
        tags=tags,
        usage=usage,
    )
    return Booked(index, event, evidence, None, _NOTHING, RULE)


def _moment(nanoseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=nanoseconds // 1000)


def _usage(counts: dict[str, npt.NDArray[np.int64]]) -> list[NativeUsage]:
    five, hour = counts["cache_write_5m"], counts["cache_write_1h"]
    nothing = np.zeros_like(five)
    fields = (
        counts["input"],
        counts["cache_read"],
        five,
        hour,
        nothing,
        nothing,
        counts["cache_write"] - five - hour,
        counts["output"],
        counts["reasoning"],
    )
    return [NativeUsage(*row) for row in zip(*(field.tolist() for field in fields), strict=True)]


def _evidence(layout: Layout, group: Sequence[Numbered], columns: Sequence[Column]) -> list[bytes]:
    kept: list[Column] = []
    for place in layout.evidence:
        if place in layout.words:
            words = {text: text if is_word(text) else "" for text in set(columns[place])}
            kept.append([words[text] for text in columns[place]])
        else:
            kept.append(columns[place])
    times = [[span.end_ns for _, span in group], [span.start_ns for _, span in group]]
    return [(layout.template % row).encode() for row in zip(*kept, *times, strict=True)]


def _tags(layout: Layout, group: Sequence[Numbered], columns: Sequence[Column]) -> list[dict[str, str] | None]:
    base = base_tags(group)
    own = {slot: columns[layout.texts[slot]] for slot in ("conversation", "agent") if slot in layout.texts}
    if not own:
        return [base[id(span.resource)] for _, span in group]
    names = [NAMES[slot][0] for slot in own]
    return [
        {**(base[id(span.resource)] or {}), **dict(zip(names, values, strict=True))}
        for (_, span), values in zip(group, zip(*own.values(), strict=True), strict=True)
    ]
