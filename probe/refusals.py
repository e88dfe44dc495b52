"""How does a command that needs the extra `probe` refuse? In one line on stderr."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from probe.engine.errors import ProbeError


@contextmanager
def refusals() -> Iterator[None]:
    """What is refused inside, and a package that is missing, become click's own error."""
    try:
        yield
    except ImportError as missing:
        raise click.ClickException(f"{missing.name} isn't installed; pip install 'tokencogs[probe]'") from missing
    except (ProbeError, ValueError) as refused:
        raise click.ClickException(" ".join(str(refused).split())) from refused
