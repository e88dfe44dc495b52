"""Which calendar month comes after another?"""

from __future__ import annotations

from datetime import date


def month_after(month: date) -> date:
    """First day of the month after the one that the day lies in."""
    return date(month.year + month.month // 12, month.month % 12 + 1, 1)
