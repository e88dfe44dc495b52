"""What becomes of a measurement that the demo makes itself? The probe is stood in for: it needs torch and a minute."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from accounting.demo import pool
from accounting.demo.hosted import measured
from accounting.errors import ConfigurationError
from accounting.selfhosted.curve_json import load_curve


def probe(monkeypatch: pytest.MonkeyPatch, curve: dict[str, Any] | None, code: int = 0) -> list[list[str]]:
    """A probe that writes a result file with this curve and ends; returns the commands it was called by."""
    called: list[list[str]] = []

    def run(command: list[str], check: bool) -> subprocess.CompletedProcess[bytes]:
        called.append(command)
        result = {"version": 1, "run": {"seed": 0}, "samples": [{"seconds": 1.0}], "curve": curve}
        Path(command[command.index("--out") + 1]).write_text(json.dumps(result))
        json.loads(Path(command[command.index("--grid") + 1]).read_text())
        return subprocess.CompletedProcess(command, code)

    monkeypatch.setattr(pool.subprocess, "run", run)
    return called


def test_the_measured_curve_is_taken_with_what_it_was_measured_on(monkeypatch: pytest.MonkeyPatch) -> None:
    called = probe(monkeypatch, json.loads(measured()))
    found = pool.measure()
    assert load_curve(found).header.curve_id == "demo-llama-248m-x0.75-cpu"
    assert json.loads(found)["source"] == {"version": 1, "run": {"seed": 0}}
    assert called[0][1:5] == ["-m", "accounting.cli", "probe", "run"]


def test_a_measurement_without_a_fit_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    probe(monkeypatch, None)
    with pytest.raises(ConfigurationError, match="too busy to measure"):
        pool.measure()


def test_a_probe_that_fails_is_an_error_that_names_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    probe(monkeypatch, json.loads(measured()), code=1)
    with pytest.raises(ConfigurationError, match="PROBE=1"):
        pool.measure()
