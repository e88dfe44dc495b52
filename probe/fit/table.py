"""Which table do served runs make, and how far off is a run that is left out?

A served run says how long a token took at the concurrency that it saw, others' prefill included. Nothing is smoothed: where throughput
falls with more users, the table falls with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from probe.curve.errors import CurveRefused
from probe.curve.grid import Grid
from probe.curve.schema import Error, Fit, Served
from probe.fit.errors import error_of


@dataclass(frozen=True)
class Table:
    """Seconds a token and seconds to the first one over batch and context, and the report."""

    steps: Grid
    first_token: Grid | None
    report: Fit


def step_seconds(run: Served) -> float | None:
    """Seconds between tokens of a run: median TPOT, else mean TPOT; ITL only where no TPOT was given (it is by chunk in some tools)."""
    known = (run.tpot_median, run.tpot_mean, run.itl_median, run.itl_mean)
    return next((one for one in known if one), None)


def batch_of(run: Served) -> float | None:
    """Sequences decoding at once: output tokens a second times seconds a token (Little's law); else the concurrency kept."""
    step = step_seconds(run)
    if run.output_tokens_per_second and step:
        return max(run.output_tokens_per_second * step, 1.0)
    return run.concurrency


def context_of(run: Served) -> float:
    """Tokens a sequence attends to on average: its prompt and half of its output."""
    return run.input_tokens + run.output_tokens / 2


def fit_table(runs: Sequence[Served]) -> Table:
    """Table over (concurrency kept, context), or over the measured batch where runs are open-loop.

    Runs of one cell are averaged by median. Where the server's cache hits were counted, users work through growing contexts: there one
    context stands for all (its median), and a step is what a user waited for a token, everything included. Raises CurveRefused
    naming what is missing.
    """
    closed = all(run.concurrency and run.request_rate is None for run in runs)
    sessions = closed and all(run.cache_hit_share is not None for run in runs)
    typical = round(float(np.median([context_of(run) for run in runs])))
    rows = []
    for run in runs:
        step, batch = step_seconds(run), run.concurrency if closed else batch_of(run)
        if sessions and run.output_tokens_per_second and batch:
            step = batch / run.output_tokens_per_second
        if step and batch:
            context = typical if sessions else round(context_of(run))
            rows.append((round(float(batch), 3), context, step, run.ttft_median or run.ttft_mean))
    if len(rows) < 2:
        raise CurveRefused(
            "served", len(rows), "at least two runs with TPOT or ITL and a concurrency or throughput are needed"
        )
    steps = _grid({(b, s): _of(rows, b, s, 2) for b, s, _, _ in rows})
    first = None if any(one[3] is None for one in rows) else _grid({(b, s): _of(rows, b, s, 3) for b, s, _, _ in rows})
    held = leave_one_point(rows)
    notes = ["equal shares of a step: a table knows no terms of its own"]
    if not closed:
        notes.append("batch is output tokens a second times TPOT: measured in flight, not offered")
    if sessions:
        notes += ["a step is users over output tokens a second: prefill, waiting and failed work included", _hits(runs)]
    errors = {} if held is None else {"leave_one_point": held}
    return Table(steps, first, Fit(chosen="table", errors=errors, notes=notes))


def _hits(runs: Sequence[Served]) -> str:
    """From which load on the cache stops helping."""
    shares = sorted((run.concurrency or 0.0, run.cache_hit_share or 0.0) for run in runs)
    (few, high), (many, low) = shares[0], min(shares, key=lambda one: one[1])
    return f"cache hits fall from {high:.0%} at {few:g} to {low:.0%} at {many:g}"


def leave_one_point(rows: Sequence[tuple[float, float, float, float | None]]) -> Error | None:
    """Errors of seconds a token, each run predicted from runs of the other batches at its context, between neighbours only."""
    predicted, measured = [], []
    for batch, context, seconds, _ in rows:
        others = {b: _of(rows, b, s, 2) for b, s, _, _ in rows if s == context and b != batch}
        if len(others) >= 2 and min(others) < batch < max(others):
            at = sorted(others)
            predicted.append(float(np.interp(batch, at, [others[one] for one in at])))
            measured.append(seconds)
    return error_of(np.array(predicted), np.array(measured)) if predicted else None


def _of(rows: Sequence[tuple[float, float, float, float | None]], batch: float, context: float, column: int) -> float:
    return float(np.median([row[column] for row in rows if row[:2] == (batch, context)]))  # type: ignore[arg-type]


def _grid(cells: dict[tuple[float, float], float]) -> Grid:
    """Cells not measured take the value of the same context at the nearest measured batches, straight between them."""
    batches, contexts = (sorted({key[axis] for key in cells}) for axis in (0, 1))
    columns = []
    for context in contexts:
        at = [b for b in batches if (b, context) in cells]
        columns.append(np.interp(batches, at, [cells[b, context] for b in at]))
    return Grid(np.array(batches, float), np.array(contexts, float), np.column_stack(columns))
