"""At which points is a curve read, and two beside one another?"""

from __future__ import annotations

from probe.curve.compare import common_points
from probe.curve.curve import CurveDocument
from probe.curve.schema import Point
from probe.fit.result import with_curve
from tests.probe.curve.test_report import result


def test_contexts_that_are_one_in_whole_tokens_are_one_point() -> None:
    """A server's steps have mean contexts of 47.75 and 48.25 tokens: both are 48."""
    sums = (1, 48), (4, 191), (4, 193)
    points = [Point(kind="decode", seconds=0.005, batch=batch, context_sum=tokens) for batch, tokens in sums]
    points.append(Point(kind="prefill", seconds=0.01, new=32, pairs=512))
    curve = with_curve(result(points=points)).curve
    assert curve is not None
    assert common_points([CurveDocument.of(curve)]) == [(1, 48), (4, 48)]
