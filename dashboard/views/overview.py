"""What did we spend and earn, is it covered, and where is the month going?"""

from __future__ import annotations

import streamlit as st

from dashboard import frame


def page() -> None:
    st.title("Overview")
    cost = frame.report("cost-of-revenue")
    frame.note_coverage(cost)
    frame.table(cost.rows, cost.data["columns"], "Cost of revenue by model")
    frame.source(cost, "cost-of-revenue")
