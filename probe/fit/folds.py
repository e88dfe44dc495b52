"""How good is a fit on points it has not seen: a batch left out, a context left out, ragged batches?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from probe.curve.schema import Error, Point
from probe.fit.errors import error_of
from probe.fit.features import seconds
from probe.fit.model import Experts, Form, fit_model

_ALIKE = 1.05
Key = Callable[[Point], object]


def leave_one_out(points: Sequence[Point], experts: Experts, form: Form, key: Key) -> Error | None:
    """Errors on decode points, each predicted from all points of other keys; None with fewer than three keys.

    Prefill points stay in every fit: they say nothing of the batch left out.
    """
    keys = sorted({str(key(p)) for p in points if _even(p)})
    if len(keys) < 3:
        return None
    predicted, measured = [], []
    for one in keys:
        held = [p for p in points if _even(p) and str(key(p)) == one]
        rest = [p for p in points if not (_even(p) and str(key(p)) == one)]
        predicted.append(fit_model(rest, experts, form).predict(held))
        measured.append(seconds(held))
    return error_of(np.concatenate(predicted), np.concatenate(measured))


def held_out(points: Sequence[Point], experts: Experts, form: Form) -> dict[str, Error]:
    """Errors by fold: in_sample, leave_one_batch, leave_one_context, ragged (fitted without them), prefill; those that the points allow."""
    even = [p for p in points if not p.ragged]
    model = fit_model(even, experts, form)
    contexts = alike([mean_context(p) for p in even if p.kind == "decode"])
    found: dict[str, Error | None] = {
        "in_sample": _error(model.predict, [p for p in even if p.kind == "decode"] or even),
        "leave_one_batch": leave_one_out(even, experts, form, lambda p: p.batch),
        "leave_one_context": leave_one_out(even, experts, form, lambda p: contexts[mean_context(p)]),
        "ragged": _error(model.predict, [p for p in points if p.ragged]),
        "prefill": _error(model.predict, [p for p in even if p.kind == "prefill"]),
        "mixed": _error(model.predict, [p for p in even if p.kind == "mixed"]),
    }
    return {name: error for name, error in found.items() if error is not None}


def alike(contexts: Sequence[float]) -> dict[float, int]:
    """What each context stands under: lengths within a twentieth of the shortest are one, their median, as drawn and served lengths are
    never the same twice."""
    groups: list[list[float]] = []
    for one in sorted(contexts):
        if groups and one <= groups[-1][0] * _ALIKE:
            groups[-1].append(one)
        else:
            groups.append([one])
    return {one: round(float(np.median(group))) for group in groups for one in group}


def mean_context(point: Point) -> float:
    """Tokens a decoding sequence attends to, on average."""
    return point.context_sum / max(point.batch, 1)


def _even(point: Point) -> bool:
    return point.kind == "decode" and not point.ragged


def _error(predict: Callable[[Sequence[Point]], np.ndarray], points: Sequence[Point]) -> Error | None:
    return error_of(predict(points), seconds(points)) if points else None
