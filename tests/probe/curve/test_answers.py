"""Limits of the device, room of the cache, the best batch, and what the commands print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from accounting.selfhosted.curve import best_batch as accountings_best
from accounting.selfhosted.curve_json import load_curve
from probe.curve.architecture import Architecture
from probe.curve.cli import curve
from probe.curve.curve import CurveDocument
from probe.curve.errors import CurveRefused
from probe.curve.limits import Ceiling, use_of
from probe.curve.operating import achievable_batch, best_batch, unmeasured
from probe.curve.schema import (
    DeviceInfo,
    EngineInfo,
    ModelInfo,
    Point,
    Quality,
    ResultFile,
    Run,
    dump_result,
    json_schema,
    load_result,
)
from probe.curve.setup_shape import shape_of
from probe.fit.result import with_curve
from tests.probe.fit.points import DENSE, decode, grid

LLAMA_70B = Architecture("llama-2-70b", 80, 8192, 64, 8, 128, 28672, 32000)
H100 = Ceiling(3.35e12, 989e12)
SHAPE = {
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "intermediate_size": 128,
    "vocab_size": 100,
}


def result(**more: object) -> ResultFile:
    made = ResultFile(
        version=1,
        result_id="r",
        run=Run(measured_at="2026-11-01", via="in_process"),
        model=ModelInfo(name="m", dtype="bfloat16", architecture=SHAPE),
        engine=EngineInfo(name="e", block_size=16),
        device=DeviceInfo(gpu="cpu", kv_bytes=20 * 256 * 1008),
        points=grid(DENSE),
    )
    return msgspec.structs.replace(made, **more)


def document(found: ResultFile) -> CurveDocument:
    return CurveDocument.of(found.curve or {})


def test_a_published_figure_above_the_peak_is_impossible() -> None:
    """Llama-2-70B at FP16 and 85 tokens a second alone: about 137 GB in 1/85 s is 11.7 TB/s, 3.5 times an H100's 3.35."""
    use = use_of(Point(kind="decode", seconds=1 / 85, batch=1, context_sum=128), LLAMA_70B, H100)
    assert use.verdict == "impossible"
    assert use.bandwidth == pytest.approx(3.5, rel=0.02)


def test_decode_is_bound_by_bandwidth_and_prefill_by_operations() -> None:
    step = use_of(Point(kind="decode", seconds=0.05, batch=8, context_sum=8192), LLAMA_70B, H100)
    prompt = use_of(Point(kind="prefill", seconds=0.6, new=2048, pairs=2048**2 / 2), LLAMA_70B, H100)
    assert (step.bound, step.verdict) == ("bandwidth", "possible")
    assert prompt.bound == "operations"


SMALL = Architecture("small", 2, 64, 4, 2, 16, 128, 100)
MOE = Architecture("moe", 1, 64, 4, 2, 16, 128, 100, experts=8, experts_per_token=2)


def test_of_a_prompt_only_the_last_token_reaches_the_head() -> None:
    """73,728 numbers before the head and 6,400 in it: 2 * (73,728 * 100 + 6,400) + 4 * 2 * 4 * 16 * 5,000 = 17,318,400 operations."""
    prompt = use_of(Point(kind="prefill", seconds=1, new=100, pairs=5000), SMALL, Ceiling(1e9, 1e9))
    assert prompt.operations == pytest.approx(0.0173184, rel=1e-12)


def test_experts_picked_evenly_above_the_peak_are_suspicious_and_not_impossible() -> None:
    """Of 8 tokens' 7.2 experts 391 kB would be read, of two experts 136 kB: 300 kB a second are too few for the first alone."""
    step = Point(kind="decode", seconds=1, batch=8, context_sum=8)
    even = use_of(step, MOE, Ceiling(300e3, 1e12))
    assert (even.verdict, even.bandwidth > 1) == ("suspicious", True)
    assert use_of(step, MOE, Ceiling(130e3, 1e12)).verdict == "impossible"


@pytest.mark.parametrize(("quantization", "impossible"), [(None, True), ("int4", False), ("awq", False)])
def test_weights_are_held_to_the_peak_by_their_own_width_and_not_where_it_is_not_known(
    quantization: str | None, impossible: bool
) -> None:
    """A step that reads 160 kB of 16-bit weights, or 40 kB of 4-bit ones, in 1 ms, at 150 MB a second; the others read 700 kB in 5 ms
    at most."""
    peaks = DeviceInfo(gpu="g", peak_bytes_per_second=1.5e8, peak_flops=1e12)
    model = ModelInfo(name="m", dtype="bfloat16", quantization=quantization, architecture=SHAPE)
    fast = Point(kind="decode", seconds=0.001, batch=1, context_sum=8)
    few = [point for point in grid(DENSE) if point.context_sum + point.cached <= 1024]
    found = with_curve(result(model=model, device=peaks, points=[*few, fast]))
    notes = found.fit.notes if found.fit else []
    assert any("decode batch 1, 0.001 s" in note for note in notes) is impossible


