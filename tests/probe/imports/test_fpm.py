"""Do ForwardPassMetrics become steps with the tokens that were in them, and are ours read back as they were?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from probe.curve.errors import CurveRefused
from probe.curve.schema import Point, ResultFile
from probe.imports.common import Given
from probe.imports.formats import read_foreign

GIVEN = Given(model="m", gpu="g", gpus=1, measured_at="2026-11-01")
NONE = {
    "num_prefill_requests": 0,
    "sum_prefill_tokens": 0,
    "var_prefill_length": 0.0,
    "sum_prefill_kv_tokens": 0,
    "num_decode_requests": 0,
    "sum_decode_kv_tokens": 0,
    "var_decode_kv_tokens": 0.0,
}


def line(wall_time: float, version: int = 1, **sums: Any) -> str:
    return json.dumps({"version": version, "wall_time": wall_time, "scheduled_requests": {**NONE, **sums}})


def read(tmp_path: Path, *lines: str) -> ResultFile:
    path = tmp_path / "steps.jsonl"
    path.write_text("\n".join(lines))
    [found] = read_foreign("forward-pass-metrics", path, GIVEN)
    return found


def decode(batch: int, held: int, wall_time: float, variance: float = 0.0) -> str:
    return line(wall_time, num_decode_requests=batch, sum_decode_kv_tokens=held, var_decode_kv_tokens=variance)


def test_each_decoding_request_attends_to_one_token_more_than_was_cached(tmp_path: Path) -> None:
    """Three steps of 8 requests at 1,000, 1,001 and 1,002 tokens each are one shape: 8 * 1,002 tokens on average, median 21 ms."""
    steps = [decode(8, 8 * context, seconds) for context, seconds in ((1000, 0.02), (1001, 0.03), (1002, 0.021))]
    [point] = read(tmp_path, *steps).points
    assert (point.kind, point.batch, point.context_sum, point.seconds, point.n) == ("decode", 8, 8016, 0.021, 3)


def test_a_prompt_meets_its_cached_tokens(tmp_path: Path) -> None:
    """512 new behind 256 cached: 512 * (256 + 256) pairs."""
    sums = {"num_prefill_requests": 1, "sum_prefill_tokens": 512, "sum_prefill_kv_tokens": 256}
    [point] = read(tmp_path, line(0.1, **sums)).points
    assert point == Point(
        kind="prefill", seconds=0.1, new=512, cached=256, pairs=262144.0, minimum=0.1, p25=0.1, p75=0.1
    )


def test_two_prompts_are_taken_as_alike(tmp_path: Path) -> None:
    """Two of 256 each: 2 * 256 * 128 pairs, not the 512 * 256 of one long one."""
    [point] = read(tmp_path, line(0.1, num_prefill_requests=2, sum_prefill_tokens=512)).points
    assert point.pairs == 65536.0


def test_steps_of_both_kinds_are_mixed_and_heartbeats_are_none(tmp_path: Path) -> None:
    mixed = line(0.1, num_prefill_requests=1, sum_prefill_tokens=64, num_decode_requests=2, sum_decode_kv_tokens=20)
    [point] = read(tmp_path, mixed, line(0.0)).points
    assert (point.kind, point.batch, point.context_sum, point.new) == ("mixed", 2, 22, 64)


def test_a_batch_is_ragged_where_lengths_deviate_by_more_than_half_their_mean(tmp_path: Path) -> None:
    """Means of 100: deviations of 50 and of 51."""
    even = [decode(batch, 100 * batch, 0.01) for batch in (1, 2, 3)]
    points = read(tmp_path, *even, decode(4, 400, 0.01, 2500.0), decode(5, 500, 0.01, 2601.0)).points
    assert [point.ragged for point in points] == [False, False, False, False, True]


def test_where_nearly_all_are_ragged_all_are_fitted(tmp_path: Path) -> None:
    points = read(tmp_path, *(decode(batch, 100 * batch, 0.01, 1e6) for batch in (2, 3, 4))).points
    assert not any(point.ragged for point in points)


@pytest.mark.parametrize(("text", "why"), [
    (line(0.1, version=2, num_decode_requests=1), "line 1 version=2"),
    (json.dumps({"version": 1, "scheduled_requests": NONE}), "wall_time"),
    (line(0.0, num_decode_requests=1, sum_decode_kv_tokens=5), "line 1 wall_time=0"),
    (decode(1, 5, 0.1, -1.0), "line 1 var_decode_kv_tokens=-1.0"),
    ("{", "line 1"),
    ("", "no step is here"),
])  # fmt: skip
def test_what_is_no_step_is_refused_by_line(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(CurveRefused, match=why):
        read(tmp_path, text)


def test_our_own_engine_s_records_come_back(tmp_path: Path) -> None:
    """Two prompts of 5 tokens, three outputs each: one step of both prompts, then two of both decoding at 6 and 7 tokens."""
    pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")
    from probe.engine.fpm import to_fpm  # noqa: PLC0415 (needs torch)
    from probe.engine.interfaces import SamplingParams  # noqa: PLC0415
    from tests.probe.engine.serving import engine, prompt, steps  # noqa: PLC0415

    one = engine(caching=False)
    for name in ("a", "b"):
        one.add_request(prompt(1, 5), SamplingParams(max_tokens=3, temperature=0, ignore_eos=True), name)
    found = read(tmp_path, *(json.dumps(to_fpm(record)) for record in steps(one)[1])).points
    assert [(p.kind, p.batch, p.context_sum, p.new, p.pairs) for p in found] == [
        ("prefill", 0, 0, 10, 25.0),
        ("decode", 2, 12, 0, 0.0),
        ("decode", 2, 14, 0, 0.0),
    ]


@pytest.mark.parametrize("field", ["num_decode_requests", "sum_decode_kv_tokens"])
def test_half_a_request_or_token_is_refused_by_its_line(field: str, tmp_path: Path) -> None:
    sums = {"num_decode_requests": 2, "sum_decode_kv_tokens": 64, field: 2.5}
    with pytest.raises(CurveRefused, match=f"line 1 {field}=2.5: a whole number is expected"):
        read(tmp_path, line(0.1, **sums))
