"""Which errors of a part are a finding, so that the rest of the script still runs? Those that libraries raise for what they can't do."""

from __future__ import annotations

_OF_LIBRARIES: tuple[type[Exception], ...] = (RuntimeError, ValueError, TypeError, AttributeError, OSError)


def crashes() -> tuple[type[Exception], ...]:
    """torch's own are RuntimeErrors, CUDA's and a full memory among them; Triton's (no resources, no compiling) are a class apart."""
    try:
        from triton.errors import TritonError  # noqa: PLC0415 (an optional library)
    except ImportError:
        return _OF_LIBRARIES
    return (*_OF_LIBRARIES, TritonError)


def told(crash: Exception) -> str:
    """Class and message, in one line that can be read."""
    return f"{type(crash).__name__}: {' '.join(str(crash).split())}"[:500]
