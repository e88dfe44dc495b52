"""What does the table of closed months say of what was accepted?"""

from __future__ import annotations

from dashboard.closes import _lines


def test_what_was_left_open_has_its_number_and_a_month_without_charges_has_none() -> None:
    month = {"month": "2026-06-01", "coverage": {"unpriced": 3, "exceptions": 0}, "totals": {}}
    [line] = _lines({**month, "accepted": ["no_charges", "unpriced"]})
    assert (line["month"], line["left_open"]) == ("2026-06", "nothing charged, calls without a price: 3")
    assert _lines({**month, "accepted": []})[0]["left_open"] == "nothing"
