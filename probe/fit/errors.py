"""How far are predictions from what was measured?"""

from __future__ import annotations

import numpy as np

from probe.curve.grid import Floats
from probe.curve.schema import Error


def error_of(predicted: Floats, measured: Floats) -> Error:
    """Relative errors: mean of absolute ones, signed mean (positive over-predicts), 95th percentile and largest of absolute ones."""
    relative = predicted / measured - 1.0
    size = np.abs(relative)
    return Error(
        mape=float(size.mean()),
        bias=float(relative.mean()),
        p95=float(np.percentile(size, 95)),
        max=float(size.max()),
        n=int(size.size),
    )
