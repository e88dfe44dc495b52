"""From measured points to a curve with its error stated: which model is used, how good is it, and what could the points not tell?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from probe.curve.errors import CurveRefused
from probe.curve.schema import Error, Fit, Point
from probe.fit.folds import held_out
from probe.fit.identify import INSIDE, identify
from probe.fit.model import Experts, Form, Model, fit_model

# The residual must beat the plain terms by this share of their held-out error, and by a thousandth at least; else the simpler stands.
_WORTH, _NOTICEABLE = 0.1, 0.001
_FOLDS = ("leave_one_batch", "leave_one_context")


@dataclass(frozen=True)
class Fitted:
    """The model and its report. Attributes: points: what it was fitted to."""

    model: Model
    report: Fit
    points: list[Point]


def fit(points: Sequence[Point], experts: Experts | None = None) -> Fitted:
    """Fits summaries of shapes (idle ones and those without a clean sample left out). Raises CurveRefused with fewer than three."""
    used = [p for p in points if p.kind != "idle" and p.seconds > 0 and p.n > 0]
    if len(used) < 3:
        raise CurveRefused("points", len(used), "at least three measured shapes are needed for a fit")
    mixture, said = _mixture(used, experts or Experts())
    form, errors = _choose(used, mixture)
    identified, missing = identify(used, mixture)
    notes = [*(f"{name}: {why}" for name, why in INSIDE.items()), *said]
    report = Fit(chosen=form, errors=errors, identified=identified, not_identified=missing, notes=notes)
    return Fitted(fit_model(used, mixture, form), report, used)


def _choose(points: Sequence[Point], experts: Experts) -> tuple[Form, dict[str, Error]]:
    """The simpler model, unless the residual is better by a tenth on every fold that the points allow."""
    plain = held_out(points, experts, "parametric")
    corrected = held_out(points, experts, "parametric+residual")
    folds = [name for name in _FOLDS if name in plain]
    if folds and all(
        plain[name].mape - corrected[name].mape > max(_WORTH * plain[name].mape, _NOTICEABLE) for name in folds
    ):
        return "parametric+residual", corrected
    return "parametric", plain


def _mixture(points: Sequence[Point], experts: Experts) -> tuple[Experts, list[str]]:
    """The experts, or none where no fold is noticeably better told with their coverage; and a line that says which."""
    if not experts.count:
        return experts, []
    covered, plain = (held_out(points, one, "parametric") for one in (experts, Experts()))
    folds = [name for name in _FOLDS if name in plain]
    name = folds[0] if folds else "in_sample"
    told = f"without expert coverage {name} is {plain[name].mape:.1%}, with it {covered[name].mape:.1%}"
    if folds and all(plain[one].mape - covered[one].mape <= _NOTICEABLE for one in folds):
        return Experts(), [f"{told}: left out, as it explains nothing here"]
    return experts, [told]
