"""Which plans make money, how much use do they bear, and who on them loses it?"""

from __future__ import annotations

import streamlit as st

from dashboard import charts, frame, plot, rows, session, states, url_state
from dashboard.api import Answer

UNITS = {"requests": "Requests", "tokens": "Tokens"}
_MARGIN = ("net_revenue", "provider_cost", "tools_cost", "self_hosted_cost", "payment_fees", "gross_margin")
"""The first less those between is the last."""
_STATEMENT = (
    "plan",
    "subscribers",
    *_MARGIN,
    "gross_margin_pct",
    "loss_making",
    "loss_making_pct",
    "cost_per_subscriber",
    "net_revenue_per_subscriber",
)
_BESIDE = {
    "intervals": "How sure each estimate is",
    "cost_distribution": "Cost of a subscriber",
    "break_even": "Break-even use",
    "caps": "Caps on use",
    "free_tier": "What the free tier costs",
    "cohorts": "Cohorts and payback",
}


def page() -> None:
    st.title("Plans")
    answer = frame.report("plan-profitability", tz=None, limit=100)
    frame.note_coverage(answer)
    plans = [row for row in answer.rows if row["row"] == "detail"]
    if not plans:
        states.empty(
            "No plan has a subscriber",
            "Add plans and subscriptions: `tokencogs plan set`, `tokencogs subscription import`.",
        )
        frame.source(answer, "plan-profitability")
        return
    for currency in rows.currencies(answer):
        _block(answer, currency)
    frame.source(answer, "plan-profitability")


def _block(answer: Answer, currency: str) -> None:
    own = rows.of(answer.rows, billing_currency=currency)
    plans = rows.of(own, row="detail")
    inside = rows.total(answer, "total_free_tier_in", currency)
    if inside is None:
        return
    at = st.columns(4)
    frame.metric("gross_margin", inside["gross_margin"], currency=currency, at=at[0])
    frame.metric("gross_margin_pct", inside["gross_margin_pct"], "percent", at=at[1])
    frame.metric("loss_making", inside["loss_making"], "count", title="Lose money", at=at[2])
    frame.metric("loss_making_pct", inside["loss_making_pct"], "percent", title="Lose money, %", at=at[3])
    drawing = charts.grouped(plans, "plan", _MARGIN, ("Plan", currency), currency)
    plot.draw(drawing, f"plans-{currency}", "Revenue, costs and gross margin by plan")
    frame.table(
        rows.named(rows.statement(answer, currency), "plan"),
        rows.chosen(answer.data["columns"], _STATEMENT),
        f"Plans, {currency}",
    )
    _use(answer, currency)
    _losing(answer, currency)
    st.subheader("More about each plan", anchor=False)
    for name, title in _BESIDE.items():
        found = rows.section(answer, name, currency)
        if found:
            with st.expander(title):
                st.caption(rows.note(answer, name))
                frame.table(found, rows.columns(answer, name), f"{title}, {currency}")


def _use(answer: Answer, currency: str) -> None:
    """The distribution of use on one plan, with what a subscriber may use before it loses money."""
    spread = rows.section(answer, "use_distribution", currency)
    names = {str(row["plan"]): str(row["plan"]) for row in spread}
    if not names:
        return
    at = st.columns(2)
    paid = [
        row["plan"] for row in rows.section(answer, "break_even", currency) if row["break_even_use"] not in (None, "0")
    ]
    plan = url_state.choice("plan", "Plan", names, next(iter(paid), None), at=at[0])
    unit = url_state.choice("unit", "Use in", UNITS, "requests", at=at[1])
    (even,) = rows.of(rows.section(answer, "break_even", currency), plan=plan, unit=unit)
    caps = rows.of(rows.section(answer, "caps", currency), plan=plan, unit=unit)
    marks = [charts.Mark("break-even", even["break_even_use"])]
    marks += [charts.Mark(f"cap for {row['covered_pct']} %", row["cap"]) for row in caps]
    drawing = charts.distribution(
        rows.of(spread, plan=plan, unit=unit),
        ("from_use", "below_use"),
        "subscribers",
        "loss_making",
        marks,
        (f"{UNITS[unit]} in the period", "Subscribers"),
    )
    said = " ".join(f"Cap for {row['covered_pct']} % of subscribers: {row['note']}." for row in caps if row["note"])
    plot.draw(
        drawing,
        f"use-{currency}",
        f"Use on {plan}",
        "Dashed lines: the use at which an average subscriber earns nothing, and the caps under which 95 % and 99 % would not lose money. "
        + said,
    )


def _losing(answer: Answer, currency: str) -> None:
    """Who loses money, and the way to each of them."""
    lost = rows.section(answer, "loss_making", currency)
    st.subheader("Loss-making subscribers", anchor=False)
    if not lost:
        st.success("Nobody on a plan costs more than they pay in this period.", icon=":material/check:")
        return
    left = rows.note(answer, "loss_making")
    if left:
        st.caption(left)
    frame.table(lost, rows.columns(answer, "loss_making"), f"Loss-making subscribers, {currency}")
    worst = str(rows.worst(lost)["user_id"])
    if session.reader().may("viewer"):
        url_state.link("users", f"Why does {worst} lose money?", icon=":material/person_search:", user=worst)
