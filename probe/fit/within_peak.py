"""Which points can the device do at all, and what could not be held to its peak?"""

from __future__ import annotations

from probe.curve.errors import CurveRefused
from probe.curve.limits import possible
from probe.curve.schema import Point, ResultFile
from probe.curve.setup_shape import peak_of, shape_of, widths

_UNCHECKED = "not checked against the device's peak"
_BIT = 1 / 8  # bytes: no number is narrower


def within_peak(result: ResultFile) -> tuple[list[Point], list[str]]:
    """Points that the device can do, and what is to be said of the others; all of them where its bandwidth or the model's shape is not
    known, which is said too. Raises CurveRefused where most are above its peak: no step of such a file is to be believed."""
    shape, peak, width = shape_of(result), peak_of(result), widths(result)
    gpu, dtype = result.device.gpu, result.model.quantization or result.model.dtype or "an unknown dtype"
    if shape is None:
        return result.points, [f"{_UNCHECKED}: the shape of {result.model.name} is not known"]
    if peak is None:
        return result.points, [f"{_UNCHECKED}: that of {gpu} is not known"]
    notes = []
    if peak.flops is None:
        notes.append(f"{_UNCHECKED} of operations: that of {gpu} in {dtype} is not known")
    if width is None:
        notes.append(f"held to the device's peak at one bit a number: how wide those of {dtype} are is not known")
    kept, said = possible(result.points, shape, peak, width or (_BIT, _BIT))
    among, above = len(result.points), len(result.points) - len(kept)
    if 2 * above > among:
        first = next(line for line in said if line.startswith("impossible"))
        raise CurveRefused("points", above, f"{above} of {among} points are above the device's peak; {first}")
    return kept, [*notes, *said]
