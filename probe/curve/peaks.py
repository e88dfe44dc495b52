"""How many bytes and operations a second does a GPU of this name reach at most, by its maker?"""

from __future__ import annotations

# Nominal bytes a second and dense bf16 operations a second of one device, from the makers' data sheets (without sparsity).
_PEAKS = {
    "H200 NVL": (4.8e12, 835e12),
    "H200": (4.8e12, 989e12),
    "H100 PCIe": (2.0e12, 756e12),
    "H100 NVL": (3.9e12, 835e12),
    "H100": (3.35e12, 989e12),
    "A100-SXM4-80GB": (2.039e12, 312e12),
    "A100 80GB PCIe": (1.935e12, 312e12),
    "A100": (1.555e12, 312e12),
    "L40S": (0.864e12, 362e12),
}


def nominal_peaks(name: str, dtype: str) -> tuple[float, float] | None:
    """(bytes, operations) a second of a GPU by its name; None where it isn't known. float32 has no peak here: kernels may use TF32."""
    if dtype not in ("bfloat16", "float16"):
        return None
    return next((peaks for part, peaks in _PEAKS.items() if f" {part}" in f" {name}"), None)  # no GH200 is an H200
