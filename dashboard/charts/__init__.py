"""How do figures become pictures? Builders of plotly figures from rows as the API sends them."""

from dashboard.charts.bars import Mark, distribution, grouped, parts, ranked, stacked
from dashboard.charts.heat import heat
from dashboard.charts.lines import lines, lorenz
from dashboard.charts.spark import spark
from dashboard.charts.steps import steps
from dashboard.charts.waterfall import waterfall

__all__ = [
    "Mark",
    "distribution",
    "grouped",
    "heat",
    "lines",
    "lorenz",
    "parts",
    "ranked",
    "spark",
    "stacked",
    "steps",
    "waterfall",
]
