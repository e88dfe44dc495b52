"""How are the wanted columns of a CSV trace read, row by row?"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any, BinaryIO

from accounting.errors import InvalidInput


class Table:
    """A CSV file with a header line.

    Attributes:
        columns: the wanted ones; others are passed over.
        rows: fields of each row, as written; empty lines are left out.
    """

    def __init__(self, file: BinaryIO, source: str, columns: Sequence[str]) -> None:
        """Raises InvalidInput for a file without these columns."""
        self.columns = columns
        self.rows = _rows(file)
        self._header = next(self.rows, [])
        missing = [name for name in columns if name not in self._header]
        if missing:
            raise InvalidInput(
                "file",
                ",".join(self._header)[:100],
                f"has not the columns of a {source} trace: {', '.join(missing)} missing",
            )
        self._pick: Callable[[list[str]], Any] = itemgetter(*(self._header.index(name) for name in columns))

    def pick(self, row: list[str]) -> dict[str, str]:
        """Wanted fields of a row by name. Raises InvalidInput where the row has more or fewer fields than the header."""
        if len(row) != len(self._header):
            raise InvalidInput("row", None, f"has {len(row)} fields where the header has {len(self._header)}")
        return dict(zip(self.columns, self._pick(row), strict=True))


def _rows(file: BinaryIO) -> Iterator[list[str]]:
    text = io.TextIOWrapper(file, "utf-8-sig", newline="")
    try:
        yield from filter(None, csv.reader(text))
    except (csv.Error, UnicodeDecodeError) as error:
        raise InvalidInput("file", None, f"is no CSV text: {error}") from error
    finally:
        # The file belongs to the caller; a collected wrapper would close it.
        text.detach()
