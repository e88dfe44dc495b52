"""How does a Python function become machine code, kept on disk where that is possible?

Numba compiles a kernel anew only when the kernel's own file has changed. So a kernel calls nothing outside its file and takes
every constant of other files as an argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numba
from numba import types

Args = ParamSpec("Args")
Result = TypeVar("Result")

_OPTIONS = {"nogil": True, "error_model": "numpy"}


def compiled(*signature: object) -> Callable[[Callable[Args, Result]], Callable[Args, Result]]:
    """Compiles for arguments of exactly these types; the result's type is inferred."""

    def apply(function: Callable[Args, Result]) -> Callable[Args, Result]:
        made: Callable[Args, Result]
        try:
            made = numba.njit(signature, cache=True, **_OPTIONS)(function)
        except (RuntimeError, OSError):  # No folder for the cache can be written: compile for this process alone.
            made = numba.njit(signature, **_OPTIONS)(function)
        return made

    return apply


def step(function: Callable[Args, Result]) -> Callable[Args, Result]:
    """A part of the kernels of its own file, compiled with each of them for the arguments that it gets there."""
    made: Callable[Args, Result] = numba.njit(**_OPTIONS)(function)
    return made


def column(kind: object) -> object:
    """Type of a contiguous array that is only read, which a writable one may stand for."""
    return types.Array(kind, 1, "C", readonly=True)


def words() -> object:
    """Type of overlapping 8-byte words, one from each byte on."""
    return types.Array(types.uint64, 1, "A", readonly=True, aligned=False)
