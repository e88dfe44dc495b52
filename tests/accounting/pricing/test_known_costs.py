"""Does every verified known cost come out to the last digit?"""

from decimal import Decimal

from accounting.money import format_plain, from_minor
from accounting.pricing.genai_prices_source import list_price_book
from accounting.pricing.rate import rate
from accounting.pricing.reasons import REASONS
from tests.accounting.pricing.rating import batch
from tests.known_costs import rows_by_status, usage_columns

EXCEPTIONS: dict[str, str] = {}
"""Row id -> why its cost differs from the one stated. Empty: every row that the price book is asked for agrees."""

CORRECTED = {
    "kc0002": "0.005",
    "kc0005": "1.36",
    "kc0006": "2.72001",
    "kc0014": "1.1968",
    "kc0015": "2.3936088",
    "kc1055": "0.0000034",
}
"""Rows marked superseded: the cost at the price that the source has been corrected to, as the row's note gives it."""


def costs(rows: list[dict[str, object]]) -> dict[str, str]:
    """Row id -> cost as plain decimal text, or the reason there is none."""
    events = [
        {"provider": row["provider"], "model": row["model"], "at": row["date"], **usage_columns(row)} for row in rows
    ]
    out = rate(list_price_book(), batch(events))
    told = [
        REASONS[reason] or format_plain(from_minor(cost))
        for reason, cost in zip(out.reason, out.list_cost.tolist(), strict=True)
    ]
    return dict(zip([str(row["id"]) for row in rows], told, strict=True))


def test_every_verified_dated_row_costs_what_it_says_but_for_the_listed_exceptions() -> None:
    rows = rows_by_status("verified")
    found = costs(rows)
    expected = {row["id"]: format_plain(Decimal(row["expected_cost_usd"])) for row in rows}
    differing = {one for one in found if found[one] != expected[one]}
    assert differing == EXCEPTIONS.keys()
    assert len(rows) == 776
    assert sum(row["kind"] == "real_response_usage" for row in rows) == 733


def test_superseded_rows_cost_what_the_corrected_price_makes_them() -> None:
    rows = rows_by_status("superseded")
    assert costs(rows) == CORRECTED
