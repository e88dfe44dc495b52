"""Do the charts show what the curve says: lines at measured points, dollars only where they are meant, beaten batches apart?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from probe.curve.charts import CHARTS, Drawn
from probe.curve.cli import curve as commands
from probe.curve.curve import CurveDocument
from probe.curve.frontier import frontier
from probe.curve.schema import DeviceInfo, EngineInfo, ModelInfo, ResultFile, Run, Served, dump_result
from probe.fit.result import with_curve
from tests.probe.fit.points import DENSE, grid

go = pytest.importorskip("plotly.graph_objects", reason="charts need the extra `report`")


def result(name: str = "r", **more: object) -> ResultFile:
    made = ResultFile(
        version=1,
        result_id=name,
        run=Run(measured_at="2026-11-01", via="in_process"),
        model=ModelInfo(name="m", dtype="bfloat16"),
        engine=EngineInfo(name="e"),
        device=DeviceInfo(gpu="cpu"),
        points=grid(DENSE),
    )
    return with_curve(msgspec.structs.replace(made, **more))


def drawn(found: ResultFile, chart: str, gpu_hour: float | None = 2.0) -> list[Any]:
    from plotly.subplots import make_subplots  # noqa: PLC0415 (an extra)

    figure = make_subplots(rows=1, cols=1)
    document = CurveDocument.of(json.loads(json.dumps(found.curve)))
    one = Drawn(found, document, np.array([1.0, 8.0]), [256], gpu_hour)
    CHARTS[chart](figure, one, {"row": 1, "col": 1})
    return list(figure.data)


def test_a_batch_that_another_beats_in_both_is_no_part_of_the_frontier() -> None:
    """Steps of 1, 2, 3 s with 10, 30, 20 tokens a second: the third is longer than the second and does less."""
    assert frontier(np.array([1.0, 2.0, 3.0]), np.array([10.0, 30.0, 20.0])).tolist() == [True, True, False]


def test_points_alike_stay_both_and_one_that_is_only_longer_goes() -> None:
    assert frontier(np.array([1.0, 1.0, 2.0]), np.array([5.0, 5.0, 5.0])).tolist() == [True, True, False]


def test_throughput_is_the_curve_s_and_served_runs_stand_as_they_were() -> None:
    """A step of one sequence at 256 tokens takes 5.01768 ms: 199.3 a second."""
    run = Served(input_tokens=8, output_tokens=8, concurrency=4, output_tokens_per_second=123.0)
    line, served = drawn(result(served=[run]), "Throughput over batch")
    assert line.y[0] == pytest.approx(199.296, rel=1e-4)
    assert (list(served.x), list(served.y)) == ([4], [123.0])


def test_dollars_of_one_sequence_by_hand_and_none_without_a_price() -> None:
    """2 dollars an hour over 199.3 tokens a second: 2.7876 a million."""
    assert drawn(result(), "Cost over context")[0].y[0] == pytest.approx(2.7876, rel=1e-4)
    assert drawn(result(), "Cost over context", None) == []


def test_a_floor_has_no_dollars() -> None:
    assert drawn(result(run=Run(measured_at="2026-11-01", via="composed")), "Cost over context") == []


def test_two_curves_share_a_page_with_their_names(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.json").write_bytes(dump_result(result(f"setup-{name}")))
    page = tmp_path / "both.html"
    files = [str(tmp_path / f"{name}.json") for name in "ab"]
    done = CliRunner().invoke(commands, ["compare", *files, "--gpu-price", "2", "--html", str(page)])
    assert done.exit_code == 0, done.output
    text = page.read_text(encoding="utf-8")
    assert "setup-a context 256" in text
    assert "setup-b frontier 256" in text
