"""How do the data set's status and reason read in our own words?

| the data set says | we say |
|---|---|
| `priced` | charge status `priced`, and nothing found that a person should look at |
| `accepted_with_exception`, booked | `priced`, with a finding in the exceptions list, whose reason counts |
| `accepted_with_exception`, held | the body contradicts itself: in the exceptions list with its equation, booked only after a replay |
| `unpriced` | charge status `unpriced` with its reason; the tokens are kept, the cost is null |
| `rejected` | refused with field, value and reason |

A class priced by a stated fallback is marked on its component. It is no exception here: the row that was chosen says so beforehand.
"""

from __future__ import annotations

REASONS = {
    "unknown_model": "no_price_for_model",
    "no_token_price": "no_price_for_model",
    "usage_missing": "usage_missing",
    "cached_exceeds_input": "cached_exceeds_input",
    "tokens_do_not_add_up": "tokens_do_not_add_up",
    "sources_disagree": "sources_disagree",
}
"""Our reason -> the data set's. A failed call that reports no usage is `usage_missing` on an event of status `error` or `timeout`."""

FAILED_REQUEST = "failed_request_usage_unknown"


def reason(ours: str | None, event_status: str) -> str | None:
    """The data set's word for our reason."""
    if ours == "usage_missing" and event_status in ("error", "timeout"):
        return FAILED_REQUEST
    return None if ours is None else REASONS[ours]
