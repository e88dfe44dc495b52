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
_MOST_CONTEXTS = 6
# Legible on a light and on a dark ground, side by side on a wide screen and one below another on a phone.
_STYLE = """
:root { color-scheme: light dark; font-family: system-ui, sans-serif; line-height: 1.4; }
body { margin: 1rem; overflow-wrap: anywhere; }
main { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1rem; }
@media (min-width: 60rem) { main { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); } }
section { min-width: 0; }
.js-plotly-plot text { fill: CanvasText !important; }
"""
_EMPTY = {
    "Cost over context": "no price was given (--gpu-price), or the curve is a floor, which has no dollars",
    "Measured over curve": "a table goes through its points",
    "Roofline": "the model's shape, its width or the device's ceilings are not known",
}


def write_report(pairs: Sequence[tuple[ResultFile, CurveDocument]], path: Path, gpu_hour: float | None) -> None:
    """One HTML file. Curves are drawn at points that all of them measured. Raises CurveRefused where plotly is not installed."""
    if go is None:
        raise CurveRefused("html", str(path), "charts need plotly: pip install 'tokencogs[report]'")
    documents = [document for _, document in pairs]
    known = sorted({context for _, context in common_points(documents)})
    contexts = known[:: -(-len(known) // _MOST_CONTEXTS)]
    drawn = [
        Drawn(
            result, document, _batches(documents), contexts, gpu_hour, result.result_id if len(pairs) > 1 else "", dash
        )
        for (result, document), dash in zip(pairs, _DASHES, strict=False)
    ]
    charts, script = [], True
    for title, draw in CHARTS.items():
        figure = _figure(draw, drawn)
        if figure.data:
            shown = figure.to_html(include_plotlyjs=script, full_html=False, config={"responsive": True})
            script = False
        else:
            shown = f"<p>Nothing to show: {escape(_EMPTY.get(title, 'no such points'))}.</p>"
        charts.append(f"<section><h3>{escape(title)}</h3>{shown}</section>")
    head = "".join(f"<h2>{escape(r.result_id)}</h2><ul>{_lines(r, d)}</ul>" for r, d in pairs)
    path.write_text(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(' and '.join(r.result_id for r, _ in pairs))}</title><style>{_STYLE}</style></head>"
        f"<body>{head}<main>{''.join(charts)}</main></body></html>",
        encoding="utf-8",
    )


def _figure(draw: Any, drawn: Sequence[Drawn]) -> Any:
    """One chart with the lines of all curves, its legend below."""
    figure: Any = make_subplots(rows=1, cols=1)
    for one in drawn:
        draw(figure, one, {"row": 1, "col": 1})
    clear, grid = "rgba(0,0,0,0)", "rgba(128,128,128,0.3)"
    figure.update_layout(
        height=460,
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        paper_bgcolor=clear,
        plot_bgcolor=clear,
        showlegend=True,
        legend={"orientation": "h", "y": -0.2, "bgcolor": clear},
    )
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(gridcolor=grid, linecolor=grid, zerolinecolor=grid, automargin=True)
    return figure


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
