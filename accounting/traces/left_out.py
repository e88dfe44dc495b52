"""Which rows of a trace were not booked, and why? JSON Lines beside the trace."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from accounting.errors import ConfigurationError

_ENCODER = msgspec.json.Encoder()


def append(path: Path, kept: int, findings: Sequence[dict[str, object]]) -> int:
    """Writes findings after the first `kept` bytes of the file, dropping what an interrupted import left behind them.

    Returns the file's new size; without findings the file stays as it is. Raises ConfigurationError where it can't be written.
    """
    if not findings:
        return kept
    try:
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b") as file:
            file.truncate(min(kept, file.seek(0, os.SEEK_END)))
            file.seek(0, os.SEEK_END)
            file.write(_ENCODER.encode_lines(findings))
            return file.tell()
    except OSError as error:
        raise ConfigurationError(f"rows left out can't be written to {str(path)!r}: {error.strerror}") from error
