"""Do the Triton kernels compile for a Hopper GPU, within its shared memory and registers?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="the Triton kernels need the extra `gpu`")
pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")

SHARED_MEMORY = (
    227 << 10
)  # bytes a program may have of an H100's or H200's (CUDA programming guide, compute capability 9.0)


def compiled(folder: Path, dtype: str, *names: str) -> dict[str, dict[str, int]]:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    said = subprocess.run(
        [sys.executable, "-m", "tests.probe.engine.attention.compiled", dtype, *names],
        env={**environment, "TRITON_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr[-2000:]
    found: dict[str, dict[str, int]] = json.loads(said.stdout)
    return found


def test_in_bf16_they_fit_and_keep_what_they_use_in_registers(tmp_path: Path) -> None:
    found = compiled(tmp_path, "bf16", "gqa", "mla")
    assert {name: one["spilled"] for name, one in found.items()} == dict.fromkeys(found, 0)
    assert max(one["shared"] for one in found.values()) <= SHARED_MEMORY


@pytest.mark.slow
def test_in_fp32_they_fit(tmp_path: Path) -> None:
    assert max(one["shared"] for one in compiled(tmp_path, "fp32", "mla").values()) <= SHARED_MEMORY
