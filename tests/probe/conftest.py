"""Which settings must stand before the engine's libraries are imported? Triton's kernels run interpreted where no GPU is."""

from __future__ import annotations

import os

# Triton reads it once, at its first import; a run on a GPU sets it to 0 to compile the kernels.
os.environ.setdefault("TRITON_INTERPRET", "1")