def test_an_impossible_point_is_not_fitted_and_the_report_names_it() -> None:
    peaks = DeviceInfo(gpu="g", peak_bytes_per_second=1e9, peak_flops=1e12)
    wrong = decode(DENSE, 8, 1024, 1e-6)
    found = with_curve(result(points=[*grid(DENSE), wrong], device=peaks))
    assert found.fit is not None
    assert [note for note in found.fit.notes if note.startswith("impossible: decode batch 8")]
    assert (found.curve or {})["parameters"]["t_0"] == pytest.approx(0.005, rel=1e-6)


def test_points_that_are_above_the_peak_for_the_most_part_make_no_curve() -> None:
    """Steps a hundred times too fast: 160 kB of weights alone in 0.05 ms are 3.2 GB a second, of 1."""
    peaks = DeviceInfo(gpu="g", peak_bytes_per_second=1e9, peak_flops=1e12)
    fast = [msgspec.structs.replace(point, seconds=point.seconds / 100) for point in grid(DENSE)]
    with pytest.raises(CurveRefused, match="37 of 37 points are above the device's peak; impossible: decode batch 1, "):
        with_curve(result(points=fast, device=peaks))


@pytest.mark.parametrize(("model", "device", "said"), [
    ({"architecture": {}}, {}, "not checked against the device's peak: the shape of m is not known"),
    ({}, {"peak_bytes_per_second": None}, "not checked against the device's peak: that of g is not known"),
    ({}, {"peak_flops": None}, "not checked against the device's peak of operations: that of g in bfloat16 is not known"),
    ({"dtype": "odd"}, {}, "held to the device's peak at one bit a number: how wide those of odd are is not known"),
])  # fmt: skip
def test_what_could_not_be_held_to_the_device_s_peak_is_said(
    model: dict[str, Any], device: dict[str, Any], said: str
) -> None:
    known = result(device=DeviceInfo(gpu="g", peak_bytes_per_second=1e12, peak_flops=1e12))
    found = msgspec.structs.replace(
        known,
        model=msgspec.structs.replace(known.model, **model),
        device=msgspec.structs.replace(known.device, **device),
    )
    assert said in with_curve(found).fit.notes  # type: ignore[union-attr]
    assert not any("device's peak" in note for note in with_curve(known).fit.notes)  # type: ignore[union-attr]


def test_operations_that_have_no_ceiling_are_held_to_none() -> None:
    use = use_of(Point(kind="prefill", seconds=1e-9, new=100, pairs=5000), SMALL, Ceiling(1e18, None))
    assert (use.operations, use.bound, use.verdict) == (None, "bandwidth", "possible")


def test_room_and_best_batch_are_accountings() -> None:
    """A token holds 2 layers * 2 * 2 heads * 16 * 2 bytes = 256; 63 blocks of 16 for 1,000 tokens: 20 sequences fit."""
    found = with_curve(result())
    curve, theirs = document(found), load_curve(json.dumps(found.curve))
    assert achievable_batch(curve, 1000) == 20
    for targets in ((None, None), (None, 0.0053), (0.05, None), (None, 0.001)):
        assert best_batch(curve, 1000, *targets) == accountings_best(theirs, 1000, *targets)
    assert best_batch(curve, 1000) == 20


@pytest.mark.parametrize(("context", "budget", "far"), [
    (2048, None, False),
    (2049, None, True),
    (8192, None, True),
    (8192, 2048, False),
    (8192, 4096, True),
])  # fmt: skip
def test_a_first_token_of_a_prompt_that_was_not_measured_is_marked_and_its_step_is_not(
    context: int, budget: int | None, far: bool
) -> None:
    """Prompts to 2,048 tokens behind 0 to 8,192 cached ones were measured, contexts to 8,192: of 8,192 in chunks of 2,048 the last meets
    6,144."""
    curve = document(with_curve(result()))
    found = curve.answer(1, context, "refuse", budget)
    assert (bool(found.extrapolated), bool(found.ttft_extrapolated)) == (False, far)


