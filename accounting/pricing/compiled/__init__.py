"""Is there machine code for a batch, and is the batch long enough to be worth loading it?

Optional (`pip install tokencogs[fast]`), for bulk work only: nothing here imports Numba before a long batch comes, so that the API
and small batches never pay for it. Loading takes about a second, the very first time on a machine the compiler some seconds more.
"""

from __future__ import annotations

import sys
from functools import cache

LEAST_ROWS = 100_000
"""A row takes some 30 ns less: what loading takes is won back after tens of millions of rows in one process, in however many batches."""


def worthwhile(rows: int) -> bool:
    """Whether a batch is rated by machine code; the answers are the same."""
    return rows >= LEAST_ROWS and _loads()


@cache
def _loads() -> bool:
    if sys.byteorder != "little":  # The text kernel reads bytes as numbers.
        return False
    try:
        import accounting.pricing.compiled.row_kernel  # noqa: PLC0415
        import accounting.pricing.compiled.text_kernel  # noqa: F401, PLC0415
    except ImportError:
        return False
    return True
