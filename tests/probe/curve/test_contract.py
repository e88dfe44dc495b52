"""Do the probe's curve and accounting's give the same figures from the same file?"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from accounting.selfhosted.curve import prompts_measured
from accounting.selfhosted.curve_json import dump_curve, load_curve
from probe.curve.curve import CurveDocument

BATCHES, CONTEXTS = [1.0, 3.0, 16.0, 64.0], [16.0, 700.0, 9_000.0, 131_072.0]


def curve_file(rng: np.random.Generator, form: str) -> dict[str, Any]:
    grid = {"batch": BATCHES, "context": CONTEXTS, "values": rng.uniform(0.8, 1.3, (4, 4)).tolist()}
    file: dict[str, Any] = {
        "version": 1,
        "curve_id": "c",
        "form": form,
        "model": "m",
        "engine": "e",
        "gpu": "g",
        "dtype": "bfloat16",
        "measured_at": "2026-11-01",
        "domain": {"batch": [1, 64], "context": [16, 131_072]},
    }
    if form == "holes":
        values = rng.uniform(0.8, 1.3, (4, 4)) < 1.1
        values[1] = True
        holes = grid | {"measured": values.tolist()}
        return file | {"form": "table", "steps": holes, "first_token": holes}
    if form == "table":
        return file | {"steps": grid, "first_token": grid}
    names = ("t_0", "a", "c", "d", "f", "r", "e")
    scale = (5e-3, 1e-4, 1e-7, 2e-5, 1e-9, 1e-8, 1e-4)
    parameters = {name: float(rng.uniform(0.1, 2) * size) for name, size in zip(names, scale, strict=True)}
    return file | {"parameters": parameters | {"experts": 128, "experts_per_token": 8}, "residual": grid}


@pytest.mark.parametrize("form", ["step", "table"])
@pytest.mark.parametrize("budget", [None, 2_048])
def test_probe_and_accounting_agree_on_random_points(form: str, budget: int | None) -> None:
    """1,000 points, each of 10 random curves a hundred of them, to 1e-12."""
    rng = np.random.default_rng(6)
    for _ in range(10):
        file = curve_file(rng, form)
        batch, context = rng.integers(1, 65, 100), np.exp(rng.uniform(np.log(16), np.log(131_072), 100))
        ours = CurveDocument.of(file).answer(batch, context, token_budget=budget)
        theirs = load_curve(json.dumps(file)).answer(batch, context, token_budget=budget)
        np.testing.assert_allclose(ours.step, theirs.step_seconds, rtol=1e-12)
        np.testing.assert_allclose(ours.throughput, theirs.tokens_per_second, rtol=1e-12)
        np.testing.assert_allclose(ours.ttft, theirs.ttft_seconds, rtol=1e-12)


@pytest.mark.parametrize("budget", [256, 2_048, 1 << 20])
@pytest.mark.parametrize("cached", [None, [0, 4_096]])
def test_both_take_the_same_prompts_for_measured(budget: int, cached: list[int] | None) -> None:
    rng = np.random.default_rng(8)
    file = curve_file(rng, "step")
    file["domain"] |= {"prefill_new": [16, 1_024], "prefill_cached": cached}
    new = np.exp(rng.uniform(np.log(16), np.log(131_072), 1_000)).astype(np.int64)
    ours = CurveDocument.of(file).answer(1, new, token_budget=budget).ttft_extrapolated
    curve = load_curve(json.dumps(file))
    theirs = prompts_measured(curve.domain, new, np.zeros_like(new), budget)
    assert ours.tolist() == (~theirs).tolist()
    batch = rng.integers(1, 64, 1_000)
    for given in (budget, None):
        mine = CurveDocument.of(file).answer(batch, new, "flag", given).ttft_extrapolated
        assert mine.tolist() == curve.answer(batch, new, "flag", given).ttft_extrapolated.tolist()
    assert 0 < int(ours.sum()) < 1_000 or (budget == 256 and cached is None)


def test_both_flag_the_same_points_of_a_table_with_holes() -> None:
    rng = np.random.default_rng(7)
    for _ in range(10):
        file = curve_file(rng, "holes")
        batch, context = rng.integers(1, 80, 100), np.exp(rng.uniform(np.log(16), np.log(200_000), 100))
        context[:50] = rng.choice(CONTEXTS, 50)
        ours = CurveDocument.of(file).answer(batch, context, "flag")
        theirs = load_curve(json.dumps(file)).answer(batch, context, "flag")
        assert ours.extrapolated.tolist() == theirs.extrapolated.tolist()
        assert 0 < int(ours.extrapolated.sum()) < 100
        assert CurveDocument.of(json.loads(dump_curve(load_curve(json.dumps(file))))).steps is not None


def test_a_file_that_accounting_wrote_is_read_by_the_probe() -> None:
    file = curve_file(np.random.default_rng(1), "step")
    written = json.loads(dump_curve(load_curve(json.dumps(file))))
    assert CurveDocument.of(written).answer(3, 700).step == pytest.approx(CurveDocument.of(file).answer(3, 700).step)
