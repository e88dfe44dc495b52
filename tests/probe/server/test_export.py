"""Does a step ledger come out as lines that the importer of ForwardPassMetrics takes?"""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from probe.cli import probe
from probe.imports.common import Given
from probe.imports.fpm import read
from tests.step_ledgers import decode, prefill, write

STEPS = [
    ("12:00", 4_000_000, False, [prefill("a", 20), prefill("b", 40, 8)]),
    ("12:01", 2_000_000, False, [decode("a", 20), decode("b", 48)]),
]


def test_each_step_is_a_line_of_sums(tmp_path: Path) -> None:
    said = CliRunner().invoke(probe, ["fpm", str(write(tmp_path / "steps.arrow", STEPS)), "--worker-id", "r0"])
    first, second = (json.loads(line) for line in said.output.splitlines())
    assert (first["version"], first["worker_id"], first["counter_id"], first["wall_time"]) == (1, "r0", 0, 0.004)
    assert first["scheduled_requests"]["sum_prefill_tokens"] == 60
    assert first["scheduled_requests"]["sum_prefill_kv_tokens"] == 8
    assert second["scheduled_requests"]["sum_decode_kv_tokens"] == 68
    lines = tmp_path / "steps.jsonl"
    lines.write_text(said.output)
    [result] = read(lines, Given(model="m", gpu="g", gpus=1, measured_at="2026-11-01"))
    assert [(point.kind, point.seconds) for point in result.points] == [("prefill", 0.004), ("decode", 0.002)]


def test_a_file_that_is_no_ledger_is_named(tmp_path: Path) -> None:
    path = tmp_path / "steps.arrow"
    path.write_text("{}")
    said = CliRunner().invoke(probe, ["fpm", str(path)])
    assert (said.exit_code, "ledger:" in said.output, "is no step ledger" in said.output) == (1, True, True)
