"""Do two ceilings explain NVIDIA's published static batches, and does the memory formula find their batches?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from probe.curve.errors import CurveRefused
from probe.imports.common import Given
from probe.imports.formats import read_foreign
from probe.imports.trtllm import ceilings, read_runs
from tests.shared_data import shared


def test_a_row_left_out_is_predicted_within_five_percent_on_average() -> None:
    runs = read_runs(shared("published-throughput/trtllm_static_batch.csv"))
    left_out = [ceilings([run for run in runs if run.gpu == gpu]).left_out for gpu in ("a100_fp16", "h100_fp8")]
    errors = np.abs(np.concatenate(left_out))
    assert errors.size == 13
    assert float(errors.mean()) <= 0.05


def test_fitted_ceilings_stay_below_the_devices_own() -> None:
    """A100 80 GB: 2.04 TB/s and 312 TFLOP/s at FP16; H100: 3.35 TB/s and 1,979 TFLOP/s at FP8."""
    runs = read_runs(shared("published-throughput/trtllm_static_batch.csv"))
    for gpu, bandwidth, operations in (("a100_fp16", 2.04e12, 312e12), ("h100_fp8", 3.35e12, 1979e12)):
        found = ceilings([run for run in runs if run.gpu == gpu])
        assert bandwidth / 2 < found.bytes_per_second < bandwidth
        assert operations / 3 < found.operations_per_second < operations


def test_achievable_batches_are_the_published_ones_where_the_room_was_used() -> None:
    runs = read_runs(shared("published-throughput/trtllm_static_batch.csv"))
    below = [(run.gpu, run.model, run.input_tokens, run.output_tokens) for run in runs if not run.at_capacity]
    assert below == [("h100_fp8", "gpt-j-6b", 2048, 128), ("h100_fp8", "llama-7b", 2048, 128)]
    ratios = [run.achievable_batch / run.batch for run in runs if run.at_capacity]
    assert len(ratios) == 11
    assert min(ratios) >= 0.88
    assert max(ratios) <= 1.35


def test_the_room_of_a_sequence_by_hand() -> None:
    """Llama-7B FP16, 128 + 2,048 tokens: (76e9 - 2 * 6,738,149,376) / (524,288 * 2,176) = 54.8."""
    [run] = [
        r
        for r in read_runs(shared("published-throughput/trtllm_static_batch.csv"))
        if r.batch == 60 and r.model == "llama-7b"
    ]
    assert run.achievable_batch == pytest.approx(54)


def published(tmp_path: Path, gpu: str) -> Path:
    """Four rows of a GPU."""
    rows = ("64,1,128,128,3240", "64,1,128,2048,1622", "32,1,2048,128,581", "16,1,2048,2048,531")
    columns = "gpu,model,batch,tensor_parallel,input_tokens,output_tokens,output_tokens_per_s"
    path = tmp_path / "rows.csv"
    path.write_text("\n".join([columns, *(f"{gpu}_fp8,llama-7b,{row}" for row in rows)]))
    return path


@pytest.mark.parametrize(("gpu", "room"), [("l40s", 36), ("h100", 64), ("H200", 118)])
def test_the_room_is_that_of_the_gpu(gpu: str, room: int, tmp_path: Path) -> None:
    """Llama-7B FP8, 2,048 + 2,048 tokens of 262,144 bytes: (0.95 * 48e9 - 6,738,149,376) / 1,073,741,824 = 36.2
    at 48 GB, 64.5 at 80 and 118.5 at 141."""
    run = read_runs(published(tmp_path, gpu))[3]
    assert run.achievable_batch == room


def test_of_a_gpu_whose_memory_is_not_known_no_room_is_stated(tmp_path: Path) -> None:
    run = read_runs(published(tmp_path, "b7"))[0]
    assert (run.achievable_batch, run.at_capacity) == (None, None)
    [found] = read_foreign("trtllm-tables", published(tmp_path, "b7"), Given())
    assert found.fit is not None
    assert [note.split(" of ")[0] for note in found.fit.notes] == ["two ceilings"]


def test_the_tables_import_as_runs_with_their_ceilings_error_and_room() -> None:
    """13 rows of two GPUs and two models; 512 * 128 tokens at 6,374 a second are 10.28 s."""
    found = read_foreign("trtllm-tables", shared("published-throughput/trtllm_static_batch.csv"), Given())
    assert sum(len(one.served) for one in found) == 13
    first = found[0]
    assert (first.device.gpu, first.model.dtype, first.served[0].concurrency) == ("a100", "fp16", 512)
    assert first.served[0].duration == pytest.approx(10.282, rel=1e-4)
    assert first.fit is not None
    assert first.fit.errors["leave_one_point"].n == 5
    notes = [note for one in found for note in (one.fit.notes if one.fit else [])]
    assert sum(note.endswith("not run at capacity") for note in notes) == 2


def test_published_tokens_a_second_are_kept_to_the_last_digit() -> None:
    results = read_foreign("trtllm-tables", shared("published-throughput/trtllm_static_batch.csv"), Given())
    [gptj] = [one for one in results if one.result_id == "trtllm-gpt-j-6b-a100_fp16"]
    assert [run.output_tokens_per_second for run in gptj.served] == [6374, 670]


@pytest.mark.parametrize("row", ["64.5,1,128,128,3240", "64,1,128.5,128,3240", "64,1,128,128.5,3240"])
def test_half_a_sequence_or_token_is_refused_by_its_line(row: str, tmp_path: Path) -> None:
    path = published(tmp_path, "h100")
    path.write_text(f"{path.read_text()}\nh100_fp8,llama-7b,{row}")
    with pytest.raises(CurveRefused, match=r"line 6 \w+='\d+\.5': a whole number is expected"):
        read_runs(path)
