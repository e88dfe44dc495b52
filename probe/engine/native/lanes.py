"""Which vectors do the kernels compute with? Sixteen float32 in a register, thirty-two bf16 in another; memory is an address.

LLVM's own vectors: a processor without AVX512-bf16 gets the same sums from more instructions.
"""

from __future__ import annotations

import ctypes
from typing import Any

import llvmlite.binding as llvm
import numba
from numba import types
from numba.extending import intrinsic as numba_intrinsic
from numba.extending import models, register_model

from probe.engine.native.emit import F16X, I16X
from probe.engine.native.pool import library

BYTES = 64
"""Of a register."""

OPTIONS: dict[str, Any] = {"error_model": "numpy", "boundscheck": False, "nogil": True}


class Lanes(types.Type):  # type: ignore[misc]
    """Sixteen float32."""


class Pairs(types.Type):  # type: ignore[misc]
    """Thirty-two bf16, held as sixteen words of two."""


lanes, pairs = Lanes("Lanes"), Pairs("Pairs")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, F16X)


@register_model(Pairs)
class _PairsModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, I16X)


def jit(function: Any) -> Any:
    """A part of a kernel."""
    return numba.njit(**OPTIONS)(function)


def intrinsic(function: Any) -> Any:
    """What stands for LLVM's own instructions."""
    return numba_intrinsic(function)


def compiled(kernel: Any) -> int:
    """The address of a kernel as a C function of one pointer to int64. The object is kept for the life of the process."""
    made = numba.cfunc(types.void(types.CPointer(types.int64)), **OPTIONS)(kernel)
    _KEPT.append(made)
    return int(made.address)


_KEPT: list[Any] = []


def _add_thread_functions() -> None:
    threads = library()
    assert threads is not None
    for name in ("omp_get_thread_num", "omp_get_num_threads"):
        llvm.add_symbol(name, ctypes.cast(getattr(threads, name), ctypes.c_void_p).value)


_add_thread_functions()
thread_number = types.ExternalFunction("omp_get_thread_num", types.int32())
thread_count = types.ExternalFunction("omp_get_num_threads", types.int32())
