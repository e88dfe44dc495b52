"""What does a token of each kind cost, by hand?"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from accounting.errors import InvalidInput
from accounting.selfhosted.curve import Domain, Header, StepCurve
from accounting.selfhosted.unit_costs import at_utilisation, per_million, token_seconds

CURVE = StepCurve(
    Header("c1", "m", "e", "H200", "bf16", "2026-10-01"),
    Domain((1, 64), (1, 8_192)),
    0.005,
    0.00001,
    1e-7,
    0.00002,
    1e-9,
    1e-8,
)


def test_the_plain_figure_is_the_bill_over_its_tokens() -> None:
    assert per_million(Fraction("2.49"), 3_000_000) == Fraction("0.83")
    with pytest.raises(InvalidInput, match="tokens=0"):
        per_million(1, 0)


def test_half_the_utilisation_doubles_the_cost() -> None:
    assert at_utilisation(Fraction(36), Fraction(1_000), Fraction(1)) == 10
    assert at_utilisation(Fraction(36), Fraction(1_000), Fraction(1, 2)) == 20
    with pytest.raises(InvalidInput, match="utilisation"):
        at_utilisation(Fraction(36), Fraction(1_000), Fraction(0))


def test_tokens_cost_their_own_work_and_their_part_of_the_step() -> None:
    """Batch 10, context 1,000: 0.0005 + 0.00001 + 0.0001; a prompt in one chunk: (0.0205 + 0.0005) / 1,000."""
    found = token_seconds(CURVE, np.array([10.0]), np.array([1_000.0]), 2_048)
    assert found.output == pytest.approx([0.00061], rel=1e-12)
    assert found.uncached_input == pytest.approx([0.000021], rel=1e-12)
    assert found.cached_input.tolist() == [1e-8]
