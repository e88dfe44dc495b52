"""How does a figure stand from moment to moment, as a price that holds until the next one?"""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from dashboard.charts.colours import dash, series, symbol
from dashboard.charts.frame import Row, drawn, figure, labels


def steps(rows: Sequence[Row], at: str, value: str, label: str, titles: tuple[str, str]) -> go.Figure:
    """A line of steps a value of `label`, in the order of the rows: each value holds until the next moment.

    Args:
        at: column of moments (RFC 3339 text). value: column of exact figures; a row without one has no step.
        titles: of both axes, with units.
    """
    traces = []
    for number, key in enumerate(labels(rows, label)):
        own = [row for row in rows if row[label] == key and row.get(value) is not None]
        traces.append(
            go.Scatter(
                x=[row[at] for row in own],
                y=[drawn(row[value]) for row in own],
                customdata=[row[value] for row in own],
                mode="lines+markers",
                line={"shape": "hv", "color": series(number), "dash": dash(number)},
                marker={"symbol": symbol(number), "size": 8},
                name=str(key),
                hovertemplate=f"{key}<br>from %{{x}}: %{{customdata}}<extra></extra>",
            )
        )
    made = figure(traces, *titles)
    made.update_xaxes(type="date")
    made.update_yaxes(rangemode="tozero")
    return made
