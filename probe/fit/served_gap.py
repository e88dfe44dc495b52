"""How much of a served token's time does a composed curve explain?"""

from __future__ import annotations

import numpy as np

from probe.curve.curve import CurveDocument
from probe.curve.errors import CurveRefused
from probe.curve.schema import Served
from probe.fit.table import batch_of, context_of, step_seconds


def gap_at(curve: CurveDocument, run: Served) -> float:
    """Predicted over served seconds a token; 1: all is explained, 0.5: half.

    Predicted is the curve's step at the batch in flight, stretched by prefill of others: step / (1 - requests a second * own prefill).
    Raises CurveRefused where prefill alone would fill the time, or the run lacks a rate or a pace.
    """
    pace, batch = step_seconds(run), batch_of(run)
    if pace is None or batch is None or not run.requests_per_second or curve.terms is None:
        raise CurveRefused("served", run.label, "a rate, seconds a token and a curve of form=step are needed")
    step = float(curve.answer(batch, context_of(run), "flag").step)
    own = curve.terms.prefill(np.asarray(run.input_tokens), np.zeros(()))
    busy = run.requests_per_second * float(own)
    if busy >= 1:
        raise CurveRefused("requests_per_second", run.requests_per_second, "prefill alone takes all the time")
    return step / (1 - busy) / pace
