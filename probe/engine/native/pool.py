"""How do compiled kernels run on torch's own threads? By libgomp's entry point, with the address of a kernel and of its numbers.

Threads of another pool would wait for a processor on which torch's spin between two products. A kernel is a C function of one
argument, an array of int64 (addresses, sizes, strides in bytes), which every thread of the pool is given; it asks for its number.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

MOST_ROWS = 16
"""Of a product: with more tokens it is bound by arithmetic, which oneDNN does better."""
ALONE = 8
"""Tokens whose small operations one thread does sooner than a second one is told."""

_MOST_NUMBERS = 24


@cache
def available() -> bool:
    """Whether numba is installed and torch's threads are libgomp's, as in its Linux wheels."""
    return importlib.util.find_spec("numba") is not None and library() is not None


@cache
def library() -> ctypes.CDLL | None:
    """The libgomp that torch brought and uses; None where it has another thread pool."""
    path = Path(torch.__file__).parent / "lib" / "libgomp.so.1"
    return ctypes.CDLL(str(path)) if path.exists() else None


def takes(x: Tensor) -> bool:
    """Whether tokens [T, ...] are for the kernels: bf16, on a CPU."""
    return x.dtype == torch.bfloat16 and x.device.type == "cpu" and available()


class Kernel:
    """A kernel and the array of its numbers. `make` compiles it, at the first call, to an address."""

    def __init__(self, make: Callable[[], int]) -> None:
        self._make = make
        self._numbers = (ctypes.c_int64 * _MOST_NUMBERS)()
        self._calls: tuple[Callable[[], object], Callable[[], object]] | None = None

    def __call__(self, *numbers: int, alone: bool = False) -> None:
        """On all threads of torch, or `alone` on this one. Addresses must stay valid until the return, which is after the last thread's."""
        self._numbers[: len(numbers)] = list(numbers)
        calls = self._calls or self._made()
        calls[alone]()

    def _made(self) -> tuple[Callable[[], object], Callable[[], object]]:
        address, numbers, threads = self._make(), ctypes.addressof(self._numbers), library()
        assert threads is not None
        parallel, single = threads.GOMP_parallel, ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)
        parallel.argtypes, parallel.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint], None
        most = os.cpu_count() or 1
        self._calls = (
            lambda: parallel(address, numbers, min(torch.get_num_threads(), most), 0),
            lambda: single(numbers),
        )
        return self._calls


@cache
def scratch(bytes_a_thread: int) -> Tensor:
    """Room of so many bytes for each thread, kept."""
    return torch.empty((os.cpu_count() or 1) * bytes_a_thread, dtype=torch.uint8)
