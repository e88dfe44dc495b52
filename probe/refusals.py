"""How does a command that needs the extra `probe` refuse? In one line on stderr."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from probe.engine.errors import ProbeError


class Finite(click.FloatRange):
    """Numbers of a range; neither nan nor inf, which are no number of anything."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return found


def writable(option: str, path: Path | None) -> None:
    """Refuses a file that can't be written, before anything is worked out for it; None is no file."""
    if path is None:
        return
    if not path.parent.is_dir():
        raise click.ClickException(f"{option}={str(path)!r}: its folder isn't there")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise click.ClickException(f"{option}={str(path)!r}: can't be written")


@contextmanager
def refusals() -> Iterator[None]:
    """What is refused inside, and a package that is missing, become click's own error."""
    try:
        yield
    except ImportError as missing:
        raise click.ClickException(f"{missing.name} isn't installed; pip install 'tokencogs[probe]'") from missing
    except (ProbeError, ValueError) as refused:
        raise click.ClickException(" ".join(str(refused).split())) from refused
