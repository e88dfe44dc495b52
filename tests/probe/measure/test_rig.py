"""Is a sweep's engine made as the server's is, and refused by the option that its device has no use for?"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner

from probe.cli import probe
from probe.curve.schema import DeviceInfo, EngineInfo, ModelInfo, Point, ResultFile, Run
from probe.engine.errors import ProbeError
from probe.measure import rig as rigs
from probe.measure.drift import Again, measure_again
from probe.measure.errors import MeasureRefused
from probe.measure.rig import Rig, options_of, rig_of
from probe.server.build import on_device
from tests.probe.measure.rigs import folder, rig


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cuda-graphs"], "cuda_graphs: True, and the device is cpu"),
        (["--gpu-memory-utilization", "0.5"], "gpu_memory_utilization: 0.5, and the device is cpu"),
        (["--gpu-memory-utilization", "nan"], "gpu_memory_utilization: nan is not in (0, 1]"),
    ],
)
def test_what_only_a_gpu_has_is_refused_on_a_cpu(words: list[str], said: str, tmp_path: Path) -> None:
    given = ["--model", str(folder(tmp_path / "small")), "--device", "cpu", "--out", str(tmp_path / "curve.json")]
    done = CliRunner().invoke(probe, ["run", *given, *words])
    assert (done.exit_code, said in done.output) == (1, True)


def test_what_a_gpu_was_told_is_in_the_file(tmp_path: Path) -> None:
    told: dict[str, Any] = {"device": "cuda", "cuda_graphs": True, "kv_cache_memory_bytes": None}
    made = rig(tmp_path)
    given, _ = on_device(replace(made.options, **told))
    kept = options_of(Rig(made.engine, given, 1))
    assert (kept["gpu_memory_utilization"], kept["cuda_graphs"], kept["kv_cache_memory_bytes"]) == (0.9, True, None)


def test_steps_of_a_sweep_are_recorded_where_graphs_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a CPU taken for a GPU the rig comes as far as the recording, which wants the Triton backend."""
    monkeypatch.setattr(rigs, "on_device", lambda given: (given, torch.device("cpu")))
    with pytest.raises(ProbeError, match="cuda_graphs: needs the Triton backend, got TorchPagedAttention"):
        rig(tmp_path, cuda_graphs=True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"block_size": "x"}, "engine.options.block_size='x': Expected `int`"),
        ({"dtype": "float7"}, "engine.options.dtype='float7': dtype: 'float7' is none of bfloat16, float32"),
        ({"policy": "sideways"}, "engine.options.policy='sideways'"),
        ({"threads": -1}, "engine.options.threads=-1"),
    ],
)
def test_an_odd_option_of_a_file_is_refused_by_name(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(MeasureRefused, match=re.escape(said)):
        rig_of(options_of(rig(tmp_path)) | change)


def test_a_point_that_no_cache_holds_is_refused_before_it_is_laid(tmp_path: Path) -> None:
    points = [Point(kind="decode", seconds=1.0, batch=1, context_sum=10**9)]
    file = result_of(points)
    with pytest.raises(MeasureRefused, match=r"points='decode 1x1e\+09': the engine of this file can't hold it"):
        measure_again(file, rig(tmp_path), Again(pace_share=0))


def result_of(points: list[Point]) -> ResultFile:
    run, model = Run(measured_at="2026-11-01", via="in_process"), ModelInfo(name="m")
    engine, device = EngineInfo(name="e"), DeviceInfo(gpu="g")
    return ResultFile(version=1, result_id="r", run=run, model=model, engine=engine, device=device, points=points)


def test_a_file_of_a_cpu_that_names_a_share_beside_its_bytes_is_built_again(tmp_path: Path) -> None:
    kept = options_of(rig(tmp_path)) | {"gpu_memory_utilization": 0.9}
    assert rig_of(kept).options.kv_cache_memory_bytes == 1 << 20


def test_what_can_not_be_replayed_or_never_ends_is_refused_before_a_sweep(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text("[[0, 5, 5]]")
    given = [
        "run",
        "--model",
        str(folder(tmp_path / "small")),
        "--device",
        "cpu",
        "--out",
        str(tmp_path / "curve.json"),
    ]
    endless = CliRunner().invoke(probe, [*given, "--budget", "nan"])
    assert (endless.exit_code, "nan is not a finite number" in endless.output) == (2, True)
    short = CliRunner().invoke(probe, [*given, "--replay-list", str(tmp_path / "list.json")])
    assert (short.exit_code, "replay_list=1: at least two arrivals" in short.output) == (1, True)
    assert not list(tmp_path.glob("*.jsonl*"))
