"""Is a period read from the rollup by days only where it is made of whole reporting days?"""

from __future__ import annotations

import pytest

from accounting.reports.query import ReportQuery
from accounting.reports.source import rollup
from accounting.tenant import TenantContext

HAVANA = TenantContext("t", "America/Havana", "USD")
"""On 1 November 2026 its clocks go from one o'clock back to midnight, so that midnight comes twice: at 04:00 and 05:00 UTC."""


@pytest.mark.parametrize(
    ("start", "table"),
    [
        ("2026-11-01", "rollup_day"),
        ("2026-11-01T04:00:00Z", "rollup_day"),
        ("2026-11-01T05:00:00Z", "rollup_15m"),
    ],
)
def test_the_second_midnight_of_a_day_does_not_start_it(start: str, table: str) -> None:
    assert rollup(ReportQuery.parse(start, "2026-11-02", HAVANA.reporting_tz), HAVANA) == table
