"""Does the script for the GPU run, at small scale, where there is none?"""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")

from probe import gpu_check  # noqa: E402
from probe.engine import graphs  # noqa: E402
from probe.engine.attention.dense import DenseAttention  # noqa: E402
from probe.gpu.correctness import check_attention  # noqa: E402
from probe.gpu.decode_grid import measure_grid, streamed_bytes  # noqa: E402

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def model() -> object:
    config = gpu_check.parse_config(gpu_check.PRESETS["Qwen3-8B"] | gpu_check.TINY)
    return gpu_check._model(config, CPU, torch.float32)


def test_the_whole_script_runs_and_finds_nothing_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu_check.main(["--device", "cpu", "--tiny", "--batches", "1,2", "--contexts", "16"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [(row["batch"], row["ctx"], row["way"], row["steps"]) for row in result["decode"]] == [
        (1, 16, "launched", 20),
        (2, 16, "launched", 20),
    ]
    assert {finding["backend"] for finding in result["attention"] if finding.get("ok")} >= {"dense", "torch"}
    assert all("attention_backend: 'flashinfer'" in finding["refused"] for finding in result["flashinfer"])
    assert [finding.get("ok", "refused" in finding) for finding in result["graphs"]] == [True]
    assert {finding["weights"] for finding in result["linears"] if finding.get("ok")} >= {
        "none",
        "int8",
        "int4",
        "w8a8",
    }


def test_a_wrong_backend_is_found() -> None:
    class Unmasked(DenseAttention):
        def attend(self, query, cache, group, spec, sinks):  # type: ignore[no-untyped-def]
            return super().attend(query, cache, group, spec, sinks) * 1.2

    findings = check_attention({"wrong": Unmasked}, CPU, torch.float32, small=True)
    assert [finding["ok"] for finding in findings] == [False] * 8


def test_a_backend_that_crashes_is_a_finding_and_the_next_one_is_checked() -> None:
    class Crashing(DenseAttention):
        def attend(self, query, cache, group, spec, sinks):  # type: ignore[no-untyped-def]
            raise RuntimeError("CUDA error:\n  an illegal memory access")

    findings = check_attention({"crashing": Crashing, "dense": DenseAttention}, CPU, torch.float32, small=True)
    assert [finding["ok"] for finding in findings] == [False, True] * 8
    assert findings[0]["crashed"] == "RuntimeError: CUDA error: an illegal memory access"


def test_a_cell_that_crashes_is_a_row(model: object) -> None:
    def crashing(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    [row] = measure_grid(model, {"graphs": crashing}, [1], [16], kv_budget=1 << 20, deadline=float("inf"))  # type: ignore[arg-type]
    assert row == {
        "batch": 1, "ctx": 16, "way": "graphs", "crashed": "OutOfMemoryError: CUDA out of memory", "ok": False
    }  # fmt: skip
    assert gpu_check._beside(row, 1.0, None) == {}


def test_a_graph_whose_inputs_stay_behind_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton", reason="the Triton kernels need the extra `gpu`")
    monkeypatch.setattr(graphs, "_fill", lambda *_: None)
    assert gpu_check._replay(CPU, torch.float32)["ok"] is False


def test_weights_streamed_leave_out_the_input_embedding(model: object) -> None:
    """2 layers of q 64x64, k and v 16x64, o 64x64, 3 x 192x64, 2 norms of 64 and 2 of 16; a norm; the head 512x64; 4 bytes."""
    layer = 2 * 64 * 64 + 2 * 16 * 64 + 3 * 192 * 64 + 2 * 64 + 2 * 16
    assert streamed_bytes(model) == 4 * (2 * layer + 64 + 512 * 64)  # type: ignore[arg-type]


def test_cells_that_do_not_fit_or_come_too_late_say_so(model: object) -> None:
    """A token takes 2 layers x 2 x 16 x 4 = 256 bytes; 16 tokens and the new one fill two blocks: 8,192 bytes a sequence."""
    ways = {"launched": model.forward}  # type: ignore[attr-defined]
    rows = measure_grid(model, ways, [1, 2], [16], kv_budget=8192, deadline=-1.0)  # type: ignore[arg-type]
    assert rows == [
        {"batch": 1, "ctx": 16, "way": "launched", "left_out": "no time left"},
        {"batch": 2, "ctx": 16, "left_out": "needs 16384 bytes of KV, 8192 are there"},
    ]


def test_a_row_stands_beside_copy_and_floor() -> None:
    row = {"batch": 8, "ctx": 2048, "achieved_gb_s": 2000.0, "step_ms_median": 11.13}
    beside = gpu_check._beside(row, 4000.0, (4.93, 0.01, 4e-5))
    assert beside["of_copy"] == 0.5
    assert beside["floor_ms"] == pytest.approx(4.93 + 0.08 + 0.65536)
    assert beside["of_floor"] == pytest.approx(11.13 / 5.66536)
