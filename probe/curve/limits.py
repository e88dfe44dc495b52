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
    """Bytes and operations a second of all devices of a replica: nominal peaks, or what own tests measured."""

    bytes_per_second: float
    flops: float


@dataclass(frozen=True)
class Use:
    """Shares of the ceilings. Attributes: bound: the larger of the two; verdict: against the peaks."""

    bandwidth: float
    operations: float
    bound: Literal["bandwidth", "operations"]
    verdict: Verdict


def use_of(point: Point, model: Architecture, ceiling: Ceiling, weight_bytes: float = 2, kv_width: float = 2) -> Use:
    """Least bytes and operations of the point over its time. A point above a peak is impossible, near it suspicious."""
    tokens = point.batch + point.new
    if tokens < 1:
        raise CurveRefused("points.batch", point.batch, "a step without tokens moves nothing")
    moved = model.bytes(tokens, point.context_sum + point.cached, weight_bytes, kv_width)
    done = model.flops(tokens, point.context_sum + point.pairs)
    bandwidth = moved / point.seconds / ceiling.bytes_per_second
    operations = done / point.seconds / ceiling.flops
    reached = max(bandwidth, operations)
    verdict: Verdict = "impossible" if reached > 1 else "suspicious" if reached > _NEAR else "possible"
    return Use(bandwidth, operations, "bandwidth" if bandwidth >= operations else "operations", verdict)


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
            share = f"{use.bandwidth:.0%} of bandwidth, {use.operations:.0%} of operations"
            said.append(f"{use.verdict}: {point.kind} batch {point.batch}, {point.seconds:g} s: {share}")
    return kept, said
