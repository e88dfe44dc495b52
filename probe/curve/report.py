"""How does a curve look: throughput over batch, cost over context, residuals, and pace against throughput, on one page?"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from probe.curve.compare import common_points
from probe.curve.curve import CurveDocument
from probe.curve.errors import CurveRefused
from probe.curve.schema import ResultFile

try:
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots
except ImportError:
    go = make_subplots = None

_TITLES = ("Throughput over batch", "Cost over context", "Measured over curve", "Pace against throughput")


def write_report(result: ResultFile, curve: CurveDocument, path: Path, gpu_hour: float | None) -> None:
    """One HTML file that needs nothing else. Raises CurveRefused where plotly is not installed."""
    if go is None:
        raise CurveRefused("html", str(path), "charts need plotly: pip install 'tokencogs[report]'")
    figure = make_subplots(rows=2, cols=2, subplot_titles=_TITLES)
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
    figure.update_xaxes(type="log")
    note = "a floor: kernels only, no dollars" if curve.floor else ""
    figure.update_layout(title=f"{result.result_id} {note}")
    path.write_text(figure.to_html(include_plotlyjs=True, full_html=True), encoding="utf-8")
