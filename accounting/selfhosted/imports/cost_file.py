"""How is the text of a biller's file read, by its format?"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator, Mapping

from accounting.errors import InvalidInput
from accounting.selfhosted.imports import focus, own_csv
from accounting.selfhosted.imports.read_costs import ReadCosts

FORMATS = ("csv", "focus")


def read_cost_file(
    text: str, name: str, form: str, resources: Mapping[str, str], cost_column: str = focus.COST_COLUMNS[0]
) -> ReadCosts:
    """Costs of a file. `name`: of the file, for errors; `resources`, `cost_column`: of FOCUS alone.

    Raises InvalidInput for a heading that lacks a column, has one twice, or (own CSV) has one that is unknown.
    """
    if form not in FORMATS:
        raise InvalidInput("format", form, f"one of {', '.join(FORMATS)} is expected")
    if "\x00" in text:
        raise InvalidInput("file", name, "is no CSV: it has a zero character")
    try:
        if form == "csv":
            if resources:
                raise InvalidInput("resources", sorted(resources)[0], "is for FOCUS; an own CSV names the pool itself")
            return own_csv.read_own_csv(_rows(text, name, own_csv.REQUIRED, own_csv.OPTIONAL))
        required = (*focus.REQUIRED, cost_column)
        return focus.read_focus(_rows(text, name, required, None), resources, cost_column)
    except csv.Error as error:
        raise InvalidInput("file", name, f"is no CSV: {error}") from error


def _rows(
    text: str, name: str, required: Collection[str], optional: Collection[str] | None
) -> Iterator[tuple[int, dict[str, str]]]:
    """Line and cells of each row; `optional` None: any further columns."""
    reader = csv.DictReader(io.StringIO(text, newline=""), restkey="", restval="")
    heading = list(reader.fieldnames or ())
    for column in required:
        if column not in heading:
            raise InvalidInput("file", name, f"has no column {column}")
    for column in heading:
        if heading.count(column) > 1 or (optional is not None and column not in (*required, *optional)):
            raise InvalidInput("file", name, f"column {column!r} is unknown or there twice")
    for cells in reader:
        yield reader.line_num, cells
