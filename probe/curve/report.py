"""How does a curve look: throughput over batch, cost over context, residuals, pace against throughput, and the roofline, on one page?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from probe.curve.compare import common_points
from probe.curve.curve import CurveDocument
from probe.curve.errors import CurveRefused
from probe.curve.limits import use_of
from probe.curve.schema import ResultFile
from probe.curve.setup_shape import measured_of, peak_of, shape_of, widths

try:
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots
except ImportError:
    go = make_subplots = None

_TITLES = ("Throughput over batch", "Cost over context", "Measured over curve", "Pace against throughput", "Roofline")


def write_report(result: ResultFile, curve: CurveDocument, path: Path, gpu_hour: float | None) -> None:
    """One HTML file that needs nothing else. Raises CurveRefused where plotly is not installed."""
    if go is None:
        raise CurveRefused("html", str(path), "charts need plotly: pip install 'tokencogs[report]'")
    figure = make_subplots(rows=3, cols=2, subplot_titles=_TITLES)
    points = common_points([curve])
    batches, contexts = sorted({b for b, _ in points}), sorted({s for _, s in points})
    for context in contexts:
        found = curve.answer(np.array(batches, float), float(context), "flag")
        name = f"context {context}"
        figure.add_scatter(x=batches, y=found.throughput, name=name, row=1, col=1)
        figure.add_scatter(x=found.throughput, y=found.step * 1e3, name=name, row=2, col=2)
    if gpu_hour is not None and not curve.floor:
        for batch in batches:
            found = curve.answer(float(batch), np.array(contexts, float), "flag")
            dollars = gpu_hour * result.device.count / 3600 / found.throughput * 1e6
            figure.add_scatter(x=contexts, y=dollars, name=f"batch {batch}", row=1, col=2)
    decode = [p for p in result.points if p.kind == "decode"]
    if decode and curve.terms is not None:
        fitted = curve.answer([p.batch for p in decode], [p.context_sum / p.batch for p in decode], "flag").step
        ratio = np.array([p.seconds for p in decode]) / fitted
        figure.add_scatter(x=[p.batch for p in decode], y=ratio, mode="markers", name="measured / curve", row=2, col=1)
    _roofline(figure, result)
    figure.update_xaxes(type="log")
    note = "a floor: kernels only, no dollars" if curve.floor else ""
    figure.update_layout(title=f"{result.result_id} {note}")
    path.write_text(figure.to_html(include_plotlyjs=True, full_html=True), encoding="utf-8")


def _roofline(figure: Any, result: ResultFile) -> None:
    """Operations a second over operations a byte of each measured shape, under the measured ceiling, else the nominal one; empty where
    the shape, the width or both ceilings are not known."""
    shape, width, ceiling = shape_of(result), widths(result), measured_of(result) or peak_of(result)
    if shape is None or width is None or ceiling is None:
        return
    intensities = np.geomspace(0.1, 1e4, 60)
    roof = np.minimum(intensities * ceiling.bytes_per_second, ceiling.flops)
    figure.add_scatter(x=intensities, y=roof, name="ceiling", row=3, col=1)
    for kind in ("decode", "prefill"):
        at, reached = [], []
        for point in (one for one in result.points if one.kind == kind):
            use = use_of(point, shape, ceiling, *width)
            done = use.operations * ceiling.flops
            at.append(done / (use.bandwidth * ceiling.bytes_per_second))
            reached.append(done)
        figure.add_scatter(x=at, y=reached, mode="markers", name=kind, row=3, col=1)
