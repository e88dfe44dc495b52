"""How do compiled kernels run on torch's own threads? By libgomp's entry point, with the address of a kernel and of its numbers.

Threads of another pool would wait for a processor on which torch's spin between two products. A kernel is a C function of one
argument, an array of int64 (addresses, sizes, strides in bytes), which every thread of the pool is given; it asks for its number.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import threading
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path

import torch
from torch import Tensor

ROWS, PANELS, COLUMNS = 6, 4, 16
"""Of a tile its rows and panels, of a panel its columns (tile.py)."""
KEYS = PANELS * COLUMNS
"""Of a tile of scores. Sums begin at a multiple of it, so that they have one order for every token that sees a key."""
CHUNK = 24
"""New tokens of a sequence that one thread takes at a time; it asks for more when it is done."""
FACTS = 5
"""Numbers that the kernel for several new tokens is given of each sequence."""
PROCESSORS = os.cpu_count() or 1
"""Asked once: the answer is a file of the system's, and took a twentieth of a step that asked before each product."""
ALONE = 8
"""Tokens whose small operations one thread does sooner than a second one is told."""


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
    """A function of a module of this folder, compiled at its first call."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name
        self._calls: tuple[Callable[[object], object], Callable[[object], object]] | None = None

    def __call__(self, *numbers: int, alone: bool = False) -> None:
        """On all threads of torch, or `alone` on this one. Addresses must stay valid until the return, which is after the last thread's.

        Each call has numbers of its own: the interpreter's lock is free meanwhile, and another engine may call the same kernel.
        """
        calls = self._calls or self._made()
        calls[alone]((ctypes.c_int64 * len(numbers))(*numbers))

    def compile(self) -> None:
        """Now, not at the first call."""
        if self._calls is None:
            self._made()

    def _made(self) -> tuple[Callable[[object], object], Callable[[object], object]]:
        # Imported when first needed: numba is slow to import, and not needed for what torch does.
        lanes, kernels = (import_module(f"{__package__}.{name}") for name in ("lanes", self._module))
        address, threads = lanes.compiled(getattr(kernels, self._name)), library()
        assert threads is not None
        parallel, single = threads.GOMP_parallel, ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)
        parallel.argtypes, parallel.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint], None
        self._calls = (
            lambda numbers: parallel(address, numbers, min(torch.get_num_threads(), PROCESSORS), 0),
            single,
        )
        return self._calls


class _Room(threading.local):
    held: Tensor | None = None


_room = _Room()


def scratch(bytes_a_thread: int) -> Tensor:
    """At least so many bytes for each of torch's threads; the calling thread's own, kept until larger ones are asked for."""
    size = PROCESSORS * bytes_a_thread
    if _room.held is None or len(_room.held) < size:
        _room.held = torch.empty(2 * size, dtype=torch.uint8)
    return _room.held
