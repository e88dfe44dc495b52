"""How many bytes and operations a second does a GPU of this name reach at most, by its maker?"""

from __future__ import annotations

import re

# Nominal bytes and dense 16-bit operations a second of one device, from the makers' data sheets (without sparsity). The first whose words
# all stand in the name is the one; a name that leaves the kind open is held to the most of its kinds.
_PEAKS = {
    "H200 NVL": (4.8e12, 835e12),
    "H200": (4.8e12, 989e12),
    "H100 PCIe": (2.0e12, 756e12),
    "H100 NVL": (3.9e12, 835e12),
    "H100": (3.35e12, 989e12),
    "A100 40GB": (1.555e12, 312e12),
    "A100 PCIe": (1.935e12, 312e12),
    "A100": (2.039e12, 312e12),
    "L40S": (0.864e12, 362e12),
}
# Dense 8-bit floating point operations a second, from the same sheets (half of what they state with sparsity). Others: not known here.
_FP8 = {"H200": 1979e12, "H100": 1979e12, "L40S": 733e12}
_SIXTEEN = ("bfloat16", "bf16", "float16", "fp16", "half")
_EIGHT = ("fp8", "fp8_block", "fp8_e4m3", "fp8_e5m2", "float8_e4m3fn", "float8_e5m2")


def nominal_bandwidth(name: str) -> float | None:
    """Bytes a second of a GPU by its name; None where it isn't known."""
    kind = _kind(name)
    return None if kind is None else _PEAKS[kind][0]


def nominal_flops(name: str, dtype: str | None) -> float | None:
    """Operations a second of a GPU on numbers of this kind; None where they aren't known. float32 has no peak here: kernels may
    use TF32."""
    kind, wanted = _kind(name), (dtype or "").lower()
    if kind is None:
        return None
    if wanted in _SIXTEEN:
        return _PEAKS[kind][1]
    return _FP8.get(kind) if wanted in _EIGHT else None


def _kind(name: str) -> str | None:
    """What stands in `_PEAKS` of a name; h200_sxm is an H200, and no GH200."""
    words = set(re.split(r"[\s_\-]+", name.lower()))
    return next((kind for kind in _PEAKS if words >= set(kind.lower().split())), None)
