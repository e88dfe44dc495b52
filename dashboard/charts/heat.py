"""How does a figure depend on two others? A heat map, each cell with its figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import plotly.graph_objects as go

from dashboard.charts.colours import SCALE
from dashboard.charts.frame import Row, drawn, figure, labels


def heat(
    rows: Sequence[Row],
    x: str,
    y: str,
    value: str,
    titles: tuple[str, str, str],
    shown: Callable[[Any], str],
) -> go.Figure:
    """Cells of `value` over two columns, in the order in which their values come; a cell without a row, or of None, stays empty.

    Args:
        titles: of the axes and of the value, with units. shown: a value as the cell prints it.
    """
    across, up = labels(rows, x), labels(rows, y)
    found = {(row[x], row[y]): row[value] for row in rows}
    cells = [[found.get((one, other)) for one in across] for other in up]
    traces = [
        go.Heatmap(
            x=[_said(one) for one in across],
            y=[_said(other) for other in up],
            z=[[drawn(cell) for cell in line] for line in cells],
            text=[["" if cell is None else shown(cell) for cell in line] for line in cells],
            texttemplate="%{text}",
            customdata=[["not measured" if cell is None else str(cell) for cell in line] for line in cells],
            colorscale=SCALE,
            colorbar={"title": {"text": titles[2], "side": "right"}, "thickness": 12},
            xgap=1,
            ygap=1,
            hovertemplate=f"{titles[0]} %{{x}}<br>{titles[1]} %{{y}}<br>%{{customdata}} {titles[2]}<extra></extra>",
        )
    ]
    made = figure(traces, titles[0], titles[1], height=420, legend=False)
    made.update_xaxes(type="category")
    made.update_yaxes(type="category")
    return made


def _said(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
