"""Which steps lead from one amount to another? A waterfall from the first over the steps to the last."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import accumulate

import plotly.graph_objects as go

from dashboard import money
from dashboard.charts.colours import GAIN, LOSS, NEUTRAL
from dashboard.charts.frame import Row, drawn, figure

LEAST_SHOWN = Decimal("0.005")
"""A step that is less than half a cent has no bar."""
CUT_BELOW = 0.5
"""The axis begins near the bars where the lowest of them is above this part of the highest."""
_ROOM = 0.25


def waterfall(
    steps: Sequence[Row], step: str, value: str, before: tuple[str, str], after: tuple[str, str], currency: str
) -> go.Figure:
    """Bars of signed steps between two amounts, from the top down: names and amounts stay level on a phone too.

    Args:
        steps: rows; `step` names each, `value` is its signed amount as text.
        before, after: label and amount of both ends, as the API states them: neither is a sum made here.
    """
    shown = [row for row in steps if row[value] is not None and abs(Decimal(row[value])) >= LEAST_SHOWN]
    names = [before[0], *(str(row[step]).replace("_", " ") for row in shown), after[0]]
    amounts = [before[1], *(row[value] for row in shown), after[1]]
    heights = [drawn(amount) or 0.0 for amount in amounts]
    bars = go.Waterfall(
        x=heights,
        y=names,
        orientation="h",
        measure=["absolute", *("relative" for _ in shown), "absolute"],
        text=[money.short(amount, currency) for amount in amounts],
        textposition="outside",
        customdata=[money.exactly(amount, currency) for amount in amounts],
        hovertemplate="%{y}<br>%{customdata}<extra></extra>",
        cliponaxis=False,
        connector={"line": {"color": NEUTRAL, "width": 1}},
        increasing={"marker": {"color": GAIN}},
        decreasing={"marker": {"color": LOSS}},
        totals={"marker": {"color": NEUTRAL}},
    )
    levels = [*accumulate(heights[:-1]), heights[-1]]
    low, high = min(levels), max(levels)
    cut = low > CUT_BELOW * high > 0
    base, top = (low, high) if cut else (min(low, 0.0), max(high, 0.0))
    # Amounts stand outside of their bars, which plotly leaves no room for.
    room = (top - base) * _ROOM or abs(top) * 0.1
    title = f"{currency}, axis cut" if cut else currency
    made = figure([bars], title, "", legend=False, height=110 + 28 * len(names))
    made.update_yaxes(autorange="reversed")
    made.update_xaxes(tickformat=",", nticks=6, range=[base - room if base else 0.0, top + room if top else 0.0])
    return made
