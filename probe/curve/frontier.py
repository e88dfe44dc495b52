"""Which batches are worth running: none other is both faster for a user and does more in all?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from probe.curve.grid import Floats


def frontier(step: Floats, throughput: Floats) -> NDArray[np.bool_]:
    """[points] True where no other point has a shorter step at no less throughput, or more throughput at no longer a step."""
    shorter = step[:, None] <= step[None, :]
    more = throughput[:, None] >= throughput[None, :]
    better = (step[:, None] < step[None, :]) | (throughput[:, None] > throughput[None, :])
    return np.asarray(~(shorter & more & better).any(axis=0))
