"""How do tests run the probe's own server as its users do? As a process of its own, on a port that it chose."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SAYS = re.compile(r"serves (http://\S+)")


@contextmanager
def probe_serve(*options: str, log: Path) -> Iterator[str]:
    """The URL of `tokencogs probe serve` with these options; ended with the block."""
    command = [sys.executable, "-m", "accounting.cli", "probe", "serve", *options, "--port", "0"]
    with log.open("wb") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if found := _SAYS.search(line):
                    yield found[1]
                    break
            else:
                raise AssertionError(f"the server ended before it began:\n{log.read_text()[-3000:]}")
        finally:
            process.terminate()
            process.wait(30)
            process.stdout.close()
