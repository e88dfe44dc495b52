"""What share of the device's ceilings does a point reach: is it possible at all, and is it bound by bandwidth or by operations?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from probe.curve.architecture import Architecture
from probe.curve.errors import CurveRefused
from probe.curve.schema import Point

Verdict = Literal["possible", "suspicious", "impossible"]
# Above this share of a peak a point is suspicious: measured streams reach 92 % of nominal at best.
_NEAR = 0.95


@dataclass(frozen=True)
class Ceiling:
    """Bytes and operations a second of all devices of a replica: nominal peaks, or what own tests measured. Attributes: flops: None: not
    known, and nothing is held to them."""

    bytes_per_second: float
    flops: float | None


@dataclass(frozen=True)
class Use:
    """Shares of the ceilings. Attributes: operations: None where their ceiling is not known; bound: the larger of the two; verdict:
    against the peaks."""

    bandwidth: float
    operations: float | None
    bound: Literal["bandwidth", "operations"]
    verdict: Verdict


def use_of(point: Point, model: Architecture, ceiling: Ceiling, weight_bytes: float = 2, kv_width: float = 2) -> Use:
    """Bytes and operations of the point over its time. A point whose least ones are above a peak is impossible; near a peak, or above it
    only if experts are picked evenly, suspicious."""
    tokens = point.batch + point.new
    if tokens < 1:
        raise CurveRefused("points.batch", point.batch, "a step without tokens moves nothing")
    held, most = point.context_sum + point.cached, point.seconds * ceiling.bytes_per_second
    rows, widths = point.batch + (1 if point.new else 0), (weight_bytes, kv_width)
    bandwidth = model.bytes(tokens, rows, held, widths) / most
    least = model.bytes(tokens, rows, held, widths, least=True) / most
    rate = model.flops(tokens, point.context_sum + point.pairs, rows) / point.seconds
    operations = None if ceiling.flops is None else rate / ceiling.flops
    computed = operations or 0.0
    near = max(bandwidth, computed) > _NEAR
    verdict: Verdict = "impossible" if max(least, computed) > 1 else "suspicious" if near else "possible"
    return Use(bandwidth, operations, "bandwidth" if bandwidth >= computed else "operations", verdict)


def possible(
    points: list[Point], model: Architecture, peak: Ceiling, widths: tuple[float, float] = (2, 2)
) -> tuple[list[Point], list[str]]:
    """Points that the device can do, and a line for each that it can't or that is near its peak."""
    kept, said = [], []
    for point in points:
        if point.kind == "idle":
            kept.append(point)
            continue
        use = use_of(point, model, peak, *widths)
        if use.verdict != "impossible":
            kept.append(point)
        if use.verdict != "possible":
            share = "" if use.operations is None else f", {use.operations:.0%} of operations"
            shown = f"{point.kind} batch {point.batch}, {point.seconds:g} s: {use.bandwidth:.0%} of bandwidth"
            said.append(f"{use.verdict}: {shown}{share}")
    return kept, said
