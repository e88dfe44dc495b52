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

MOST_ROWS = 4
"""Of a product: with more tokens it is bound by arithmetic, which oneDNN does better."""
MOST_TOKENS = 64
"""Of what one thread does to each token: with more, torch's two threads are faster."""

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


def takes(x: Tensor, most: int = MOST_TOKENS) -> bool:
    """Whether tokens [T, ...] are for the kernels: few of them, bf16, on a CPU."""
    return len(x) <= most and x.dtype == torch.bfloat16 and x.device.type == "cpu" and available()


class Kernel:
    """A kernel and the array of its numbers. `make`: compiles it, at the first call, to an address; `shared`: by all threads of torch."""

    def __init__(self, make: Callable[[], int], shared: bool = True) -> None:
        self._make, self._shared = make, shared
        self._numbers = (ctypes.c_int64 * _MOST_NUMBERS)()
        self._call: Callable[[], object] | None = None

    def __call__(self, *numbers: int) -> None:
        """Addresses must stay valid until the return, which is after the last thread's end."""
        self._numbers[: len(numbers)] = list(numbers)
        call = self._call or self._made()
        call()

    def _made(self) -> Callable[[], object]:
        address, numbers = self._make(), ctypes.addressof(self._numbers)
        if self._shared:
            threads = library()
            assert threads is not None
            parallel = threads.GOMP_parallel
            parallel.argtypes, parallel.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint], None
            self._call = lambda: parallel(address, numbers, min(torch.get_num_threads(), os.cpu_count() or 1), 0)
        else:
            alone = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)
            self._call = lambda: alone(numbers)
        return self._call


@cache
def scratch(bytes_a_thread: int) -> Tensor:
    """Room of so many bytes for each thread, kept."""
    return torch.empty((os.cpu_count() or 1) * bytes_a_thread, dtype=torch.uint8)
