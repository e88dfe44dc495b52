"""What do own machines cost: the pool's bill, a token over its context, and would buying be cheaper?"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import charts, curve_view, frame, plot, rows, states, url_state
from dashboard.api import Answer

_TOPICS = {
    "bill": "The bill: busy and idle",
    "token": "What a token costs",
    "buy": "Make or buy",
    "diagnosis": "What bounds a pool",
    "curve": "Measured curves",
}
_GRAINS = {"day": "Day", "month": "Month", "hour": "Hour"}
_BILL = ("pool", "period", "bill", "direct", "gap", "idle", "underfill", "utilisation_pct", "calibration", "requests")
_LEFT_OUT = {
    "row",
    "billing_currency",
    "notes",
    "curve_id",
    "uncached_input_tokens",
    "cached_input_tokens",
    "output_tokens",
}
"""Columns that the files have and a page has no room for."""
_PARTS = ("direct", "gap", "idle")
_NO_POOL = (
    "No pool has a settled hour in this period",
    "State a pool, its replicas and its rate (`tokencogs pools --help`), then `tokencogs settle`. Measured curves are there without one.",
)


def page() -> None:
    st.title("Self-hosted")
    topic = url_state.choice("topic", "Show", _TOPICS)
    {"bill": _bill, "token": _token, "buy": _buy, "diagnosis": _diagnosis, "curve": curve_view.show}[topic]()


def _bill() -> None:
    grain = url_state.choice("grain", "By", _GRAINS, "day")
    answer = frame.report("pool-bill", group_by=f"pool,{grain}", currency=None)
    if not answer.rows:
        states.empty(*_NO_POOL)
    for currency in rows.currencies(answer) if answer.rows else []:
        own = rows.of(answer.rows, billing_currency=currency)
        total = rows.total(answer, "total", currency)
        if total is None:
            continue
        at = st.columns(4)
        frame.metric("pool_bill", total["bill"], currency=currency, title="Bill", at=at[0])
        frame.metric("pool_direct", total["direct"], currency=currency, title="Requests' shares", at=at[1])
        frame.metric("pool_idle", total["idle"], currency=currency, title="Idle", at=at[2])
        frame.metric("utilisation_pct", total["utilisation_pct"], "percent", title="Utilisation", at=at[3])
        for pool in dict.fromkeys(str(row["pool"]) for row in own):
            drawing = charts.parts(rows.of(own, pool=pool), "period", _PARTS, (_GRAINS[grain], currency), currency)
            plot.draw(
                drawing,
                f"pool-bill-{pool}-{currency}",
                f"The bill of {pool}",
                "Shares of requests, the gap (time in flight that no share explains; negative where the curve predicts too much) and idle.",
            )
        shown = rows.chosen(answer.data["columns"], _BILL)
        frame.table(rows.named([*own, total], "pool"), shown, f"Pools' bills, {currency}")
    _beside(answer, ("unused", "unsettled"))
    frame.source(answer, "pool-bill")


def _token() -> None:
    answer = frame.report("unit-costs", currency=None)
    if not answer.rows:
        states.empty(*_NO_POOL)
        frame.source(answer, "unit-costs")
        return
    for currency in rows.currencies(answer):
        _statement(answer, currency, "Cost of a million tokens by pool")
        pools = [row["pool"] for row in rows.of(answer.rows, billing_currency=currency)]
        series = [row for row in rows.section(answer, "context") if row["pool"] in pools]
        if series:
            titles = ("Context, tokens", f"{currency} for a million output tokens")
            drawing = charts.lines(
                series, "context", "output_per_million", "pool", titles, unit=f" {currency}", log=(True, False)
            )
            plot.draw(
                drawing, f"context-{currency}", "Cost of a token against its context", rows.note(answer, "context")
            )
    _beside(answer, ("points", "context"))
    frame.source(answer, "unit-costs")


def _buy() -> None:
    told = "SELLER/MODEL of the price list; empty: sellers of the pool's own model."
    offer = url_state.words("offer", "Compare with", told, placeholder="openai/gpt-5-mini")
    answer = frame.report("make-or-buy", currency=None, filter=f"model:{offer}" if offer else None)
    if not answer.rows:
        states.empty(*_NO_POOL)
    changing = [row for row in answer.rows if row["behaviour_changing"] not in (None, "", "no", "false")]
    if answer.rows:
        curve_view.mark(bool(changing))
    for currency in rows.currencies(answer) if answer.rows else []:
        own = rows.of(answer.rows, billing_currency=currency)
        compared = [{**row, "offer": f"{row['pool']} or {row['tariff']}"} for row in own if row["tariff"]]
        if compared:
            names = ("full_per_million", "made_per_million", "bought_per_million")
            titles = ("", f"{currency} for a million tokens")
            drawing = charts.grouped(compared, "offer", names, titles, currency)
            plot.draw(drawing, f"make-or-buy-{currency}", "Made, made on full batches, and bought")
        _statement(answer, currency, "Make or buy")
        for row in own:
            if row["notes"]:
                st.caption(f"{row['pool']}: {row['notes']}")
    _beside(answer, ("sensitivity",))
    frame.source(answer, "make-or-buy")


def _diagnosis() -> None:
    answer = frame.report("pool-diagnosis", currency=None)
    if not answer.rows:
        states.empty(*_NO_POOL)
    for currency in rows.currencies(answer) if answer.rows else []:
        _statement(answer, currency, "What bounds each pool")
    _beside(answer, ("capacity", "what_if"))
    frame.source(answer, "pool-diagnosis")


def _statement(answer: Answer, currency: str, title: str) -> None:
    own = rows.of(answer.rows, billing_currency=currency)
    frame.table(own, [one for one in answer.data["columns"] if one["name"] not in _LEFT_OUT], f"{title}, {currency}")


def _beside(answer: Answer, names: Sequence[str]) -> None:
    titles = {one["name"]: one["title"] for one in answer.data["sections"]}
    for name in names:
        found = rows.section(answer, name)
        if found:
            with st.expander(titles[name]):
                st.caption(rows.note(answer, name))
                frame.table(found, rows.columns(answer, name), titles[name])
