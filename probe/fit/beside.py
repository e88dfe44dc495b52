"""What does a curve say of runs that were served, and what did their tokens cost under the usual rule and under ours?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from probe.curve.curve import CurveDocument
from probe.curve.errors import CurveRefused
from probe.curve.schema import Served
from probe.fit.served_gap import gap_at
from probe.fit.table import batch_of, step_seconds
from probe.imports.served_runs import Restated, restate

_MORE = 1.1
"""A curve of the same setup takes no more than its runs did; a tenth is left to the measurement."""


@dataclass(frozen=True)
class Beside:
    """One run. Attributes:

    pace: served seconds a token. explained: the curve's over the served ones; None where prefill alone would fill the time.
    cost: dollars per million tokens; None without a price, or where the curve's prefill does not fit into the time.
    """

    run: Served
    batch: float
    pace: float
    explained: float | None
    cost: Restated | None


def beside(curve: CurveDocument, runs: Sequence[Served], price_per_hour: float | None) -> list[Beside]:
    """Runs in the order of their load; `price_per_hour` dollars of all GPUs of the replica. Raises CurveRefused for a curve without
    terms, and where no run has a rate, a pace and a throughput."""
    if curve.terms is None:
        raise CurveRefused(
            "form", curve.file["form"], "a curve of steps is needed: a table is made of such runs itself"
        )
    rows = []
    for run in runs:
        pace, batch = step_seconds(run), batch_of(run)
        if pace is None or batch is None or not run.requests_per_second or not run.output_tokens_per_second:
            continue
        explained: float | None = None
        cost: Restated | None = None
        try:
            explained = gap_at(curve, run)
            cost = None if price_per_hour is None else restate(run, price_per_hour, curve.terms)
        except CurveRefused:
            pass
        rows.append(Beside(run, batch, pace, explained, cost))
    if not rows:
        raise CurveRefused("served", len(runs), "no run with requests a second, output tokens a second and TPOT")
    return sorted(rows, key=lambda row: (row.run.request_rate or 0.0, row.batch))


def gap_note(rows: Sequence[Beside]) -> str:
    """What is left unexplained at most, and where."""
    known = [(row.explained, row.batch) for row in rows if row.explained is not None]
    if not known:
        return "the curve's prefill alone takes longer than these runs had: it is not this setup's"
    most, crowd = max(known)
    if most > _MORE:
        return (
            f"at {crowd:.0f} decoding at once the curve takes {most:.0%} of a served token's time: more than there was, so it is not this "
            "setup's"
        )
    least, batch = min(known)
    return (
        f"at {batch:.0f} decoding at once the curve explains {least:.0%} of a served token's time; the engine's loop, "
        "others' prefill and what kernels don't show are the rest"
    )
