"""Are lines of llama-batched-bench held to what the model and the GPU that the user names can do?"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from probe.curve.errors import CurveRefused
from probe.fit.result import with_curve
from probe.imports.common import Given
from probe.imports.formats import read_foreign

GIVEN = Given(model="meta-llama/Llama-3.1-8B", gpu="H100", gpus=1, dtype="bf16", measured_at="2026-11-01")


def line(pl: int, pp: int, step: float) -> dict[str, Any]:
    """128 steps of `step` seconds, prompts at 50,000 tokens a second."""
    return {"pp": pp, "tg": 128, "pl": pl, "t_pp": 0.01 + pp * pl / 5e4, "t_tg": 128 * step, "n_batch": 2048}


def written(tmp_path: Path, step: float, prompts: float = 1.0) -> Path:
    """Batches of 1 to 8 at three lengths; a step of one sequence takes `step` seconds, a prompt `prompts` times as long as it does."""
    lines = [line(pl, pp, step * (1 + pl / 50 + pl * pp / 1e5)) for pl in (1, 2, 4, 8) for pp in (128, 512, 2048)]
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(json.dumps(one | {"t_pp": one["t_pp"] * prompts}) for one in lines))
    return path


def test_steps_above_the_peak_of_the_named_model_and_gpu_make_no_curve(tmp_path: Path) -> None:
    """15 GB of 16-bit weights in 0.5 ms are 30 TB a second, nine times an H100's 3.35."""
    [found] = read_foreign("llama-batched-bench", written(tmp_path, 0.0005, 0.01), GIVEN)
    assert found.model.architecture["num_hidden_layers"] == 32
    with pytest.raises(CurveRefused, match="24 of 24 points are above the device's peak; impossible: decode batch 1, "):
        with_curve(found)


def test_steps_below_it_do_and_nothing_is_left_unchecked(tmp_path: Path) -> None:
    [found] = read_foreign("llama-batched-bench", written(tmp_path, 0.0065), GIVEN)
    fit = with_curve(found).fit
    assert fit is not None
    assert not any("peak" in note for note in fit.notes)


@pytest.mark.parametrize(("given", "said"), [
    ({"model": "another"}, "not checked against the device's peak: the shape of another is not known"),
    ({"gpu": "B7"}, "not checked against the device's peak: that of B7 is not known"),
    ({"dtype": "q4_k_m"}, "not checked against the device's peak of operations: that of H100 in q4_k_m is not known"),
])  # fmt: skip
def test_of_another_model_gpu_or_dtype_it_is_said_what_was_not_checked(
    given: dict[str, str], said: str, tmp_path: Path
) -> None:
    [found] = read_foreign("llama-batched-bench", written(tmp_path, 0.0065), replace(GIVEN, **given))
    fit = with_curve(found).fit
    assert fit is not None
    assert said in fit.notes


@pytest.mark.parametrize("field", ["pl", "pp", "tg", "n_batch"])
def test_half_a_sequence_or_token_is_refused_by_its_line(field: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(json.dumps(one) for one in (line(1, 128, 0.01), line(2, 128, 0.01) | {field: 2.5})))
    with pytest.raises(CurveRefused, match=f"line 2 {field}=2.5: a whole number is expected"):
        read_foreign("llama-batched-bench", path, GIVEN)
