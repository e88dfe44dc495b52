"""What do own machines cost: the pool's bill, a token over batch and context, and would buying be cheaper?"""

from __future__ import annotations

from typing import Any

import streamlit as st

from dashboard import charts, frame, money, plot, states, url_state
from dashboard.api import Answer, segment

_CELLS = (
    {"name": "batch", "kind": "count"},
    {"name": "context", "kind": "count"},
    {"name": "tokens_per_second", "kind": "number"},
    {"name": "fitted_tokens_per_second", "kind": "number"},
    {"name": "measured_tokens_per_second", "kind": "number"},
    {"name": "step_seconds", "kind": "number"},
    {"name": "ttft_seconds", "kind": "number"},
)
_ERRORS = {"mape": "Mean error", "bias": "Bias", "p95": "95th percentile", "max": "Largest"}


def page() -> None:
    st.title("Self-hosted")
    _curves()


def _curves() -> None:
    listed = states.ask("/v1/curves")
    names = {row["curve_id"]: _named(row) for row in listed.data["curves"]}
    if not names:
        states.empty(
            "No measured curve", "Measure one (`tokencogs probe run`) and send it (`tokencogs probe push FILE`)."
        )
        frame.source(listed, "curves", downloads=False)
        return
    chosen = url_state.choice(
        "curve", "Curve", names, help="What the probe measured of one model on one engine and GPU."
    )
    answer = states.ask(f"/v1/curves/{segment(chosen)}/evaluate")
    _marks(answer)
    _drawn(answer)


def _named(row: dict[str, Any]) -> str:
    return f"{row['curve_id']}: {row['model']} on {row['gpu']}, {row['engine']}"


def _marks(answer: Answer) -> None:
    """What a reader must know before using the figures."""
    curve = answer.data
    if curve["behaviour_changing"]:
        moved = "not measured" if curve["kl_divergence"] is None else money.number(str(curve["kl_divergence"]))
        st.warning(
            f"**Behaviour-changing.** This setup changes answers (KL divergence {moved}): evaluate your workload again before you compare "
            "its cost with another's.",
            icon=":material/published_with_changes:",
        )
    else:
        st.success("**Lossless.** Answers are distributed as without these settings.", icon=":material/verified:")
    if curve["floor"]:
        st.warning("Composed from kernel times: a floor, about half of served time, never a price by itself.")
    told = [
        f"{label} {money.number(str(curve['errors'][name]))}"
        for name, label in _ERRORS.items()
        if name in curve["errors"]
    ]
    held = f"Held-out error, relative to measured: {', '.join(told)}. " if told else "No held-out error is stated. "
    st.caption(f"{held}Measured {curve['measured_at']}, {curve['dtype']}, form {curve['form']}.")


def _drawn(answer: Answer) -> None:
    cells = answer.data["cells"]
    titles = ("Context, tokens a sequence", "Batch, sequences", "tokens/s")
    plot.draw(
        charts.heat(cells, "context", "batch", "tokens_per_second", titles, lambda value: money.brief(str(value))),
        "throughput",
        "Throughput over batch and context",
        "Output tokens a second of one replica.",
    )
    lines = charts.lines(
        cells,
        "batch",
        "fitted_tokens_per_second",
        "context",
        ("Batch, sequences", "Output tokens a second"),
        unit=" tokens/s",
        measured="measured_tokens_per_second",
        beyond="extrapolated",
        log=(True, True),
        name="context",
    )
    plot.draw(
        lines,
        "throughput-lines",
        "Fitted curve and measured points",
        "Lines: fitted. Points: measured. Dotted: beyond what was measured.",
    )
    frame.table(cells, _CELLS, "Throughput and times")
    frame.source(answer, "curve", downloads=False)
    frame.files(cells, [column["name"] for column in _CELLS], "curve")
