"""Do 734 real usage objects, read as they were sent, cost what is known of them, to the last digit?"""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from typing import Any

from accounting.money import format_plain, from_minor
from accounting.pricing.rate import rate
from accounting.pricing.reasons import REASONS
from accounting.usage.native import NativeEvent
from tests.accounting.pricing.rating import batch, list_book
from tests.accounting.usage.wire_rows import columns, lines, read_row

CACHED = "num_cached_tokens are cache reads, which the known figure takes at the full input price"
WRITTEN = "cache_write_tokens of this seller are cache writes, which the known figure takes at the input price"

EXCEPTIONS = {
    "kc0200": (
        "no_price_for_tier",
        "served as ON_DEMAND_FLEX, for which the list has no price; the known figure is the default",
    ),
    "kc0389": ("0.00002608", CACHED),
    "kc0399": ("0.00030568", CACHED),
    "kc0448": ("0.00027032", CACHED),
    "kc0609": ("0.00035744", CACHED),
    "kc0700": ("0.00021285", WRITTEN),
    "kc0701": ("0.000226325", WRITTEN),
    "kc0702": ("0.000381425", WRITTEN),
    "kc0703": ("0.000182325", WRITTEN),
    "kc1055": ("0.0000034", "marked superseded: the list price was corrected after the figure was worked out"),
}
"""Row -> (our cost or why there is none, why it differs). kc0389: 32 x 0.4 + 32 x 0.04 + 6 x 2 dollars a million = 0.00002608.
kc0700: 2 x 1.1 + 86 x 1.375 + 14 x 6.6 dollars a million = 0.00021285."""

FURTHER = {"kc0257", "kc0264", "kc0295", "kc0297"}
"""Rows whose body holds a second call, a compaction or an advisor; the known figure is that of the first."""


@cache
def rows() -> dict[str, dict[str, Any]]:
    """Row id -> row, of all that carry a usage object as it was sent."""
    return {row["id"]: row for row in lines("known-costs/known_costs.jsonl") if row.get("raw_usage")}


@cache
def read() -> dict[str, list[NativeEvent]]:
    """Row id -> the events that its body holds."""
    events = {}
    for name, row in rows().items():
        usage = row["raw_usage"]
        gemini = "promptTokenCount" in usage
        body = (
            {"modelVersion": row["model"], "usageMetadata": usage}
            if gemini
            else {"model": row["model"], "usage": usage}
        )
        found = read_row(body, row["provider"], None, row["date"])
        assert (found.rejected, found.suspended) == ([], []), name
        events[name] = [one.event for one in found.booked]
    return events


def _costs() -> dict[str, str]:
    first = [found[0] for found in read().values()]
    inputs = [
        {
            "provider": event.provider,
            "model": event.response_model or event.model,
            "at": event.occurred_at,
            "service_tier": event.service_tier,
            "batch": event.batch,
            **columns(event.usage),
        }
        for event in first
        if event.usage is not None
    ]
    out = rate(list_book(), batch(inputs))
    told = [
        REASONS[reason] or format_plain(from_minor(cost))
        for reason, cost in zip(out.reason, out.list_cost.tolist(), strict=True)
    ]
    return dict(zip(read(), told, strict=True))


def test_every_row_costs_what_is_known_but_for_the_listed_exceptions() -> None:
    expected = {name: format_plain(Decimal(row["expected_cost_usd"])) for name, row in rows().items()}
    found = _costs()
    assert len(found) == 734
    differing = {name: found[name] for name in found if found[name] != expected[name]}
    assert differing == {name: cost for name, (cost, _) in EXCEPTIONS.items()}


def test_a_body_with_a_second_call_books_both() -> None:
    assert {name for name, events in read().items() if len(events) > 1} == FURTHER
    main, compaction = read()["kc0264"]
    assert main.usage is not None
    assert compaction.usage is not None
    assert (main.usage.input_tokens, compaction.usage.input_tokens) == (180, 55_196)
