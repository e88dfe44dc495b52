"""A sweep of a 39M-parameter dense model, recorded once (`recorded.json`, its clean samples and 30 others): do they make its curve?"""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from probe.curve.schema import Point, ResultFile, read_result
from probe.fit.folds import held_out
from probe.fit.model import Experts
from probe.fit.result import with_curve
from probe.measure.drift import samples_of
from probe.measure.run import beyond_own_tests, remarks
from probe.measure.shapes import Shape
from probe.measure.summary import drift_of


@pytest.fixture(scope="module")
def recorded() -> ResultFile:
    return read_result(Path(__file__).parent / "recorded.json")


def shape_of(point: Point) -> Shape:
    prompts = ((point.new, point.cached),) if point.new else ()
    return Shape(point.kind, (round(point.context_sum / point.batch),) * point.batch if point.batch else (), prompts)


def test_points_are_medians_of_their_clean_samples(recorded: ResultFile) -> None:
    points = [point for point in recorded.points if not point.ragged and point.kind != "idle"]
    assert len(points) > 10
    for point in points:
        clean = [one.seconds for one in samples_of(shape_of(point), recorded.samples) if not one.contaminated]
        assert (len(clean), float(np.median(clean))) == (point.n, pytest.approx(point.seconds))


def test_the_plain_terms_follow_a_dense_model(recorded: ResultFile) -> None:
    points = [point for point in recorded.points if point.kind != "idle"]
    assert held_out(points, Experts(), "parametric")["in_sample"].mape < 0.05


def test_a_batch_left_out_is_predicted_within_the_bar(recorded: ResultFile) -> None:
    fit = with_curve(recorded).fit
    assert fit is not None
    assert fit.errors["leave_one_batch"].mape < 0.08
    assert abs(fit.errors["leave_one_batch"].bias) < 0.02


def test_the_reference_series_has_a_drift(recorded: ResultFile) -> None:
    assert recorded.run.drift is not None
    assert drift_of(recorded.samples) == pytest.approx(recorded.run.drift)


@pytest.mark.parametrize(("drift", "said"), [(0.031, "+3.1%"), (-0.031, "-3.1%"), (0.03, None), (None, None)])
def test_a_drift_beyond_three_percent_is_said(recorded: ResultFile, drift: float | None, said: str | None) -> None:
    found = remarks(msgspec.structs.replace(recorded, run=msgspec.structs.replace(recorded.run, drift=drift)))
    moved = [line for line in found if "reference point" in line]
    assert moved == ([f"the reference point's time moved by {said} while measuring"] if said else [])


def test_points_faster_than_the_devices_own_tests_are_counted(recorded: ResultFile) -> None:
    """A step of one sequence at 1,024 reads (39,197,184 - 8,192,000) x 2 bytes of weights and 3,072 a token: 65 MB in about 8 ms."""
    slow = msgspec.structs.replace(recorded.device, measured_bytes_per_second=1e9, measured_flops=1e15)
    busy = sum(point.kind != "idle" for point in recorded.points)
    assert beyond_own_tests(msgspec.structs.replace(recorded, device=slow)) == busy
    fast = msgspec.structs.replace(slow, measured_bytes_per_second=1e12)
    assert beyond_own_tests(msgspec.structs.replace(recorded, device=fast)) == 0
    unknown = msgspec.structs.replace(slow, measured_flops=None)
    assert beyond_own_tests(msgspec.structs.replace(recorded, device=unknown)) == 0
