"""Which points can the device do at all, and what could not be held to its peak?"""

from __future__ import annotations

from dataclasses import dataclass

from probe.curve.architecture import Architecture
from probe.curve.errors import CurveRefused
from probe.curve.limits import Ceiling, possible, use_of
from probe.curve.schema import Point, ResultFile
from probe.curve.setup_shape import peak_of, shape_of, widths
from probe.fit.table import context_of, place, sessions

_UNCHECKED = "not checked against the device's peak"
_BIT = 1 / 8  # bytes: no number is narrower


@dataclass(frozen=True)
class _Limits:
    """What a point is held to. Attributes: widths: bytes of a weight and of a cached number."""

    shape: Architecture
    peak: Ceiling
    widths: tuple[float, float]


def within_peak(result: ResultFile) -> tuple[list[Point], list[str]]:
    """Points that the device can do, and what is to be said of the others; all of them where its bandwidth or the model's shape is not
    known, which is said too. Raises CurveRefused where most are above its peak: no step of such a file is to be believed."""
    limits, notes = _known(result)
    if limits is None:
        return result.points, notes
    kept, said = possible(result.points, limits.shape, limits.peak, limits.widths)
    among, above = len(result.points), len(result.points) - len(kept)
    if 2 * above > among:
        first = next(line for line in said if line.startswith("impossible"))
        raise CurveRefused("points", above, f"{above} of {among} points are above the device's peak; {first}")
    return kept, [*notes, *said]


def served_within_peak(result: ResultFile) -> list[str]:
    """How many served runs had more tokens than the device has steps for, and how far above its bandwidth; what could not be told. They
    are kept: drafts, which few tools' files state, give several tokens a step."""
    limits, notes = _known(result)
    if limits is None:
        return notes
    by_users, shares, among = sessions(result.served), [], 0
    for run in result.served:
        placed = place(run, by_users)
        if placed is None:
            continue
        among += 1
        batch = max(round(placed[0]), 1)
        step = Point(kind="decode", seconds=placed[1], batch=batch, context_sum=round(batch * max(context_of(run), 1)))
        use = use_of(step, limits.shape, limits.peak, *limits.widths)
        shares += [max(use.bandwidth, use.operations or 0.0)] if use.verdict == "impossible" else []
    said = f"{len(shares)} of {among} runs are above the device's peak, {max(shares, default=0):.1f} times at most"
    return [*notes, *([f"{said}: only several tokens a step, of drafts, make them possible"] if shares else [])]


def _known(result: ResultFile) -> tuple[_Limits | None, list[str]]:
    """None where bandwidth or shape are not known; what is missing of them and of the rest."""
    shape, peak, width = shape_of(result), peak_of(result), widths(result)
    gpu, dtype = result.device.gpu, result.model.quantization or result.model.dtype or "an unknown dtype"
    if shape is None:
        return None, [f"{_UNCHECKED}: the shape of {result.model.name} is not known"]
    if peak is None:
        return None, [f"{_UNCHECKED}: that of {gpu} is not known"]
    notes = []
    if peak.flops is None:
        notes.append(f"{_UNCHECKED} of operations: that of {gpu} in {dtype} is not known")
    if width is None:
        notes.append(f"held to the device's peak at one bit a number: how wide those of {dtype} are is not known")
    return _Limits(shape, peak, width or (_BIT, _BIT)), notes