def test_later_chunks_meet_no_more_cached_tokens_than_were_measured() -> None:
    """Behind at most 1,024 cached: the second of two chunks of 1,536 meets 1,536, that of two of 1,024 1,024."""
    curve = document(with_curve(result()))
    curve.file["domain"] |= {"prefill_new": [128, 1536], "prefill_cached": [0, 1024]}
    found = curve.answer(1, [2048, 3072], "refuse", 1536)
    assert found.ttft_extrapolated.tolist() == [False, True]


def test_a_best_batch_by_a_first_token_that_was_not_measured_says_so_or_is_refused() -> None:
    curve = document(with_curve(result(device=DeviceInfo(gpu="cpu"))))
    assert best_batch(curve, 4096, ttft=10) == 64
    assert [unmeasured(curve, 4096, 64, ttft) for ttft in (None, 10)] == [False, True]
    assert unmeasured(curve, 4096, None, 1e-3)
    assert not unmeasured(curve, 2048, 64, 10)
    assert unmeasured(curve, 9000, 64)
    assert best_batch(curve, 2048, ttft=10, outside="refuse") == 64
    assert best_batch(curve, 4096, outside="refuse") == 64
    with pytest.raises(CurveRefused, match="ttft=10: prompts of 4096 tokens were not measured"):
        best_batch(curve, 4096, ttft=10, outside="refuse")


def test_what_changes_answers_is_marked_by_rule() -> None:
    assert not (with_curve(result()).curve or {})["behaviour_changing"]
    for changed in (
        result(model=ModelInfo(name="m", dtype="bfloat16", quantization="int8")),
        result(engine=EngineInfo(name="e", kv_cache_dtype="fp8")),
        result(engine=EngineInfo(name="e", token_eviction=True)),
        result(engine=EngineInfo(name="e", prompt_truncation=True)),
    ):
        assert (with_curve(changed).curve or {})["behaviour_changing"]


def test_prompts_that_were_not_measured_are_not_billed_at_nothing() -> None:
    with pytest.raises(CurveRefused, match="would bill them at 0"):
        with_curve(result(points=[p for p in grid(DENSE) if p.kind == "decode"]))


def test_a_result_comes_back_from_its_file_and_strange_fields_are_refused() -> None:
    made = with_curve(result())
    assert load_result(dump_result(made)) == made
    with pytest.raises(CurveRefused, match="unknown field `speed`"):
        load_result(json.dumps({**json.loads(dump_result(made)), "speed": 1}))
    with pytest.raises(CurveRefused, match=r"result\.version=2"):
        load_result(json.dumps({**json.loads(dump_result(made)), "version": 2}))
    assert json_schema()["$defs"]["ResultFile"]["additionalProperties"] is False


@pytest.mark.parametrize(("change", "said"), [
    ({"points": [{"kind": "decode", "seconds": -0.1}]}, r"result\.points\[0\]\.seconds=-0\.1: Expected `float` > 0"),
    ({"result_id": ""}, r"result\.result_id=''"),
    ({"points": [{"kind": "sideways", "seconds": 1}]}, r"result\.points\[0\]\.kind='sideways'"),
    ({"points": [{"kind": "decode", "seconds": 1}]}, r"point\.batch=0: a decode step that attends to 0 tokens"),
    ({"version": 2, "news": 1}, r"result\.version=2: this reads version 1"),
    ({"served": [{"input_tokens": 1, "output_tokens": 1, "tpot_mean": -1}]}, r"result\.served\[0\]\.tpot_mean=-1"),
    ({"device": {"gpu": "g", "count": 0}}, r"result\.device\.count=0: Expected `int` >= 1"),
    ({"fit": {"chosen": "c", "errors": {"in_sample": {"mape": -1}}}}, r"result\.fit\.errors\[\.\.\.\]\.mape="),
])  # fmt: skip
def test_a_wrong_field_of_a_file_is_named_with_its_value(change: dict[str, object], said: str) -> None:
    file = json.loads(dump_result(result()))
    with pytest.raises(CurveRefused, match=said):
        load_result(json.dumps({**file, **change}))


GRID = {"batch": [1, 2], "context": [8], "values": [[0.01], [0.02]]}
HEADER = dict.fromkeys(("curve_id", "model", "engine", "gpu", "dtype", "measured_at"), "t")
TABLE = {"version": 1, **HEADER, "form": "table", "domain": {"batch": [1, 2], "context": [8, 8]}, "steps": GRID}
STEP = dict.fromkeys(("t_0", "a", "c", "d", "f", "r"), 0.1)
CACHE = {"kv_bytes": 100, "block_size": 16, "groups": []}


