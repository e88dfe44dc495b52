"""What is the traffic made of, and what do caches, long contexts, retries and failures cost?"""

from __future__ import annotations

import streamlit as st

from dashboard import charts, frame, plot, rows, states, url_state
from dashboard.api import Answer

GROUPS = {
    "feature": "Feature",
    "model": "Model",
    "purpose": "Purpose",
    "reasoning_effort": "Reasoning effort",
    "score": "Evaluation score",
}
_TOKENS = ("key", "events", "input_tokens", "cache_read_tokens", "output_tokens", "output_to_input")
_CONTEXT = ("key", "context_p50", "context_p95", "context_max", "cache_hit_pct", "cache_saving")
_COST = (
    "key",
    "effective_cost",
    "blended_per_million",
    "input_per_million",
    "output_per_million",
    "retries",
    "retry_cost",
    "failures",
    "failure_cost",
)
_TASKS = ("key", "tasks", "cost_per_task", "calls_per_task")
_LATENCY = ("key", *(f"{name}_ms_{point}" for name in ("queue", "ttft", "itl") for point in ("p50", "p95")))
_EFFECTS = ("by_calls", "by_tokens_per_call", "by_unit_price")
_COMPARED = 2
_TABLES = {
    "Tokens": _TOKENS,
    "Context and cache": _CONTEXT,
    "Cost": _COST,
    "Agents' tasks": _TASKS,
    "Latency": _LATENCY,
}


def page() -> None:
    st.title("Workload")
    by = url_state.choice("by", "By", GROUPS, "feature", "What each row stands for.")
    answer = frame.report("workload", group_by=by)
    if not answer.rows:
        states.empty("No requests in this period", "Choose another period, or send events: `POST /v1/usage/events`.")
    for currency in rows.currencies(answer) if answer.rows else []:
        _block(answer, currency, GROUPS[by])
    frame.source(answer, "workload")


def _block(answer: Answer, currency: str, by: str) -> None:
    own = rows.of(answer.rows, billing_currency=currency)
    total = rows.total(answer, "total", currency)
    if total is None:
        return
    at = st.columns(4)
    frame.metric("effective_cost", total["effective_cost"], currency=currency, at=at[0])
    frame.metric("cache_hit_pct", total["cache_hit_pct"], "percent", title="Cache hits", at=at[1])
    frame.metric("cache_saving", total["cache_saving"], currency=currency, title="Saved by caches", at=at[2])
    frame.metric("failure_cost", total["failure_cost"], currency=currency, title="Spent on failures", at=at[3])
    drawing = charts.ranked(own, "key", "effective_cost", f"Effective cost, {currency}", currency)
    plot.draw(drawing, f"workload-{currency}", f"Cost by {by.lower()}", at=st.container())
    _growth(answer, currency)
    tabs = st.tabs(list(_TABLES))
    for tab, (title, names) in zip(tabs, _TABLES.items(), strict=True):
        shown = rows.chosen(answer.data["columns"], names)
        shown[0]["label"] = by
        paid = len(rows.currencies(answer)) > 1 or any(column["kind"] == "money" for column in shown)
        frame.table(rows.named([*own, total], "key"), shown, f"{title}, {currency}" if paid else title, at=tab)


def _growth(answer: Answer, currency: str) -> None:
    """Why cost changed from month to month; a period inside one month has nothing to compare."""
    months = rows.section(answer, "growth", currency)
    if len(months) < _COMPARED:
        return
    drawing = charts.parts(months[1:], "month", _EFFECTS, ("Month", f"Change of cost, {currency}"), currency)
    plot.draw(drawing, f"growth-{currency}", "Why cost changed since the month before", rows.note(answer, "growth"))
    frame.table(months, rows.columns(answer, "growth"), f"Growth by month, {currency}")
