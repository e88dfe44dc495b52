"""How do one or two curves look: six charts on one page that needs nothing else, with their errors and notes?"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from probe.curve.charts import CHARTS, Drawn
from probe.curve.compare import common_points
from probe.curve.curve import CurveDocument
from probe.curve.errors import CurveRefused
from probe.curve.grid import Floats
from probe.curve.schema import ResultFile

try:
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots
except ImportError:
    go = make_subplots = None

_DASHES = ("solid", "dash")


def write_report(pairs: Sequence[tuple[ResultFile, CurveDocument]], path: Path, gpu_hour: float | None) -> None:
    """One HTML file. Curves are drawn at points that all of them measured. Raises CurveRefused where plotly is not installed."""
    if go is None:
        raise CurveRefused("html", str(path), "charts need plotly: pip install 'tokencogs[report]'")
    documents = [document for _, document in pairs]
    contexts = sorted({context for _, context in common_points(documents)})
    figure: Any = make_subplots(rows=3, cols=2, subplot_titles=list(CHARTS), vertical_spacing=0.1)
    for (result, document), dash in zip(pairs, _DASHES, strict=False):
        name = result.result_id if len(pairs) > 1 else ""
        one = Drawn(result, document, _batches(documents), contexts, gpu_hour, name, dash)
        for index, draw in enumerate(CHARTS.values()):
            draw(figure, one, {"row": index // 2 + 1, "col": index % 2 + 1})
    figure.update_layout(height=1300, title=" and ".join(result.result_id for result, _ in pairs))
    body = figure.to_html(include_plotlyjs=True, full_html=False)
    head = "".join(f"<h2>{escape(r.result_id)}</h2><ul>{_lines(r, d)}</ul>" for r, d in pairs)
    path.write_text(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Curves</title></head><body>{head}{body}</body></html>',
        encoding="utf-8",
    )


def _batches(curves: Sequence[CurveDocument]) -> Floats:
    """Powers of two that all measured, and both ends."""
    low = max(curve.file["domain"]["batch"][0] for curve in curves)
    high = min(curve.file["domain"]["batch"][1] for curve in curves)
    if low > high:
        low, high = curves[0].file["domain"]["batch"]
    inner = [2.0**power for power in range(12) if low < 2**power < high]
    return np.array(sorted({float(low), *inner, float(high)}))


def _lines(result: ResultFile, curve: CurveDocument) -> str:
    file = curve.file
    found = [
        f"{result.model.name} on {file['engine']}, {file['gpu']}, {file.get('dtype')}, measured {file['measured_at']}"
    ]
    if curve.floor:
        found.append("a floor: kernels only, no dollars")
    if file.get("behaviour_changing"):
        found.append("this setup changes answers: evaluate the workload again")
    if result.fit is not None:
        for name, e in result.fit.errors.items():
            found.append(f"{name}: mape {e.mape:.1%}, bias {e.bias:+.1%}, p95 {e.p95:.1%}, max {e.max:.1%}, n {e.n}")
        found += result.fit.notes
    return "".join(f"<li>{escape(line)}</li>" for line in found)
