"""How does one figure follow another? Lines of a curve, measured points beside them, and the curve of unequal shares."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Any

import plotly.graph_objects as go

from dashboard.charts.colours import NEUTRAL, dash, series, symbol
from dashboard.charts.frame import Row, drawn, figure, labels


def lines(
    rows: Sequence[Row],
    x: str,
    y: str,
    label: str,
    titles: tuple[str, str],
    *,
    unit: str = "",
    measured: str | None = None,
    beyond: str | None = None,
    log: tuple[bool, bool] = (False, False),
    name: str = "",
) -> go.Figure:
    """A line a value of `label`, in the order of the rows.

    Args:
        x, y: columns; a row whose y is None is a hole. titles: of both axes, with units.
        measured: column of measured values, drawn as points of the line's colour where it is not None.
        beyond: column that is true where the line is not backed by measurements: such parts are drawn thin and dotted.
        name: what `label` is, written before each value.
    """
    traces: list[Any] = []
    for number, key in enumerate(labels(rows, label)):
        own = [row for row in rows if row[label] == key]
        said = f"{name} {key}".strip() if key is not None else name
        traces += _line(own, x, y, said, number, unit, beyond)
        known = [row for row in own if measured is not None and row[measured] is not None]
        if known and measured is not None:
            traces.append(_points(known, x, measured, said, number, unit))
    made = figure(traces, *titles, height=420, legend=True)
    made.update_xaxes(type="log" if log[0] else "linear")
    made.update_yaxes(type="log" if log[1] else "linear")
    if log[1]:
        made.update_yaxes(**_powers([drawn(row[name]) for row in rows for name in (y, measured) if name]))
    if log[0]:
        values = sorted({drawn(row[x]) or 0.0 for row in rows})
        made.update_xaxes(tickvals=values, ticktext=[f"{value:,.0f}" for value in values])
    return made


def lorenz(rows: Sequence[Row], across: str, up: str, label: str, titles: tuple[str, str]) -> go.Figure:
    """Cumulative shares in percent, a line a value of `label`, beside the line of equal shares."""
    traces: list[Any] = [
        go.Scatter(
            x=[0, 100],
            y=[0, 100],
            mode="lines",
            name="equal shares",
            hoverinfo="skip",
            line={"color": NEUTRAL, "width": 1, "dash": "dot"},
        )
    ]
    for number, key in enumerate(labels(rows, label)):
        own = [row for row in rows if row[label] == key and row[up] is not None]
        if own:
            traces += _line(own, across, up, str(key), number, " %", None)
    made = figure(traces, *titles)
    made.update_xaxes(range=[0, 102], dtick=25, ticksuffix=" %")
    made.update_yaxes(ticksuffix=" %")
    return made


def _powers(values: Sequence[float | None]) -> dict[str, Any]:
    """Ticks of a logarithmic axis: 1, 2 and 5 of each power of ten in full, as the short names in between can't be read."""
    known = [value for value in values if value]
    if not known:
        return {}
    low, high = floor(log10(min(known))), ceil(log10(max(known)))
    found = [digit * 10.0**power for power in range(low, high + 1) for digit in (1, 2, 5)]
    shown = [value for value in found if min(known) / 2 < value < max(known) * 2]
    return {"tickvals": shown, "ticktext": [f"{value:,.6g}" if value < 1 else f"{value:,.0f}" for value in shown]}


def _line(
    own: Sequence[Row], x: str, y: str, said: str, number: int, unit: str, beyond: str | None
) -> list[go.Scatter]:
    parts = [(own, False)]
    if beyond is not None:
        inside = [row if not row[beyond] else {**row, y: None} for row in own]
        outside = [row if row[beyond] else {**row, y: None} for row in own]
        parts = [(inside, False), (outside, True)] if any(row[beyond] for row in own) else [(own, False)]
    return [
        go.Scatter(
            x=[drawn(row[x]) for row in rows],
            y=[drawn(row[y]) for row in rows],
            customdata=[row[y] for row in rows],
            mode="lines",
            name=f"{said}, beyond what was measured" if out else said,
            legendgroup=said,
            showlegend=not out,
            connectgaps=False,
            line={
                "color": series(number),
                "width": 1 if out else 2,
                "dash": "dot" if out else dash(number),
            },
            hovertemplate=f"{said}<br>%{{x}}: %{{customdata}}{unit}<extra></extra>",
        )
        for rows, out in parts
    ]


def _points(known: Sequence[Row], x: str, measured: str, said: str, number: int, unit: str) -> go.Scatter:
    return go.Scatter(
        x=[drawn(row[x]) for row in known],
        y=[drawn(row[measured]) for row in known],
        customdata=[row[measured] for row in known],
        mode="markers",
        name=f"{said}, measured",
        legendgroup=said,
        showlegend=False,
        marker={"color": series(number), "symbol": symbol(number), "size": 8, "line": {"width": 1, "color": "white"}},
        hovertemplate=f"{said}, measured<br>%{{x}}: %{{customdata}}{unit}<extra></extra>",
    )
