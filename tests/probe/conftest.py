"""Tests of the probe run on tiny models: one thread each, or workers spend their time waiting for each other's.

Triton's kernels run interpreted where no GPU is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

# Triton reads it once, at its first import; a run on a GPU sets it to 0 to compile the kernels.
os.environ.setdefault("TRITON_INTERPRET", "1")


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> Iterator[None]:
    try:
        import torch  # noqa: PLC0415 (an extra)
    except ImportError:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
