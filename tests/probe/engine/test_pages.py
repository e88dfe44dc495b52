"""Do tensors of the engine's processes lie in large pages?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")

ENABLED = Path("/sys/kernel/mm/transparent_hugepage/enabled")
TENSOR = """
import torch
import probe.engine
kept = torch.ones(64 << 18)
[line] = [line for line in open("/proc/self/smaps_rollup") if line.startswith("AnonHugePages:")]
print(line.split()[1])
"""


def test_a_tensor_of_64_mb_lies_in_large_pages() -> None:
    """Told after torch was imported, as torch reads it with the first tensor. Half is enough: memory may be in pieces."""
    if not ENABLED.exists() or "[never]" in ENABLED.read_text():
        pytest.skip("this kernel gives no large pages")
    done = subprocess.run([sys.executable, "-c", TENSOR], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 32 << 10
