"""Killed in the middle of a sweep and started again: is every visit measured once, and none lost?"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from probe.curve.schema import read_result
from tests.probe.measure.rigs import folder

GRID = {
    "batch": [1, 2, 4],
    "context": [16, 32, 64],
    "prefill_new": [8, 16],
    "prefill_cached": [0, 16],
    "ragged": [[4, 32]],
    "mixed": [[2, 32, 8, 0]],
}
# A round: 16 shapes, of which one is the reference; it is visited first, after 8 others, and last.
VISITS = 2 * (15 + 3)


def command(path: Path) -> list[str]:
    model, grid = folder(path / "model"), path / "grid.json"
    grid.write_text(json.dumps(GRID), encoding="utf-8")
    # What is held to here is which visits happen: noise must neither repeat one nor leave a shape without a point.
    options = {
        "model": model,
        "grid": grid,
        "rounds": 2,
        "quiet-share": 1,
        "pace-share": 0,
        "retries": 0,
        "replay": 0,
        "dtype": "float32",
        "device": "cpu",
        "threads": 1,
        "block-size": 4,
        "kv-cache-memory-bytes": 1 << 20,
        "max-model-len": 256,
        "max-num-seqs": 8,
        "out": path / "curve.json",
    }
    given = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    return [sys.executable, "-c", "from probe.cli import probe; probe()", "run", *given]


def visits(journal: Path) -> int:
    return journal.read_bytes().count(b'"type":"visit"') if journal.exists() else 0


def test_a_killed_sweep_goes_on_and_measures_nothing_twice(tmp_path: Path) -> None:
    journal, slow = tmp_path / "curve.json.journal.jsonl", {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command(tmp_path), env=slow, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 240
    while visits(journal) < 5 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    before = journal.read_bytes()
    whole = before[: before.rfind(b"\n") + 1]
    assert 5 <= visits(journal) < VISITS
    done = subprocess.run(command(tmp_path), env=slow, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert not journal.exists()
    result = read_result(tmp_path / "curve.json")
    assert len(result.samples) == VISITS * 9
    kept = [json.loads(line)["samples"] for line in whole.splitlines() if b'"type":"visit"' in line]
    first = [sample.at for sample in result.samples[: 9 * len(kept)]]
    assert first == [sample["at"] for samples in kept for sample in samples]
