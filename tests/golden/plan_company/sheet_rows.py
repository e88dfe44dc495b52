"""How does a figure get a cell of its own? Rows of named formulas, and sums over the inputs of the company."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from tests.golden.plan_company.inputs import GROUPS

NONE = '"none"'
USE_KEYS = dict(zip(GROUPS, "OPQRST", strict=True))
"""Columns of the sheet `use` with the key that a row has in each grouping."""
REVENUE_KEYS = {"user": "L", "account": "M", "plan": "N", "cohort": "O"}
FEE_KEYS = {"user": "E", "account": "F", "plan": "G", "cohort": "H"}


class Rows:
    """A sheet of rows: a name, and a formula a column.

    Attributes: figures: "row.column" -> a formula that is that cell.
    """

    def __init__(self, sheet: Worksheet) -> None:
        self._sheet, self._row = sheet, 0
        self.figures: dict[str, str] = {}

    def add(self, name: str, formulas: Mapping[str, str]) -> int:
        """Writes a row; `{column}` in a formula is that column of the row. Returns the row's number."""
        self._row += 1
        here = {column: f"{get_column_letter(place)}{self._row}" for place, column in enumerate(formulas, start=2)}
        self._sheet.cell(self._row, 1, name)
        for column, formula in formulas.items():
            self._sheet[here[column]] = "=" + formula.format(**here)
            self.figures[f"{name}.{column}"] = f"={self._sheet.title}!{here[column]}"
        return self._row

    def at(self, name: str) -> str:
        """The cell of a figure, for a formula."""
        return self.figures[name][1:]

    def total(self, names: Sequence[str], column: str) -> str:
        """The sum of a column over rows."""
        return "+".join(self.at(f"{name}.{column}") for name in names)


def use(column: str, group: str, key: str, month: int = 4, **also: str) -> str:
    """Sum of a column of `use` over a month's rows of one key; `also`: column -> value."""
    more = "".join(f',use!${where}$2:${where}$99,"{value}"' for where, value in also.items())
    of = USE_KEYS[group]
    return f'SUMIFS(use!${column}$2:${column}$99,use!$A$2:$A$99,{month},use!${of}$2:${of}$99,"{key}"{more})'


def calls(group: str, key: str, month: int = 4) -> str:
    """Number of calls of one key; idle machines make none."""
    of = USE_KEYS[group]
    return f'COUNTIFS(use!$A$2:$A$99,{month},use!${of}$2:${of}$99,"{key}",use!$L$2:$L$99,"<>idle")'


def revenue(column: str, group: str, key: str) -> str:
    """Sum of a column of `revenue`, April's."""
    of = REVENUE_KEYS[group]
    return f'SUMIFS(revenue!${column}$2:${column}$99,revenue!${of}$2:${of}$99,"{key}")'


def fees(group: str, key: str, month: int = 4) -> str:
    """Payment fees of one key."""
    of = FEE_KEYS[group]
    return f'SUMIFS(fees!$D$2:$D$99,fees!$A$2:$A$99,{month},fees!${of}$2:${of}$99,"{key}")'


def percent_of(part: str, whole: str) -> str:
    """100 part / whole; none of nothing."""
    return f"IF(({whole})=0,{NONE},100*({part})/({whole}))"
