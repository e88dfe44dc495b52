"""Which rows does a CSV file have whose heading must be right?"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator
from pathlib import Path

from accounting.errors import InvalidInput


def csv_rows(path: Path, required: Collection[str], optional: Collection[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Line number and cells of each row; absent cells are empty, cells beyond the heading stand under "".

    Raises InvalidInput for a heading that lacks a required column or has one that is unknown or there twice, and for a file that is
    no UTF-8 CSV.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, restkey="", restval="")
            _check(path, list(reader.fieldnames or ()), required, optional)
            for cells in reader:
                yield reader.line_num, cells
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput("file", str(path), f"is no UTF-8 CSV: {error}") from error


def _check(path: Path, heading: list[str], required: Collection[str], optional: Collection[str]) -> None:
    for name in required:
        if name not in heading:
            raise InvalidInput("file", str(path), f"has no column {name}")
    for name in heading:
        if name not in (*required, *optional) or heading.count(name) > 1:
            raise InvalidInput("file", str(path), f"column {name!r} is unknown or there twice")
