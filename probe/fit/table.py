"""Which table do served runs make, and how far off is a run that is left out?

A served run says how long a token took beside so many sequences, others' prefill included. Batch over step is the run's own throughput:
requests that still wait for their first token are kept in flight but are no part of a batch. Nothing is smoothed: where
throughput falls with more users, the table falls with it. A run in which less than one sequence decodes at once, on average, stands at
batch 1 with the seconds that a token took, waiting and prefill included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from probe.curve.errors import CurveRefused
from probe.curve.grid import Grid
from probe.curve.schema import Error, Fit, Served
from probe.fit.errors import error_of
from probe.fit.folds import alike

_ONE = 1 - 1e-9
Row = tuple[float, float, float, float | None]


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
    """Sequences decoding at once while any does, so 1 at least: output tokens a second times seconds a token (Little's law); else the
    concurrency kept."""
    decoding = _decoding(run)
    return run.concurrency if decoding is None else max(decoding, 1.0)


def alone(run: Served) -> bool:
    """Whether less than one sequence decoded at once, on average."""
    decoding = _decoding(run)
    return decoding is not None and decoding < _ONE


def _decoding(run: Served) -> float | None:
    """Sequences decoding at once, the time in which none does counted; None where throughput or pace are not known."""
    step = step_seconds(run)
    return run.output_tokens_per_second * step if run.output_tokens_per_second and step else None


def sessions(runs: Sequence[Served]) -> bool:
    """Whether users work through growing contexts: closed loops whose cache hits the server counted."""
    return all(run.concurrency and run.request_rate is None and run.cache_hit_share is not None for run in runs)


def place(run: Served, by_users: bool) -> tuple[float, float] | None:
    """(batch, seconds a token) of a run; None where it says too little. By users: all of them, and what each waited for a token. Of a
    run alone: 1, and the time from token to token, whatever was done in it."""
    if by_users and run.output_tokens_per_second and run.concurrency:
        return run.concurrency, run.concurrency / run.output_tokens_per_second
    if run.output_tokens_per_second and alone(run):
        return 1.0, 1 / run.output_tokens_per_second
    step, batch = step_seconds(run), batch_of(run)
    return (batch, step) if step and batch else None


def context_of(run: Served) -> float:
    """Tokens a sequence attends to on average: its prompt and half of its output."""
    return run.input_tokens + run.output_tokens / 2


def fit_table(runs: Sequence[Served]) -> Table:
    """Table over batch and context. Runs of one cell are averaged by median. Of sessions one context stands for all (its median), and a
    step is what a user waited for a token, everything included. Raises CurveRefused naming what is missing.
    """
    by_users = sessions(runs)
    contexts = [context_of(run) for run in runs]
    stands = dict.fromkeys(contexts, round(float(np.median(contexts)))) if by_users else alike(contexts)
    rows: list[Row] = []
    for run in runs:
        placed = place(run, by_users)
        if placed is not None:
            first = run.ttft_median or run.ttft_mean
            rows.append((round(placed[0], 3), stands[context_of(run)], placed[1], first))
    if len(rows) < 2:
        raise CurveRefused(
            "served", len(rows), "at least two runs with TPOT or ITL and a concurrency or throughput are needed"
        )
    cells = {(b, s): _of(rows, b, s, 2) for b, s, _, _ in rows}
    waits = None if any(row[3] is None for row in rows) else _grid({(b, s): _of(rows, b, s, 3) for b, s, _, _ in rows})
    held = leave_one_point(rows)
    notes = ["equal shares of a step: a table knows no terms of its own", *_unmeasured(cells)]
    if by_users:
        notes += ["a step is users over output tokens a second: prefill, waiting and failed work included", _hits(runs)]
    elif any(run.output_tokens_per_second for run in runs):
        notes.append("batch is output tokens a second times TPOT: sequences decoding at once, not users in flight")
        notes += _alone(runs)
    errors = {} if held is None else {"leave_one_point": held}
    return Table(_grid(cells, saturated=True), waits, Fit(chosen="table", errors=errors, notes=notes))


def _unmeasured(cells: dict[tuple[float, float], float]) -> list[str]:
    """Where batches end earlier at some contexts than at others."""
    most = {context: max(b for b, s in cells if s == context) for _, context in cells}
    short = sorted(context for context, batch in most.items() if batch < max(most.values()))
    if not short:
        return []
    shown = ", ".join(f"{most[context]:.4g} at {context:g}" for context in short[:4])
    more = f" and {len(short) - 4} more contexts" if len(short) > 4 else ""
    return [f"largest batch measured: {shown}{more}; beyond it throughput is taken not to rise"]


def _alone(runs: Sequence[Served]) -> list[str]:
    """How many runs stand at batch 1 though less decoded at once."""
    count = sum(alone(run) for run in runs)
    said = "less than one sequence decoded at once: batch 1, and waiting and prefill are in the step"
    return [f"in {count} of {len(runs)} runs {said}"] if count else []


def _hits(runs: Sequence[Served]) -> str:
    """From which load on the cache stops helping."""
    shares = sorted((run.concurrency or 0.0, run.cache_hit_share or 0.0) for run in runs)
    (few, high), (many, low) = shares[0], min(shares, key=lambda one: one[1])
    return f"cache hits fall from {high:.0%} at {few:g} to {low:.0%} at {many:g}"


def leave_one_point(rows: Sequence[Row]) -> Error | None:
    """Errors of seconds a token, each run predicted from runs of the other batches at its context, between neighbours only."""
    predicted, measured = [], []
    for batch, context, seconds, _ in rows:
        others = {b: _of(rows, b, s, 2) for b, s, _, _ in rows if s == context and b != batch}
        if len(others) >= 2 and min(others) < batch < max(others):
            at = sorted(others)
            predicted.append(float(np.interp(batch, at, [others[one] for one in at])))
            measured.append(seconds)
    return error_of(np.array(predicted), np.array(measured)) if predicted else None


def _of(rows: Sequence[Row], batch: float, context: float, column: int) -> float:
    found = [row[column] for row in rows if row[:2] == (batch, context)]
    return float(np.median([one for one in found if one is not None]))


def _grid(cells: dict[tuple[float, float], float], saturated: bool = False) -> Grid:
    """Cells not measured are marked, and take the value of the same context at the nearest measured batches, straight between them.
    `saturated`: beyond the largest one it grows with the batch, so that no throughput appears that nobody measured."""
    batches, contexts = (sorted({key[axis] for key in cells}) for axis in (0, 1))
    columns = []
    for context in contexts:
        at = [b for b in batches if (b, context) in cells]
        column = np.interp(batches, at, [cells[b, context] for b in at])
        columns.append(column * np.maximum(np.array(batches) / at[-1], 1.0) if saturated else column)
    known = np.array([[(batch, context) in cells for context in contexts] for batch in batches])
    values = np.column_stack(columns)
    return Grid(np.array(batches, float), np.array(contexts, float), values, None if known.all() else known)
