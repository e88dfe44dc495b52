"""How does a chart stand on a page? With a heading, a description for those who don't see it, and a camera that saves it as PNG."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import streamlit as st

from dashboard.frame import PLOT


def draw(figure: go.Figure, name: str, title: str, says: str = "", at: Any = st) -> None:
    """One chart.

    Args:
        name: of the PNG and of the widget; once a page. title: heading. says: how to read it, below the heading.
    """
    at.subheader(title, anchor=False)
    if says:
        at.caption(says)
    options = {**PLOT["toImageButtonOptions"], "filename": name}
    at.plotly_chart(
        figure, width="stretch", theme="streamlit", key=f"plot:{name}", config={**PLOT, "toImageButtonOptions": options}
    )
