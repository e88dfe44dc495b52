"""How does a report go into pandas? Apart from the other formats, as importing pandas takes longer than running a report."""

from __future__ import annotations

import pandas as pd

from accounting.reports.base import Report


def to_frame(report: Report) -> pd.DataFrame:
    """Detail rows, one column each of the report, dtype object: money stays an exact Decimal, counts stay int, unknown is None."""
    return pd.DataFrame(report.rows, columns=[column.name for column in report.columns], dtype=object)
