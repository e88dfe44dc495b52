"""What did we spend and earn, is it covered, and where is the period going? A running period is shown to date."""

from __future__ import annotations

from typing import Any, Literal

import streamlit as st

from dashboard import charts, frame, money, plot, rows, session, states, url_state
from dashboard.api import Answer

_COMPARED = ("net_revenue", "cost_of_revenue", "gross_margin")
_ROWS = {
    "period": "The period",
    "to_date": "To date, complete days",
    "before": "Same days of the period before",
    "change": "Change (of a margin %: in points)",
    "run_rate": "Run rate to the end",
}


def page() -> None:
    st.title("Overview")
    chosen = session.reader()
    days = {**chosen.period, "currency": chosen.currency}
    overview = states.ask("/v1/reports/overview", **days)
    if all(row["events"] == 0 and row["net_revenue"] == "0" for row in rows.of(overview.rows, row="period")):
        states.empty(
            "No usage and no revenue in this period",
            "Choose another period on the left, or send events to `/v1/usage/events` or spans to `/v1/traces`.",
        )
        return
    frame.note_coverage(overview)
    for currency in rows.currencies(overview):
        _figures(overview, currency)
    _coverage(overview)
    _compared(overview)
    frame.source(overview, "overview")
    # Asked with the first, they would keep its figures waiting.
    by_day, statement = states.ask_all(
        ("/v1/reports/explore", {**days, "tz": chosen.tz, "group_by": "day,model", "filter": "category:Usage"}),
        ("/v1/reports/cost-of-revenue", {**days, "tz": chosen.tz}),
    )
    _by_day(by_day)
    _statement(statement)


def _figures(answer: Answer, currency: str) -> None:
    named = {row["row"]: row for row in rows.of(answer.rows, billing_currency=currency)}
    running = named["to_date"]["to"] not in (None, named["period"]["to"])
    period, change, rate = named["to_date" if running else "period"], named["change"], named["run_rate"]
    if running:
        st.caption(
            f"To date: the complete days from {period['from']} on, {period['to']} not included. What is earned later in the period, and "
            "the running day, are below in the row of the period."
        )
    at = st.columns(4)
    for place, name in zip(at, _COMPARED, strict=False):
        _compare(name, period, change, currency, place)
    frame.metric("effective_cost", period["effective_cost"], currency=currency, title="All spend", at=at[3])
    at = st.columns(4)
    frame.metric("gross_margin_pct", period["gross_margin_pct"], "percent", title="Margin, free tier in", at=at[0])
    frame.metric(
        "gross_margin_free_tier_out_pct",
        period["gross_margin_free_tier_out_pct"],
        "percent",
        title="Margin, free tier out",
        at=at[1],
    )
    frame.metric("free_tier_cost", period["free_tier_cost"], currency=currency, at=at[2])
    frame.metric("run_rate", rate["cost_of_revenue"], currency=currency, title="Run rate, cost", at=at[3])


def _compare(name: str, period: rows.Row, change: rows.Row, currency: str, at: Any) -> None:
    relative = change[f"{name}_change_pct"]
    told = None if relative is None else f"{money.percent(relative)} vs before"
    worse: Literal["inverse", "normal"] = "inverse" if name == "cost_of_revenue" else "normal"
    frame.metric(name, period[name], currency=currency, at=at, delta=told, delta_color=worse)


def _coverage(answer: Answer) -> None:
    st.subheader("Coverage", anchor=False)
    columns = [
        {"name": "status", "kind": "text"},
        {"name": "events", "kind": "count"},
        {"name": "event_share", "kind": "percent"},
        {"name": "tokens", "kind": "count"},
        {"name": "token_share", "kind": "percent"},
    ]
    named = [{**row, "status": row["status"].replace("_", " ")} for row in answer.data["coverage"]]
    frame.table(named, columns, "How much of the usage the amounts stand on")


def _compared(answer: Answer) -> None:
    st.subheader("Against the period before", anchor=False)
    st.caption(
        "Complete days only: half a day against a whole one says nothing. Run rate = to date x days of the period / complete days."
    )
    named = [{**row, "row": _ROWS[row["row"]]} for row in answer.rows]
    columns = [{"name": "row", "kind": "text", "label": "Days"}]
    several = ("billing_currency",) if len(rows.currencies(answer)) > 1 else ()
    columns += frame.columns(answer, *several, "from", "to", "net_revenue", "cost_of_revenue")
    columns += frame.columns(answer, "gross_margin", "gross_margin_pct", "gross_margin_free_tier_out", "effective_cost")
    frame.table(named, columns, "The period, its complete days, and the days they are compared with")


def _by_day(answer: Answer) -> None:
    for currency in rows.currencies(answer):
        own = rows.of(answer.rows, billing_currency=currency)
        if own:
            made = charts.stacked(own, "day", "model", "effective_cost", ("", currency), currency)
            plot.draw(made, f"cost-by-day-{currency}", f"Usage cost by day and model, {currency}")
    frame.source(answer, "cost-by-day")


def _statement(answer: Answer) -> None:
    st.subheader("Cost statement", anchor=False)
    frame.table(_lines(answer), frame.columns(answer, leave=("row", *_LEFT)), "By statement line, seller and model")
    frame.source(answer, "cost-of-revenue")
    url_state.link("explorer", "Look into any part of it in the cost explorer", icon=":material/travel_explore:")


_LEFT = ("list_cost", "contracted_cost", "billed_cost", "pending_events", "tokens")


def _lines(answer: Answer) -> list[rows.Row]:
    """Details, each line's subtotal below its own, the total last: the order of the statement."""
    order: list[rows.Row] = []
    for total in rows.of(answer.data["totals"], row="total"):
        currency = total["billing_currency"]
        for subtotal in rows.of(answer.data["totals"], row="subtotal", billing_currency=currency):
            line = subtotal["statement_line"]
            order += rows.of(answer.rows, billing_currency=currency, statement_line=line)
            order.append({**subtotal, "statement_line": f"subtotal {line}"})
        order.append({**total, "statement_line": "total"})
    return order
