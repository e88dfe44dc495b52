"""Does the bar of the sweeps hold what it says? By the plain terms, as a correction has no error in sample, and on a quiet replay alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from probe.curve.schema import Error
from tests.bench import bench_sweep


def error(mape: float, bias: float = 0.0) -> Error:
    return Error(mape=mape, bias=bias, p95=mape, max=mape, n=6)


GOOD = {
    "in_sample_plain": error(0.04),
    "in_sample": error(0.0),
    "leave_one_batch": error(0.07, 0.01),
    "replay": error(0.1),
}


@pytest.mark.parametrize(
    ("changed", "contaminated", "held"),
    [
        ({}, [], True),
        ({"in_sample_plain": error(0.06)}, [], False),
        ({"leave_one_batch": error(0.09)}, [], False),
        ({"leave_one_batch": error(0.07, -0.03)}, [], False),
        ({"replay": error(0.16)}, [], False),
        ({}, ["replay"], False),
    ],
)
def test_each_part_of_the_bar_can_fail(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, Error], contaminated: list[str], held: bool
) -> None:
    monkeypatch.setattr(bench_sweep, "_errors", lambda _: GOOD | changed)
    result: Any = SimpleNamespace(fit=SimpleNamespace(contaminated=contaminated))
    assert bench_sweep._held(result) is held


@pytest.mark.parametrize("name", bench_sweep.MODELS)
def test_the_models_that_are_swept_are_models(name: str) -> None:
    pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")
    from probe.engine.models.hf_config import parse_config  # noqa: PLC0415

    assert parse_config(bench_sweep.MODELS[name]).num_hidden_layers == 6
