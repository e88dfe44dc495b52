"""Against which ceilings is a device held?"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the engine's tests need the extra `probe`")

from probe.curve.peaks import nominal_bandwidth, nominal_flops  # noqa: E402
from probe.measure import ceilings  # noqa: E402
from probe.measure.ceilings import Measured, measure_ceilings  # noqa: E402


def test_bytes_are_those_read_and_operations_two_a_product(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two MiB in half a second; 8 x 8 x 8 products, 1,024 operations, in half a second."""
    monkeypatch.setattr(ceilings, "_best", lambda *_: 0.5)
    found = measure_ceilings(torch.device("cpu"), torch.float32, megabytes=2, width=8)
    assert found == Measured(measured_bytes_per_second=4 * 2**20, measured_flops=2048.0)


@pytest.mark.parametrize("better", [0, 1])
def test_the_better_of_torch_and_the_engine_s_own_product_counts(monkeypatch: pytest.MonkeyPatch, better: int) -> None:
    """A quarter of a second for one of them and a whole one for the other: 2 MiB are read at 8 MiB a second, 1,024 operations at 4,096."""
    took = iter([0.25, 1.0][:: 1 - 2 * better] * 2)
    monkeypatch.setattr(ceilings, "_best", lambda *_: next(took))
    found = measure_ceilings(torch.device("cpu"), torch.float32, megabytes=2, width=8)
    assert found == Measured(measured_bytes_per_second=8 * 2**20, measured_flops=4096.0)


@pytest.mark.parametrize(("name", "peaks"), [
    ("NVIDIA H200", (4.8e12, 989e12)),
    ("NVIDIA H200 NVL", (4.8e12, 835e12)),
    ("NVIDIA GH200 480GB", None),
    ("NVIDIA H100 80GB HBM3", (3.35e12, 989e12)),
    ("NVIDIA H100 PCIe", (2.0e12, 756e12)),
    ("NVIDIA H100 NVL", (3.9e12, 835e12)),
    ("NVIDIA A100-SXM4-80GB", (2.039e12, 312e12)),
    ("NVIDIA A100 80GB PCIe", (1.935e12, 312e12)),
    ("NVIDIA A100-SXM4-40GB", (1.555e12, 312e12)),
    ("NVIDIA L40S", (0.864e12, 362e12)),
    ("NVIDIA L4", None),
])  # fmt: skip
def test_a_device_has_the_peaks_of_its_own_data_sheet(name: str, peaks: tuple[float, float] | None) -> None:
    assert (nominal_bandwidth(name), nominal_flops(name, "bfloat16")) == (peaks or (None, None))
    assert nominal_flops(name, "float32") is None


@pytest.mark.parametrize(("name", "dtype", "flops"), [
    ("H200", "bf16", 989e12),
    ("h100", "fp16", 989e12),
    ("NVIDIA H100 80GB HBM3", "fp8", 1979e12),
    ("h200_sxm", "fp8_e4m3", 1979e12),
    ("NVIDIA L40S", "fp8", 733e12),
    ("NVIDIA H100 PCIe", "fp8", None),
    ("A100_80GB_PCIe", "bfloat16", 312e12),
    ("H200", "int4", None),
    ("H200", None, None),
])  # fmt: skip
def test_operations_go_by_the_kind_of_numbers_whatever_it_is_called(
    name: str, dtype: str | None, flops: float | None
) -> None:
    assert nominal_flops(name, dtype) == flops


@pytest.mark.parametrize(("name", "bandwidth"), [
    ("h200", 4.8e12), ("A100_80GB_PCIe", 1.935e12), ("a100", 2.039e12), ("NVIDIA A100-PCIE-40GB", 1.555e12),
])  # fmt: skip
def test_a_gpu_is_known_by_other_tools_names_too(name: str, bandwidth: float) -> None:
    assert nominal_bandwidth(name) == bandwidth
