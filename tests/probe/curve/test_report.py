"""Do the charts show what the curve says: lines at measured points, dollars only where they are meant, beaten batches apart?"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from probe.curve.charts import CHARTS, Drawn
from probe.curve.cli import curve as commands
from probe.curve.compare import Row
from probe.curve.curve import CurveDocument
from probe.curve.frontier import frontier
from probe.curve.report import write_report
from probe.curve.schema import DeviceInfo, EngineInfo, ModelInfo, ResultFile, Run, Served, dump_result
from probe.curve.sides import Side, room_and_quality, sides
from probe.fit.result import with_curve
from tests.probe.curve.test_answers import SHAPE
from tests.probe.fit.points import DENSE, decode, grid

EIGHT = {"batch": [8], "context": [512], "values": [[1.2]]}
ONE = np.array([1.0])

make_subplots = pytest.importorskip("plotly.subplots", reason="charts need the extra `report`").make_subplots


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
    """A step of one sequence at 256 tokens takes 5.01768 ms: 199.3 a second. Of four users three decode at once: 120 * 25 ms."""
    run = Served(input_tokens=8, output_tokens=8, concurrency=4, output_tokens_per_second=120.0, tpot_median=0.025)
    line, served = drawn(result(served=[run]), "Throughput over batch")
    assert line.y[0] == pytest.approx(199.296, rel=1e-4)
    assert (list(served.x), list(served.y)) == ([3], [120.0])


def test_dollars_of_one_sequence_by_hand_and_none_without_a_price() -> None:
    """2 dollars an hour over 199.3 tokens a second: 2.7876 a million."""
    assert drawn(result(), "Cost over context")[0].y[0] == pytest.approx(2.7876, rel=1e-4)
    assert drawn(result(), "Cost over context", None) == []


TWO = DeviceInfo(gpu="cpu", count=2)


def test_dollars_are_those_of_all_gpus() -> None:
    """Two GPUs at 2 dollars each: twice 2.7876."""
    assert drawn(result(device=TWO), "Cost over context")[0].y[0] == pytest.approx(5.5752, rel=1e-4)


def test_pace_is_in_milliseconds_over_what_all_get() -> None:
    """A step of eight at 256 tokens: 5 + 8 * 0.01 + 8 * 256 * 0.00003 = 5.14144 ms, 1,555.98 tokens a second."""
    [line] = drawn(result(), "Pace against throughput")
    assert list(line.x) == pytest.approx([199.296, 1555.984], rel=1e-5)
    assert list(line.y) == pytest.approx([5.01768, 5.14144], rel=1e-5)


def test_the_frontier_is_a_user_s_pace_against_a_gpu_s_throughput() -> None:
    """1 / 5.01768 ms and 1 / 5.14144 ms; half of 199.3 and of 1,555.98."""
    [line] = drawn(result(device=TWO), "Frontier of latency and throughput")
    assert list(line.x) == pytest.approx([199.296, 194.498], rel=1e-5)
    assert list(line.y) == pytest.approx([99.648, 777.992], rel=1e-5)


def test_ragged_steps_stand_apart_from_those_the_curve_was_made_of() -> None:
    """The law's own points are the curve's; a ragged batch of 8 at 512 took a tenth more."""
    points = [*grid(DENSE), decode(DENSE, 8, 512, 1.1, ragged=True)]
    even, ragged = drawn(msgspec.structs.replace(result(), points=points), "Measured over curve")
    assert list(even.y) == pytest.approx([1.0] * 28)
    assert (list(ragged.x), list(ragged.y)) == ([8], [pytest.approx(1.1)])


def test_a_residual_stands_over_the_terms_as_its_answers_go_through_the_points() -> None:
    """Steps at a batch of 8 take a fifth longer than any terms say; over the curve itself all would be 1."""
    document = CurveDocument.of({**(result().curve or {}), "residual": EIGHT})
    figure = make_subplots(rows=1, cols=1)
    one = Drawn(msgspec.structs.replace(result(), points=[decode(DENSE, 8, 512, 1.2)]), document, ONE, [256], None)
    CHARTS["Measured over curve"](figure, one, {"row": 1, "col": 1})
    assert list(figure.data[0].y) == pytest.approx([1.2])


def test_a_page_fits_a_phone_and_says_why_a_chart_is_empty(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    found = result()
    write_report([(found, CurveDocument.of(found.curve or {}))], page, None)
    text = page.read_text(encoding="utf-8")
    assert '<meta name="viewport" content="width=device-width">' in text
    assert "Nothing to show: no price was given (--gpu-price)" in text
    assert "Nothing to show: the model&#x27;s shape, its width or the device&#x27;s ceilings are not known" in text


def test_a_point_of_the_roofline_by_hand() -> None:
    """Two layers have 24,576 numbers in attention and 49,152 behind it, the head 6,400: 80,128. One token at 128 takes 2 * 80,128 +
    4 * 2 * 4 * 16 * 128 = 225,792 operations on 2 * 80,128 + 256 * 129 = 193,280 bytes, in 5.01384 ms."""
    model = ModelInfo(name="m", dtype="bfloat16", architecture=SHAPE)
    reached = DeviceInfo(gpu="cpu", measured_bytes_per_second=4e10, measured_flops=7e11)
    roof, steps, _ = drawn(result(model=model, device=reached), "Roofline")
    assert (roof.y[0], roof.y[-1]) == pytest.approx((0.1 * 4e10, 7e11))
    assert (steps.x[0], steps.y[0]) == pytest.approx((225_792 / 193_280, 225_792 / 0.00501384))
    assert drawn(result(model=model), "Roofline") == []


def test_one_side_over_the_other() -> None:
    """Twice the tokens, half the time to the first, a quarter of the dollars; what one of them can't say is none's."""
    a, b = Row(4, 256, 0.02, 100.0, 0.4, 8.0, False), Row(4, 256, 0.01, 200.0, 0.2, 2.0, False)
    assert sides([a], [b]) == [Side(4, 256, 2.0, 0.5, 0.25)]
    assert sides([replace(a, ttft=None)], [replace(b, dollars=None)]) == [Side(4, 256, 2.0, None, None)]


def test_a_cache_held_twice_takes_twice_the_bytes() -> None:
    """Four GPUs, two key heads: each head is held twice, 512 bytes a token. 256 tokens take 131,072 of 5,160,960: 39 fit."""
    model = ModelInfo(name="m", dtype="bfloat16", architecture=SHAPE)
    engine = EngineInfo(name="e", block_size=16, tensor_parallel=4)
    found = result(model=model, engine=engine, device=DeviceInfo(gpu="cpu", kv_bytes=20 * 256 * 1008))
    cache, _ = room_and_quality(found, CurveDocument.of(json.loads(json.dumps(found.curve))), [256])
    assert cache == "cache: 512 bytes a token; sequences that fit: 39 at 256"


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
