"""What do all charts have in common? Titles of axes with units, room for labels, a name for those who don't see them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import plotly.graph_objects as go

HEIGHT = 380
Row = Mapping[str, Any]


def figure(
    traces: Iterable[Any], x: str, y: str, *, height: int = HEIGHT, legend: bool = True, **layout: Any
) -> go.Figure:
    """A figure of these traces. x, y: titles of the axes, with units."""
    made = go.Figure(list(traces))
    made.update_layout(
        height=height,
        margin={"l": 8, "r": 44, "t": 40 if legend else 24, "b": 8},
        modebar={"orientation": "v"},  # beside the plot, where no name of a series is
        showlegend=legend,
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0, "xanchor": "left", "x": 0, "title": None},
        hoverlabel={"align": "left"},
        xaxis={"title": {"text": x}, "automargin": True},
        yaxis={"title": {"text": y}, "automargin": True},
        **layout,
    )
    return made


def drawn(exact: Any) -> float | None:
    """Where a figure stands on paper: the nearest float, for drawing alone; None stays None, a hole."""
    return None if exact is None else float(exact)


def labels(rows: Iterable[Row], name: str) -> list[Any]:
    """The different values of a column, in the order of the rows."""
    return list(dict.fromkeys(row[name] for row in rows))
