"""Which month is a line booked in? Its own, or the first open one after the last that was closed.

Months close in order, so one date says it. Every writer asks in the statement that inserts, after it took the ledger's lock
(rollups.lock): a close holds that lock alone, so no line can slip into a month that closes meanwhile.
"""

from __future__ import annotations

FIRST_OPEN = "(SELECT (max(month) + interval '1 month')::date FROM closed_months WHERE tenant = current_setting('tokencogs.tenant'))"
"""SQL: the first open month of the transaction's tenant; null where none was ever closed."""

STAGE_BOOKED = f"UPDATE stage SET booking_period = {FIRST_OPEN} WHERE booking_period < {FIRST_OPEN}"
"""Moves staged events of closed months to the first open one."""


def booked(column: str) -> str:
    """SQL: the month a line of month `column` is booked in."""
    return f"greatest({column}, {FIRST_OPEN})"


def correction(column: str, period: str) -> str:
    """SQL: the class of a line that undoes one of class `column`: what undoes a line of a closed month is a Correction."""
    return f"CASE WHEN {period} < {FIRST_OPEN} THEN 'Correction' ELSE {column} END"
