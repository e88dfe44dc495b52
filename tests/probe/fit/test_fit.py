"""Does a fit find what the points were made of, choose the simpler model, and say what it can't know?"""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from probe.curve.errors import CurveRefused
from probe.curve.terms import NAMES
from probe.fit.errors import error_of
from probe.fit.fit import fit
from probe.fit.folds import alike, held_out, mean_context
from probe.fit.model import Experts
from tests.probe.fit.points import DENSE, MIXTURE, decode, grid

EXPERTS = Experts(128, 8)


def test_known_terms_are_found_again() -> None:
    found = fit(grid(DENSE)).model.terms
    for name in NAMES:
        assert getattr(found, name) == pytest.approx(getattr(DENSE, name), rel=1e-6), name


def test_experts_are_found_with_their_coverage() -> None:
    found = fit(grid(MIXTURE), EXPERTS)
    assert found.model.terms.e == pytest.approx(1e-4, rel=1e-6)
    assert found.report.errors["leave_one_batch"].mape < 1e-6


def test_without_coverage_a_mixture_misses_by_far_and_the_report_says_so() -> None:
    assert fit(grid(MIXTURE)).report.errors["leave_one_batch"].mape > 0.1
    assert any("without expert coverage leave_one_batch" in note for note in fit(grid(MIXTURE), EXPERTS).report.notes)


def test_coverage_that_explains_nothing_is_left_out() -> None:
    """Steps of a dense model, said to be of one with experts: no fold gains by their coverage."""
    found = fit(grid(DENSE), EXPERTS)
    assert (found.model.terms.e, found.model.terms.experts) == (0.0, 0)
    assert any(note.endswith("left out, as it explains nothing here") for note in found.report.notes)
    assert not any("left out" in note for note in fit(grid(MIXTURE), EXPERTS).report.notes)


def test_the_simpler_model_stands_where_the_residual_does_not_pay() -> None:
    assert fit(grid(DENSE)).report.chosen == "parametric"


def test_a_smooth_departure_is_corrected_by_the_residual() -> None:
    """Steps 30 % longer around the middle batches: no term can bend like that, so held-out points gain."""
    bent = [
        decode(DENSE, b, s, {8: 1.2, 16: 1.3, 32: 1.2}.get(b, 1.0))
        for b in (1, 2, 4, 8, 16, 32, 64)
        for s in (128, 512, 2048)
    ]
    found = fit([*bent, *(p for p in grid(DENSE) if p.kind == "prefill")])
    assert found.report.chosen == "parametric+residual"
    assert found.model.predict([decode(DENSE, 16, 512)])[0] == pytest.approx(1.3 * decode(DENSE, 16, 512).seconds)


def test_held_out_errors_are_by_batch_by_context_and_ragged() -> None:
    """A ragged batch 10 % slower than its even twin is under-predicted by 1/11."""
    found = fit([*grid(DENSE), decode(DENSE, 8, 512, 1.1, ragged=True)]).report.errors
    assert set(found) == {"in_sample", "leave_one_batch", "leave_one_context", "ragged", "prefill"}
    assert found["ragged"].bias == pytest.approx(-1 / 11, rel=0.1)
    assert found["leave_one_batch"].n == 28


def test_contexts_that_differ_by_chance_are_left_out_together() -> None:
    """As a served context is a mean, batch by batch 1 to 3 % off: the third that a fold leaves out would be in its fit."""
    by = lambda s: 1.0 + 0.2 * (s > 1000)  # noqa: E731
    exact = [decode(DENSE, b, s, by(s)) for b in (1, 2, 4, 8, 16) for s in (128, 512, 2048)]
    served = [
        decode(DENSE, b, round(s * (1 + 0.01 * i)), by(s)) for i, b in enumerate((1, 2, 4, 8)) for s in (128, 512, 2048)
    ]
    for points in (exact, served):
        assert held_out(points, Experts(), "parametric")["leave_one_context"].max > 0.1
    assert set(alike([mean_context(p) for p in served]).values()) == {130, 520, 2078}


def test_ragged_batches_do_not_part_even_ones_of_one_context() -> None:
    """A ragged batch at 476 tokens would begin a group that ends at 499, and even ones at 512 and 495 would be two contexts."""
    even = [
        decode(DENSE, b, s, 1.0 + 0.2 * (s > 1000))
        for b, context in ((1, (128, 495, 2048)), (2, (128, 512, 2048)), (4, (128, 505, 2048)))
        for s in context
    ]
    ragged = decode(DENSE, 8, 476, ragged=True)
    alone, beside = (held_out(points, Experts(), "parametric") for points in (even, [*even, ragged]))
    assert beside["leave_one_context"] == alone["leave_one_context"]


def test_bias_keeps_its_sign_and_the_rest_does_not() -> None:
    """Predicted 1.1 and 0.8 of 1: +10 % and -20 %."""
    found = error_of(np.array([1.1, 0.8]), np.array([1.0, 1.0]))
    assert (found.mape, found.bias, found.max) == pytest.approx((0.15, -0.05, 0.2))


def test_one_context_can_not_tell_sequences_from_their_tokens() -> None:
    found = fit([decode(DENSE, batch, 512) for batch in (1, 2, 4, 8)]).report
    assert {"a", "c"} <= set(found.not_identified)
    assert "two contexts" in found.not_identified["c"]
    assert "r" in found.not_identified


def test_contaminated_shapes_without_a_clean_sample_are_left_out() -> None:
    spoiled = msgspec.structs.replace(decode(DENSE, 8, 512, 50.0), n=0)
    assert fit([*grid(DENSE), spoiled]).model.terms.t_0 == pytest.approx(0.005, rel=1e-6)


def test_two_points_are_no_fit() -> None:
    with pytest.raises(CurveRefused, match="points=2"):
        fit(grid(DENSE)[:2])
