"""Do the server's metrics count outputs, not steps, where a prompt has several of them?"""

from __future__ import annotations

import pytest

from probe.engine.interfaces import FinishReason, PhaseSums, RequestOutput, StepOutput, StepRecord
from probe.server.metrics import ServerMetrics

LABELS = {"engine": "0", "model_name": "m"}


def step(*outputs: tuple[int, FinishReason | None], given: int) -> StepOutput:
    """A token for each (index, finish reason); `given`: tokens each has with it. The prompt has 5."""
    return StepOutput(
        tuple(RequestOutput("a", (7,), reason, 5, 4, given, index) for index, reason in outputs), record=None
    )


def value(metrics: ServerMetrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"vllm:{name}", {**LABELS, **labels})


@pytest.fixture
def metrics() -> ServerMetrics:
    """Two outputs of one prompt: one ends with its second token, the other is still going on."""
    one = ServerMetrics("m")
    one.arrived("a", 0.0, 2)
    one.observe(step((1, None), (0, None), given=1), 0.0)
    one.observe(step((0, "length"), (1, None), given=2), 0.0)
    return one


def test_a_latency_lies_between_tokens_of_one_output(metrics: ServerMetrics) -> None:
    assert value(metrics, "inter_token_latency_seconds_count") == 2
    assert value(metrics, "time_to_first_token_seconds_count") == 1
    assert value(metrics, "prompt_tokens_total") == 5


def record(moved: int, written: int | None) -> StepRecord:
    queued = PhaseSums(0, 0, 0.0, 0, 0, 0, 0.0)
    return StepRecord(0, "decode", 0, 1, 1, (), queued, 0, 0, (), 10, 10, 0, False, moved, 5, None, written)


def test_bytes_read_and_bytes_written_are_counted_apart() -> None:
    one = ServerMetrics("m")
    for _ in range(2):
        one.observe(StepOutput((), record(moved=100, written=30)), 0.0)
    assert value(one, "estimated_read_bytes_per_gpu_total") == 140
    assert value(one, "estimated_write_bytes_per_gpu_total") == 60
    assert value(one, "estimated_flops_per_gpu_total") == 10


def test_an_output_that_is_stopped_by_its_text_has_finished_like_others(metrics: ServerMetrics) -> None:
    metrics.ended("a", "stop")
    assert value(metrics, "request_success_total", finished_reason="length") == 1
    assert value(metrics, "request_success_total", finished_reason="stop") == 1
    assert value(metrics, "request_generation_tokens_sum") == 4


def test_an_output_that_is_given_up_has_no_length(metrics: ServerMetrics) -> None:
    metrics.ended("a", "abort")
    assert value(metrics, "request_success_total", finished_reason="abort") == 1
    assert value(metrics, "request_generation_tokens_sum") == 2
