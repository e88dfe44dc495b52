"""What does a phase cost that is so short that sums over all before it can't hold it?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from accounting.selfhosted.arrays import NO_TIME, UNKNOWN
from accounting.selfhosted.pool import Cells
from accounting.selfhosted.requests import Requests
from accounting.selfhosted.shares import attribute
from tests.accounting.selfhosted.by_hand import CURVE, POOL

HOUR = 3_600_000_000
S, MS = 1_000_000, 1_000


def log(left: int) -> Requests:
    """A long answer alone for an hour, then one that has `left` microseconds of the next, in which two prompts are computed."""
    nothing = np.zeros(4, np.int64)
    prompts = [HOUR - 40 * MS, HOUR - 40 * MS]
    return Requests(
        request_id=np.array(["long", "x", "y", "z"]),
        replica=nothing,
        received_at=np.array([0, HOUR - 60 * MS, *prompts]),
        prefill_started_at=np.array([NO_TIME, NO_TIME, *prompts]),
        first_token_at=np.array([S, HOUR - 50 * MS, HOUR + S, HOUR + S]),
        completed_at=np.array([HOUR - 70 * MS, HOUR + left, HOUR + 2 * S, HOUR + 2 * S]),
        context_tokens=np.full(4, 1_000),
        cached_tokens=nothing,
        output_tokens=np.full(4, 101),
        decode_steps=np.full(4, UNKNOWN),
        positions=np.full(4, UNKNOWN),
        shared_tokens=nothing,
        failed=np.zeros(4, np.bool_),
    )


@pytest.mark.parametrize("left", range(20, 1_000, 20))
def test_a_moment_after_an_hour_of_steps_has_its_part_of_them(left: int) -> None:
    """Of 100 decode steps over 50 ms and what is left, these fall in the next hour, in steps that two prompts share: half of each."""
    of = attribute(CURVE, replace(POOL, order="prefill_first"), log(left), Cells.of_hours([0, HOUR], 1)).lines_of(1)
    [at] = np.flatnonzero(of.row == 1)
    steps = 100 * left / (50 * MS + left)
    assert of.request_steps[at] == pytest.approx(steps, rel=1e-12)
    assert of.step_shares[at] == pytest.approx(steps / 2, rel=1e-3)
