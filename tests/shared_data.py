"""Where do tests find the public data sets? Beside the checkout, in `shared/data`; they are never copied into the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("TOKENCOGS_SHARED_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")


def shared(name: str) -> Path:
    """Path of one file or folder of the shared data. Absent: the test is skipped, under CI=1 or CI=true it fails."""
    path = ROOT / name
    if path.exists():
        return path
    message = f"shared data {name!r} not found under {ROOT}; set TOKENCOGS_SHARED_DATA"
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(message)
    pytest.skip(message)
