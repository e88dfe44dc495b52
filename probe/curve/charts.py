"""Which lines does each chart of a curve have? One function a chart; they draw into a figure's cell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from probe.curve.compare import per_million
from probe.curve.curve import CurveDocument
from probe.curve.frontier import frontier
from probe.curve.grid import Floats
from probe.curve.limits import use_of
from probe.curve.schema import ResultFile
from probe.curve.setup_shape import measured_of, peak_of, shape_of, widths
from probe.fit.table import place, sessions

Cell = dict[str, int]


@dataclass(frozen=True)
class Drawn:
    """One curve on a page. Attributes: contexts, batches: at which it is drawn; gpu_hour: dollars; name, dash: beside other curves."""

    result: ResultFile
    curve: CurveDocument
    batches: Floats
    contexts: list[int]
    gpu_hour: float | None
    name: str = ""
    dash: str = "solid"

    def called(self, what: str) -> str:
        return f"{self.name} {what}".strip()


def _lines(figure: Any, x: Floats, y: Floats, beyond: np.ndarray, name: str, dash: str, cell: Cell) -> None:
    """One line, and where no run was near another that is dotted and says so."""
    figure.add_scatter(x=x, y=np.where(beyond, np.nan, y), name=name, line={"dash": dash}, **cell)
    if beyond.any():
        far = np.where(beyond, y, np.nan)
        figure.add_scatter(x=x, y=far, name=f"{name}, not measured", mode="lines+markers", line={"dash": "dot"}, **cell)


def throughput(figure: Any, one: Drawn, cell: Cell) -> None:
    """Output tokens a second over batch, a line a context; served runs as they were."""
    for context in one.contexts:
        found = one.curve.answer(one.batches, float(context), "flag")
        name = one.called(f"context {context}")
        _lines(figure, one.batches, found.throughput, found.extrapolated, name, one.dash, cell)
    runs = [(place(run, sessions(one.result.served)), run.output_tokens_per_second) for run in one.result.served]
    placed = [(at[0], pace) for at, pace in runs if at and pace]
    if placed:
        x, y = zip(*placed, strict=True)
        figure.add_scatter(x=x, y=y, mode="markers", name=one.called("served"), **cell)
    figure.update_xaxes(title="batch", type="log", **cell)
    figure.update_yaxes(title="output tokens a second", **cell)


def cost(figure: Any, one: Drawn, cell: Cell) -> None:
    """Dollars per million output tokens over context, a line a batch; nothing for a floor, or without a price."""
    figure.update_xaxes(title="context, tokens", type="log", **cell)
    figure.update_yaxes(title="dollars per million output tokens", **cell)
    if one.gpu_hour is None or one.curve.floor:
        return
    for batch in one.batches[:: max(1, len(one.batches) // 4)]:
        found = one.curve.answer(batch, np.array(one.contexts, float), "flag")
        dollars = np.array([per_million(one.gpu_hour, one.result.device.count, pace) for pace in found.throughput])
        name = one.called(f"batch {batch:g}")
        _lines(figure, np.array(one.contexts, float), dollars, found.extrapolated, name, one.dash, cell)


def residuals(figure: Any, one: Drawn, cell: Cell) -> None:
    """Measured decode steps over the curve's terms, and ragged ones over its answers; nothing for a table, which goes through its points.
    A residual makes the answers go through the even points too, so those stand over the terms alone."""
    figure.update_xaxes(title="batch", type="log", **cell)
    figure.update_yaxes(title="measured / curve", **cell)
    if one.curve.terms is None:
        return
    for ragged in (False, True):
        points = [p for p in one.result.points if p.kind == "decode" and p.ragged is ragged]
        if points:
            at = [p.batch for p in points], [p.context_sum / p.batch for p in points]
            over = one.curve if ragged else replace(one.curve, residual=None)
            ratio = np.array([p.seconds for p in points]) / over.answer(*at, "flag").step
            name = one.called("ragged / curve" if ragged else "measured / terms")
            figure.add_scatter(x=at[0], y=ratio, mode="markers", name=name, **cell)


def pace(figure: Any, one: Drawn, cell: Cell) -> None:
    """What a user waits for a token against what all get, by context."""
    for context in one.contexts:
        found = one.curve.answer(one.batches, float(context), "flag")
        name = one.called(f"context {context}")
        _lines(figure, found.throughput, found.step * 1e3, found.extrapolated, name, one.dash, cell)
    figure.update_xaxes(title="output tokens a second", type="log", **cell)
    figure.update_yaxes(title="milliseconds a token", **cell)


def best(figure: Any, one: Drawn, cell: Cell) -> None:
    """Tokens a second and GPU over tokens a second and user: batches that no other beats in both, the beaten ones as crosses; measured
    ones alone."""
    gpus = one.result.device.count
    for context in one.contexts:
        found = one.curve.answer(one.batches, float(context), "flag")
        step, total = found.step[~found.extrapolated], found.throughput[~found.extrapolated]
        kept = frontier(step, total)
        user, each = 1 / step, total / gpus
        line, name = {"dash": one.dash}, one.called(f"frontier {context}")
        figure.add_scatter(x=user[kept], y=each[kept], mode="lines+markers", name=name, line=line, **cell)
        if not kept.all():
            beaten = one.called(f"beaten {context}")
            marker = {"symbol": "x"}
            figure.add_scatter(x=user[~kept], y=each[~kept], mode="markers", name=beaten, marker=marker, **cell)
    figure.update_xaxes(title="output tokens a second and user", type="log", **cell)
    figure.update_yaxes(title="output tokens a second and GPU", **cell)


def roofline(figure: Any, one: Drawn, cell: Cell) -> None:
    """Operations a second over operations a byte of each measured shape, under the measured ceiling, else the nominal one; empty where
    the shape, the width or the ceilings are not known."""
    figure.update_xaxes(title="operations a byte", type="log", **cell)
    figure.update_yaxes(title="operations a second", type="log", **cell)
    result = one.result
    shape, width, ceiling = shape_of(result), widths(result), measured_of(result) or peak_of(result)
    if shape is None or width is None or ceiling is None or ceiling.flops is None:
        return
    intensities = np.geomspace(0.1, 1e4, 60)
    roof = np.minimum(intensities * ceiling.bytes_per_second, ceiling.flops)
    figure.add_scatter(x=intensities, y=roof, name=one.called("ceiling"), line={"dash": one.dash}, **cell)
    for kind in ("decode", "prefill"):
        at, reached = [], []
        for point in (some for some in result.points if some.kind == kind):
            use = use_of(point, shape, ceiling, *width)
            done = (use.operations or 0.0) * ceiling.flops
            at.append(done / (use.bandwidth * ceiling.bytes_per_second))
            reached.append(done)
        if at:
            figure.add_scatter(x=at, y=reached, mode="markers", name=one.called(kind), **cell)


CHARTS = {
    "Throughput over batch": throughput,
    "Cost over context": cost,
    "Measured over curve": residuals,
    "Pace against throughput": pace,
    "Roofline": roofline,
    "Frontier of latency and throughput": best,
}
