"""How does a measured curve stand on a page: what it was measured on, its throughput as heat map and lines, and how far it errs?"""

from __future__ import annotations

from typing import Any

import streamlit as st

from dashboard import charts, frame, money, plot, states, url_state
from dashboard.api import Answer, segment

_CELLS = (
    {"name": "batch", "kind": "count"},
    {"name": "context", "kind": "count"},
    {"name": "fitted_tokens_per_second", "kind": "number"},
    {"name": "measured_tokens_per_second", "kind": "number"},
    {"name": "tokens_per_second", "kind": "number"},
    {"name": "step_seconds", "kind": "number"},
    {"name": "ttft_seconds", "kind": "number"},
    {"name": "extrapolated", "kind": "text", "meaning": "Whether the step lies beyond what was measured."},
    {"name": "ttft_extrapolated", "kind": "text", "meaning": "Whether prompts that long were not measured."},
)
_ERRORS = {"mape": "mean", "bias": "bias", "p95": "95th percentile", "max": "largest"}


def show() -> None:
    """The curve that the reader chooses."""
    listed = states.ask("/v1/curves")
    names = {row["curve_id"]: _named(row) for row in listed.data["curves"]}
    if not names:
        states.empty(
            "No measured curve", "Measure one (`tokencogs probe run`) and send it (`tokencogs probe push FILE`)."
        )
        frame.source(listed, "curves", downloads=False)
        return
    told = "What the probe measured of one model on one engine and GPU."
    chosen = url_state.choice("curve", "Curve", names, help=told)
    answer = states.ask(f"/v1/curves/{segment(chosen)}/evaluate")
    mark(answer.data["behaviour_changing"], answer.data["kl_divergence"])
    _measured(answer)
    _drawn(answer)


def mark(behaviour_changing: bool, kl_divergence: float | None = None) -> None:
    """Whether a setup changes answers: who compares costs across that must know it."""
    if not behaviour_changing:
        st.success("**Lossless.** Answers are distributed as without these settings.", icon=":material/verified:")
        return
    moved = "not measured" if kl_divergence is None else money.number(str(kl_divergence))
    st.warning(
        f"**Behaviour-changing.** This setup changes answers (KL divergence {moved}): evaluate your workload again before you compare its "
        "cost with another's.",
        icon=":material/published_with_changes:",
    )


def _named(row: dict[str, Any]) -> str:
    kind = "behaviour-changing" if row["behaviour_changing"] else "lossless"
    return f"{row['model']} on {row['gpu']}, {row['engine']} ({kind}): {row['curve_id']}"


def _measured(answer: Answer) -> None:
    curve = answer.data
    if curve["floor"]:
        st.warning("Composed from kernel times: a floor, about half of served time, never a price by itself.")
    errors = [f"{label} {curve['errors'][name]:+.1%}" for name, label in _ERRORS.items() if name in curve["errors"]]
    held = (
        f"Held-out error, relative to measured steps: {', '.join(errors)}. "
        if errors
        else "No held-out error is stated. "
    )
    form = "Fitted terms" if curve["form"] == "step" else "A table of served points"
    st.caption(f"{held}{form}, measured {curve['measured_at'][:10]}, {curve['dtype']}.")


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
    points = any(cell["measured_tokens_per_second"] is not None for cell in cells)
    told = "Points: measured." if points else "This curve came without its measured points."
    says = f"Lines: the fitted curve. {told} Thin and dotted: beyond what was measured."
    plot.draw(lines, "throughput-lines", "Fitted curve and measured points" if points else "Fitted curve", says)
    shown = [column for column in _CELLS if points or column["name"] != "measured_tokens_per_second"]
    frame.table(cells, shown, "Throughput and times")
    frame.source(answer, "curve", downloads=False)
    frame.files(cells, [column["name"] for column in _CELLS], "curve")
