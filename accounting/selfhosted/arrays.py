"""How are columns typed here, and what stands for a value nobody knows?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

UNKNOWN = -1
"""An unknown count or replica."""
NO_TIME = int(np.iinfo(np.int64).min)
"""An unknown moment; known ones are microseconds since 1970 UTC."""
US_PER_SECOND = 1_000_000
PS_PER_SECOND = 1_000_000_000_000
PS_PER_US = 1_000_000
