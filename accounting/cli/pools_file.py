"""How is a file of costs or prices read as text, and how are its rows named that can't be used?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from accounting.errors import InvalidInput

_SHOWN = 10


def text_of(file: Path) -> str:
    """The text of a CSV file. Raises InvalidInput where it is no UTF-8."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput("file", file.name, "is no UTF-8 text") from error


def name_rejected(rejected: Sequence[Mapping[str, Any]]) -> None:
    """Names the first rows of a file that can't be used, and says how many more there are."""
    for one in rejected[:_SHOWN]:
        click.echo(f"line {one['line']}: {one['field']}={one['value']!r}: {one['reason']}", err=True)
    if len(rejected) > _SHOWN:
        click.echo(f"and {len(rejected) - _SHOWN} more lines rejected", err=True)
