"""How much of the usage do the amounts of a report stand on? Unknown cost is shown as coverage, never as 0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from accounting.reports.exact import percent

STATUSES = ("priced", "unpriced", "pending_settlement")


def coverage(sums: Iterable[Any]) -> list[dict[str, Any]]:
    """One row a status, all three always.

    Args:
        sums: rows with charge_status, events, input_tokens (cache reads and writes included) and output_tokens.

    Each row: status, events, input_tokens, output_tokens, tokens, event_share and token_share (percent of all statuses, 4
    decimals; None where there is nothing to share).
    """
    found = {status: dict.fromkeys(("events", "input_tokens", "output_tokens"), 0) for status in STATUSES}
    for row in sums:
        for name, value in found[row.charge_status].items():
            found[row.charge_status][name] = value + int(getattr(row, name))
    events = sum(counts["events"] for counts in found.values())
    tokens = sum(counts["input_tokens"] + counts["output_tokens"] for counts in found.values())
    return [_row(status, counts, events, tokens) for status, counts in found.items()]


def _row(status: str, counts: Mapping[str, int], events: int, tokens: int) -> dict[str, Any]:
    own = counts["input_tokens"] + counts["output_tokens"]
    shares = {"event_share": percent(counts["events"], events), "token_share": percent(own, tokens)}
    return {"status": status, **counts, "tokens": own, **shares}
