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


def waterfall(
    steps: Sequence[Row], step: str, value: str, before: tuple[str, str], after: tuple[str, str], currency: str
) -> go.Figure:
    """Bars of signed steps between two amounts.

    Args:
        steps: rows; `step` names each, `value` is its signed amount as text.
        before, after: label and amount of both ends, as the API states them: neither is a sum made here.
    """
    shown = [row for row in steps if row[value] is not None and abs(Decimal(row[value])) >= LEAST_SHOWN]
    names = [before[0], *(str(row[step]).replace("_", " ") for row in shown), after[0]]
    amounts = [before[1], *(row[value] for row in shown), after[1]]
    heights = [drawn(amount) or 0.0 for amount in amounts]
    bars = go.Waterfall(
        x=names,
        y=heights,
        measure=["absolute", *("relative" for _ in shown), "absolute"],
        text=[money.short(amount, currency) for amount in amounts],
        textposition="outside",
        customdata=[money.exactly(amount, currency) for amount in amounts],
        hovertemplate="%{x}<br>%{customdata}<extra></extra>",
        cliponaxis=False,
        connector={"line": {"color": NEUTRAL, "width": 1}},
        increasing={"marker": {"color": GAIN}},
        decreasing={"marker": {"color": LOSS}},
        totals={"marker": {"color": NEUTRAL}},
    )
    levels = [*accumulate(heights[:-1]), heights[-1]]
    low, high = min(levels), max(levels)
    cut = low > CUT_BELOW * high > 0
    made = figure([bars], "", f"{currency}, axis cut" if cut else currency, legend=False)
    made.update_xaxes(tickangle=-30)
    made.update_yaxes(tickformat=",")
    if cut:
        room = (high - low) * 0.25 or high * 0.1
        made.update_yaxes(range=[low - room, high + room])
    return made
