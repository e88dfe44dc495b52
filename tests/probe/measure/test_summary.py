"""What becomes of samples: medians of clean ones, and the reference's drift."""

from __future__ import annotations

import pytest

from probe.curve.schema import Sample
from probe.measure.shapes import decode, mixed
from probe.measure.summary import drift_of, points_of


def sample(seconds: float, contaminated: bool = False, reference: bool = False) -> Sample:
    return Sample(kind="decode", seconds=seconds, contaminated=contaminated, reference=reference)


def test_a_point_is_the_median_of_clean_samples_with_quartiles() -> None:
    times = [(3.0, False), (1.0, False), (2.0, False), (5.0, False), (4.0, False), (99.0, True)]
    [point] = points_of([(decode(2, 40), sample(*one)) for one in times])
    assert (point.seconds, point.minimum, point.p25, point.p75) == (3.0, 1.0, 2.0, 4.0)
    assert (point.n, point.contaminated) == (5, 1)


def test_a_shape_without_a_clean_sample_counts_none() -> None:
    [point] = points_of([(decode(2, 40), sample(7.0, contaminated=True))])
    assert (point.n, point.contaminated, point.seconds) == (0, 1, 7.0)


def test_a_shape_never_measured_alone_has_the_quicker_quarter_of_its_samples_where_it_is_asked_for() -> None:
    times = [(decode(2, 40), sample(one, contaminated=True)) for one in (5.0, 2.0, 9.0, 3.0, 4.0)]
    [point] = points_of(times, keep_contaminated=True)
    assert (point.seconds, point.p25, point.p75, point.n, point.contaminated) == (3.0, 3.0, 5.0, 5, 5)
    assert point.disturbed
    [point] = points_of([*times, (decode(2, 40), sample(4.5))], keep_contaminated=True)
    assert (point.seconds, point.n, point.contaminated, point.disturbed) == (4.5, 1, 5, False)


def test_a_point_has_its_shapes_numbers() -> None:
    [point] = points_of([(mixed(2, 40, 16, 8), sample(1.0))])
    assert (point.batch, point.context_sum, point.ragged) == (2, 80, False)
    assert (point.new, point.cached, point.pairs) == (16, 8, 16 * (8 + 8))


def test_drift_is_the_last_third_over_the_first() -> None:
    series = [1.0, 1.0, 9.0, 9.0, 1.1, 1.1]
    samples = [sample(one, reference=True) for one in series]
    noise = [sample(5.0, contaminated=True, reference=True), sample(8.0)]
    assert drift_of([*noise, *samples, *noise]) == pytest.approx(0.1)
    assert drift_of(samples[:5]) is None
