"""How do amounts stand beside and on top of each other? Stacked periods, ranked rows, a distribution with its limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from dashboard import money
from dashboard.charts.colours import GAIN, LOSS, dash, filling, pattern, series
from dashboard.charts.frame import HEIGHT, Row, drawn, figure, labels
from dashboard.charts.periods import dated, ticks

_ROOMY = 5
"""Names that a legend holds without taking room from the bars."""
_NAME_HEIGHT = 10
_FEW = 5
"""Counts up to here have a tick each; plotly would set halves between."""


@dataclass(frozen=True)
class Mark:
    """A limit in a distribution. Attributes: label; at: where, as the API states it; None: there is none, nothing is drawn."""

    label: str
    at: str | int | None


def stacked(rows: Sequence[Row], x: str, label: str, value: str, titles: tuple[str, str], currency: str) -> go.Figure:
    """A bar a value of `x`, in the order of the rows, made of a part a value of `label`. An unknown amount has no part."""
    order = labels(rows, x)
    traces = []
    for number, key in enumerate(labels(rows, label)):
        own = [row for row in rows if row[label] == key]
        traces.append(
            _part([row[x] for row in own], [row[value] for row in own], str(key or "not named"), number, currency)
        )
    taller = HEIGHT + _NAME_HEIGHT * max(0, len(traces) - _ROOMY)
    made = figure(traces, *titles, barmode="relative", height=taller)
    return _in_order(made, order)


def parts(rows: Sequence[Row], x: str, values: Sequence[str], titles: tuple[str, str], currency: str) -> go.Figure:
    """A bar a row, in the order of the rows, made of several columns; what is negative goes below the axis."""
    made = figure(_columns(rows, x, values, currency), *titles, barmode="relative")
    return _in_order(made, [str(row[x]) for row in rows])


def grouped(rows: Sequence[Row], x: str, values: Sequence[str], titles: tuple[str, str], currency: str) -> go.Figure:
    """Bars of several columns side by side, a group a row."""
    return figure(_columns(rows, x, values, currency), *titles, barmode="group")


def ranked(rows: Sequence[Row], label: str, value: str, title: str, currency: str) -> go.Figure:
    """Horizontal bars in the order of the rows, the first on top; losses in another colour and with their sign."""
    known = [row for row in rows if row[value] is not None]
    amounts = [row[value] for row in known]
    bar = go.Bar(
        x=[drawn(amount) for amount in amounts],
        y=[str(row[label]) for row in known],
        orientation="h",
        marker={"color": [LOSS if amount.startswith("-") else GAIN for amount in amounts]},
        text=[money.short(amount, currency) for amount in amounts],
        textposition="auto",
        customdata=[money.exactly(amount, currency) for amount in amounts],
        hovertemplate="%{y}<br>%{customdata}<extra></extra>",
    )
    made = figure([bar], title, "", legend=False, height=max(200, 80 + 26 * len(known)))
    made.update_yaxes(type="category", autorange="reversed")
    return made


def distribution(
    rows: Sequence[Row], edges: tuple[str, str], count: str, lost: str, marks: Sequence[Mark], titles: tuple[str, str]
) -> go.Figure:
    """How many are in each range of use, those who lose money apart, with limits as lines.

    Args:
        edges: columns of a range's lowest value and of the first above it. A range that begins at 0 has no place on the logarithmic
            axis: its count is written below it.
        count: how many are in it. lost: how many of these lose money.
    """
    low, high = edges
    drawable = [row for row in rows if row[low] > 0]
    starts = [float(row[low]) for row in drawable]
    widths = [float(row[high]) - float(row[low]) for row in drawable]
    ranges = [f"{row[low]:,} to below {row[high]:,}" for row in drawable]
    traces = [
        go.Bar(
            x=starts,
            y=[row[column] for row in drawable],
            width=widths,
            offset=0,
            name=name,
            marker={
                "color": colour,
                "pattern": filling(shape),
                "line": {"width": 1, "color": "white"},
            },
            customdata=ranges,
            hovertemplate=f"%{{customdata}}<br>%{{y}} {name}<extra></extra>",
        )
        for column, name, colour, shape in ((lost, "losing money", LOSS, "/"), (count, "all subscribers", GAIN, ""))
    ]
    unused = [f"{row[count]:,} used nothing" for row in rows if row[low] == 0]
    highest = max([row[count] for row in drawable], default=1)
    made = figure(reversed(traces), ". ".join([titles[0], *unused]), titles[1], barmode="overlay")
    made.update_xaxes(type="log", dtick=1, tickformat=",")
    made.update_yaxes(tickformat=",d", **({"dtick": 1} if highest <= _FEW else {}))
    for number, mark in enumerate(mark for mark in marks if mark.at is not None and float(mark.at) > 0):
        made.add_scatter(
            x=[float(mark.at or 0)] * 2,
            y=[0, highest],
            mode="lines",
            name=f"{mark.label}: {_use(mark.at)}",
            hoverinfo="name",
            line={"color": series(number + 2), "width": 3, "dash": dash(number + 1)},
        )
    return made


def _in_order(made: go.Figure, order: Sequence[Any]) -> go.Figure:
    """Bars in the order of the rows; of many periods only some are named."""
    made.update_xaxes(type="category", categoryorder="array", categoryarray=list(order))
    if dated(order):
        made.update_xaxes(**ticks(order))
    return made


def _use(at: str | int | None) -> str:
    """A limit as its label says it: whole from ten on, as nobody makes a part of a request."""
    exact = str(at)
    return f"{float(exact):,.0f}" if float(exact) >= 10 else money.number(exact)


def _columns(rows: Sequence[Row], x: str, values: Sequence[str], currency: str) -> list[go.Bar]:
    """A trace a column."""
    names = [str(row[x]) for row in rows]
    return [
        _part(names, [row[value] for row in rows], value.replace("_", " "), number, currency)
        for number, value in enumerate(values)
    ]


def _part(x: Sequence[str], amounts: Sequence[str | None], name: str, number: int, currency: str) -> go.Bar:
    return go.Bar(
        x=list(x),
        y=[drawn(amount) for amount in amounts],
        name=name,
        marker={"color": series(number), "pattern": filling(pattern(number))},
        customdata=[money.exactly(amount, currency) for amount in amounts],
        hovertext=[str(one) for one in x],
        hovertemplate=f"%{{hovertext}}<br>{name}<br>%{{customdata}}<extra></extra>",
    )
