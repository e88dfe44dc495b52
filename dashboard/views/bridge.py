"""Why did gross margin change since the period before?"""

from __future__ import annotations

import streamlit as st

from dashboard import charts, frame, plot, rows, states
from dashboard.api import Answer
from dashboard.definitions_plans import STEPS

_STEPS = ("step", "revenue", "cost", "margin")
_EFFECTS = ("price", "volume", "mix", "new", "fx")


def page() -> None:
    st.title("Margin bridge")
    answer = frame.report("margin-bridge", tz=None)
    for currency in rows.currencies(answer):
        _bridge(answer, currency)
    frame.source(answer, "margin-bridge")


def _bridge(answer: Answer, currency: str) -> None:
    before, after = (rows.footer(answer, name, currency) for name in ("margin_before", "margin_after"))
    change = rows.total(answer, "total", currency)
    if before is None or after is None or change is None:
        states.empty("No margin to compare", "Choose a period with usage or revenue, and one before it.")
        return
    notes = {line["name"]: line["note"] for line in answer.data["footer"]}
    at = st.columns(3)
    frame.metric("gross_margin", before, currency=currency, title="Before", at=at[0])
    frame.metric("gross_margin", after, currency=currency, title="In this period", at=at[1])
    frame.metric("margin_change", change["margin"], currency=currency, title="Change", at=at[2])
    st.caption(f"Before: {notes['margin_before']}. In this period: {notes['margin_after']}.")
    steps = rows.of(answer.rows, billing_currency=currency)
    drawing = charts.waterfall(steps, "step", "margin", ("before", before), ("in this period", after), currency)
    plot.draw(
        drawing,
        f"margin-bridge-{currency}",
        "Steps from one margin to the other",
        "Blue raises the margin, orange lowers it. Steps below half a cent have no bar; the table has all.",
    )
    shown = [{**row, "step": str(row["step"]).replace("_", " ")} for row in (*steps, change)]
    columns = [
        column | {"meaning": STEPS.get(column["name"], "")} for column in rows.chosen(answer.data["columns"], _STEPS)
    ]
    frame.table(shown, columns, f"Steps, {currency}")
    st.caption(
        f"In this order, as each step is measured after those before it: {notes['order'].partition(': ')[2].replace('_', ' ')}."
    )
    effects = rows.section(answer, "price_volume_mix", currency)
    if effects:
        titles = ("Plan", f"Change of net revenue, {currency}")
        plot.draw(
            charts.grouped(effects, "plan", _EFFECTS, titles, currency),
            f"price-volume-mix-{currency}",
            "Price, volume and mix by plan",
            rows.note(answer, "price_volume_mix"),
        )
        frame.table(effects, rows.columns(answer, "price_volume_mix"), f"Price, volume and mix, {currency}")
