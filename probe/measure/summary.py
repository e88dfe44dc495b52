"""What did each shape take in short, and did the machine drift meanwhile?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from probe.curve.schema import Point, Sample
from probe.measure.shapes import Shape


def points_of(samples: Sequence[tuple[Shape, Sample]], keep_contaminated: bool = False) -> list[Point]:
    """One point a shape, in the order first met. Median, least and quartiles of clean samples; a shape without any keeps the median of
    its contaminated ones with n = 0, which no fit uses.

    keep_contaminated: such a shape has the lower quartile of its contaminated samples instead, n of them, and is `disturbed`: others
    only ever add time, so that what was quick was disturbed least.
    """
    by_shape: dict[Shape, list[Sample]] = {}
    for shape, sample in samples:
        by_shape.setdefault(shape, []).append(sample)
    return [_point(shape, found, keep_contaminated) for shape, found in by_shape.items()]


def _point(shape: Shape, samples: list[Sample], keep_contaminated: bool) -> Point:
    clean = np.array([one.seconds for one in samples if not one.contaminated])
    used = clean if clean.size else np.array([one.seconds for one in samples])
    disturbed = keep_contaminated and not clean.size
    low, middle, high = (float(one) for one in np.percentile(used, (25, 50, 75)))
    return Point(
        kind=shape.kind,
        seconds=low if disturbed else middle,
        batch=len(shape.contexts),
        context_sum=sum(shape.contexts),
        ragged=shape.ragged,
        new=sum(new for new, _ in shape.prefills),
        cached=sum(cached for _, cached in shape.prefills),
        pairs=sum(new * (cached + new / 2) for new, cached in shape.prefills),
        n=int(used.size) if disturbed else int(clean.size),
        minimum=float(used.min()),
        p25=low,
        p75=high,
        contaminated=len(samples) - int(clean.size),
        disturbed=disturbed,
    )


def drift_of(samples: Sequence[Sample]) -> float | None:
    """How much slower the reference point became, as a share: median of the last third of its clean samples over that of the first
    third, less 1. None with fewer than six."""
    series = [one.seconds for one in samples if one.reference and not one.contaminated]
    third = len(series) // 3
    if third < 2:
        return None
    return float(np.median(series[-third:]) / np.median(series[:third])) - 1.0