@pytest.mark.parametrize(("change", "said"), [
    ({"domain": {"batch": [1, 2]}}, r"curve\.domain=.*missing required field `context`"),
    ({"domain": {"batch": [2, 1], "context": [8, 8]}}, r"curve\.domain\.batch=\[2, 1\]"),
    ({"steps": {**GRID, "values": [[0.01], [-0.02]]}}, r"grid\.values=-0\.02"),
    ({"steps": {**GRID, "values": [[0.01], ["fast"]]}}, r"curve\.steps\.values\[1\]\[0\]='fast': "),
    ({"steps": {**GRID, "context": [None]}}, r"curve\.steps\.context\[0\]=None: Expected `float`"),
    ({"steps": {**GRID, "values": [[1e-320], [1]]}}, r"curve\.throughput=inf"),
    ({"form": "sideways"}, r"curve\.form='sideways'"),
    ({"floor": 1}, r"curve\.floor=1: Expected `bool`"),
    ({"memory": CACHE}, r"curve\.memory\.groups='\[\]'"),
    ({"form": "step"}, r"curve\.parameters=None"),
    ({"form": "step", "parameters": {**STEP, "c": -0.1}}, r"curve\.parameters\.c=-0\.1"),
    ({"form": "step", "parameters": {**STEP, "t_0": 0}}, r"curve\.parameters\.t_0=0\.0"),
    ({"form": "step", "parameters": {**STEP, "d": 1e308}}, r"curve\.ttft=inf"),
    ({"steps": {**GRID, "batch": [2, 1]}}, r"grid\.batch=\[2\.0, 1\.0\]"),
])  # fmt: skip
def test_a_curve_with_an_odd_part_is_refused_by_it(change: dict[str, object], said: str) -> None:
    assert CurveDocument.of(TABLE).answer(1, 8).step == pytest.approx(0.01)
    with pytest.raises(CurveRefused, match=said):
        CurveDocument.of({**TABLE, **change}).answer(1, 8)


def test_a_shape_that_is_no_number_is_refused_by_its_field() -> None:
    odd = {**SHAPE, "head_dim": "wide"}
    with pytest.raises(CurveRefused, match=r"model\.architecture\.head_dim='wide': a whole number is expected"):
        shape_of(msgspec.structs.replace(result(), model=ModelInfo(name="m", architecture=odd)))


def test_two_curves_compare_with_dollars_and_a_warning(tmp_path: Path) -> None:
    """A step of one sequence at 256 tokens takes 5.01768 ms: 2 dollars an hour are 2.7876 a million tokens.

    Its first token: 5 ms + 256 * 0.01 ms + 256^2 / 2 * 2 ns = 7.6 ms. A token holds 256 bytes of 20 * 256 * 1,008: 78 sequences of 256
    tokens fit, 19 of 1,024."""
    quantised = ModelInfo(name="m", dtype="bfloat16", quantization="int8")
    quality = Quality(kl_mean=0.01, top1_flips=0.02)
    for name, made in (("a", result()), ("b", result(model=quantised, quality=quality))):
        (tmp_path / f"{name}.json").write_bytes(dump_result(with_curve(made)))
    shown = CliRunner().invoke(curve, ["compare", *(str(tmp_path / f"{n}.json") for n in "ab"), "--gpu-price", "2"])
    assert shown.exit_code == 0, shown.output
    assert "     1      256      5.02      199.3       7.6    2.7876" in shown.output
    assert "answers differ from the unchanged model's (KL mean 0.01, top-1 flips 2.00%)" in shown.output
    assert "cache: 256 bytes a token; sequences that fit: 78 at 256, 19 at 1024" in shown.output
    assert "quality: KL mean 0.01, top-1 flips 2.00%" in shown.output
    assert "     1      256      1.000     1.000     1.000" in shown.output.split("r over r")[1]


def test_commands_refuse_by_field(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("{}")
    found = CliRunner().invoke(curve, ["show", str(path)])
    assert found.exit_code == 2
    assert "missing required field" in found.output


def test_the_report_has_its_charts(tmp_path: Path) -> None:
    measured = DeviceInfo(gpu="cpu", measured_bytes_per_second=4e10, measured_flops=7e11)
    (tmp_path / "a.json").write_bytes(dump_result(with_curve(result(device=measured))))
    page = tmp_path / "a.html"
    shown = CliRunner().invoke(curve, ["show", str(tmp_path / "a.json"), "--gpu-price", "2", "--html", str(page)])
    assert shown.exit_code == 0, shown.output
    text = page.read_text(encoding="utf-8")
    for title in (
        "Throughput over batch",
        "Cost over context",
        "Measured over curve",
        "Pace against throughput",
        "Roofline",
        "Frontier of latency and throughput",
    ):
        assert title in text
    assert "in_sample: mape 0.0%" in text
