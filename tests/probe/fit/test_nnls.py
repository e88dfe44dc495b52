"""Are coefficients those of the data, and never negative?"""

from __future__ import annotations

import numpy as np
import pytest

from probe.fit.nnls import nnls, relative_nnls


def test_exact_data_give_their_coefficients_back() -> None:
    """Columns of very different size: 0.005 and 2e-8 are both found."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.ones(30), rng.uniform(1, 64, 30), rng.uniform(1e3, 1e6, 30)])
    assert relative_nnls(rows, rows @ [0.005, 1e-5, 2e-8]) == pytest.approx([0.005, 1e-5, 2e-8], rel=1e-9)


def test_a_coefficient_that_would_be_negative_is_zero() -> None:
    """y = 2 - x over x = 0, 1: at least squares with x >= 0 the slope is 0 and the constant the mean 1.5."""
    rows = np.array([[1.0, 0.0], [1.0, 1.0]])
    assert nnls(rows, np.array([2.0, 1.0])) == pytest.approx([1.5, 0.0], abs=1e-12)


def test_the_solution_is_the_best_of_all_subsets() -> None:
    """40 random problems of four columns against least squares over each of the 16 subsets."""
    rng = np.random.default_rng(1)
    for _ in range(40):
        rows, values = rng.normal(size=(12, 4)), rng.normal(size=12)
        best = float(np.linalg.norm(values))
        for mask in range(1, 16):
            chosen = [index for index in range(4) if mask >> index & 1]
            x = np.linalg.lstsq(rows[:, chosen], values, rcond=None)[0]
            if (x >= 0).all():
                best = min(best, float(np.linalg.norm(rows[:, chosen] @ x - values)))
        found = nnls(rows, values)
        assert (found >= 0).all()
        assert float(np.linalg.norm(rows @ found - values)) == pytest.approx(best, rel=1e-9)


def test_relative_weights_let_small_steps_count() -> None:
    """One constant for 1 and 100: least relative error is 1.0099 = (1/1 + 1/100) / (1/1 + 1/10,000), not the mean 50.5."""
    assert relative_nnls(np.ones((2, 1)), np.array([1.0, 100.0])) == pytest.approx([1.01 / 1.0001])
