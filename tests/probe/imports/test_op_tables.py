"""Do kernel tables compose to curves that hold on batches they have not seen?"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from accounting.selfhosted.curve_json import load_curve
from probe.curve.errors import CurveRefused
from probe.curve.schema import ResultFile
from probe.fit.result import with_curve
from probe.imports.common import Given
from probe.imports.formats import read_foreign
from tests.shared_data import shared


def composed(model: str, device: str) -> ResultFile:
    [found] = read_foreign("op-tables", shared("op-tables") / f"{device}_sxm", Given(model=model))
    return with_curve(found)


@pytest.mark.parametrize("device", ["h200", "h100"])
@pytest.mark.parametrize(
    ("model", "limit"), [("Qwen3-8B", 0.05), ("Llama-3.1-8B", 0.05), ("Qwen3-30B-A3B", 0.09), ("Mixtral-8x7B", 0.09)]
)
def test_a_batch_left_out_is_predicted(model: str, device: str, limit: float) -> None:
    result = composed(model, device)
    assert result.fit is not None
    assert result.fit.errors["leave_one_batch"].mape <= limit
    assert result.fit.errors["leave_one_batch"].n == 74
    curve = load_curve(json.dumps(result.curve))
    assert curve.header.floor
    assert any("floor" in note for note in result.fit.notes)


def test_what_the_tables_do_not_hold_is_refused() -> None:
    with pytest.raises(CurveRefused, match="multi-head latent attention"):
        read_foreign("op-tables", shared("op-tables") / "h200_sxm", Given(model="DeepSeek-V3"))


def linked(tmp_path: Path, table: str, written: bytes | None = None, without: str | None = None) -> Path:
    """The tables of an H200, one of them of other bytes, or without a column."""
    for path in shared("op-tables").glob("h200_sxm_*_perf.parquet"):
        other = tmp_path / path.name
        if path.name != f"h200_sxm_{table}_perf.parquet":
            other.symlink_to(path)
        elif without is None:
            other.write_bytes(path.read_bytes()[:5000] if written is None else written)
        else:
            pq.write_table(pq.read_table(path).drop_columns([without]), other)
    return tmp_path / "h200_sxm"


@pytest.mark.parametrize("written", [b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", b"", None])
def test_a_table_that_is_none_or_not_whole_is_refused_by_its_file(written: bytes | None, tmp_path: Path) -> None:
    """A pointer of Git LFS in its place, nothing, or its first 5,000 bytes."""
    with pytest.raises(CurveRefused, match=r"file='.*h200_sxm_gemm_perf\.parquet': no Parquet table"):
        read_foreign("op-tables", linked(tmp_path, "gemm", written), Given(model="Qwen3-8B"))


@pytest.mark.parametrize(("table", "column"), [
    ("generation_attention", "window_size"), ("context_attention", "isl"), ("gemm", "latency"),
])  # fmt: skip
def test_tables_of_another_version_are_refused_by_the_columns_that_they_lack(
    table: str, column: str, tmp_path: Path
) -> None:
    with pytest.raises(CurveRefused, match=rf"columns=\['{column}'\]: h200_sxm_{table}_perf\.parquet lacks them"):
        read_foreign("op-tables", linked(tmp_path, table, without=column), Given(model="Qwen3-8B"))


def test_a_floor_is_held_to_what_its_gpu_can_do() -> None:
    """An H200 reads 4.8 TB and computes 989 T of 16-bit operations a second."""
    device = composed("Qwen3-8B", "h200").device
    assert (device.peak_bytes_per_second, device.peak_flops) == (4.8e12, 989e12)


def test_a_floor_of_eight_bits_is_of_quantised_weights_and_cache() -> None:
    [found] = read_foreign("op-tables", shared("op-tables") / "h200_sxm", Given(model="Qwen3-8B", dtype="fp8"))
    assert (found.model.quantization, found.engine.kv_cache_dtype) == ("fp8", "fp8")


def test_the_composed_step_is_the_sum_of_its_kernels() -> None:
    """Qwen3-8B on H200, batch 1 at 2,048: 36 layers of QKV, O, gate, up, down and attention, then the head scaled from 65,536."""
    result = composed("Qwen3-8B", "h200")
    [step] = [p for p in result.points if p.kind == "decode" and p.batch == 1 and p.context_sum == 2048]
    assert step.seconds == pytest.approx(0.00501, rel=0.02)


@pytest.mark.parametrize("dtype", ["bf16", "fp8"])
def test_tables_a_hundred_times_too_fast_are_refused_as_impossible(dtype: str, tmp_path: Path) -> None:
    """Seconds divided by 100, as where milliseconds were taken for another unit: no point is left below the H200's peak."""
    for path in shared("op-tables").glob("h200_sxm_*_perf.parquet"):
        found = pq.read_table(path)
        latency = pc.divide(found["latency"], 100.0)
        pq.write_table(found.set_column(found.column_names.index("latency"), "latency", latency), tmp_path / path.name)
    [floor] = read_foreign("op-tables", tmp_path / "h200_sxm", Given(model="Qwen3-8B", dtype=dtype))
    with pytest.raises(CurveRefused, match="87 of 87 points are above the device's peak; impossible: decode batch 1,"):
        with_curve(floor)


@pytest.mark.parametrize("device", ["h200", "h100"])
@pytest.mark.parametrize("model", ["Qwen3-8B", "Mixtral-8x7B"])
def test_real_tables_of_eight_bits_are_below_their_peak(model: str, device: str) -> None:
    given = Given(model=model, dtype="fp8")
    [floor] = read_foreign("op-tables", shared("op-tables") / f"{device}_sxm", given)
    assert floor.device.peak_flops == 1979e12
    found = with_curve(floor).fit
    assert found is not None
    assert not any("impossible" in note or "not checked" in note for note in found.notes)
