"""Which price rows does a file of our own state? CSV with a header, or YAML or JSON: a list of objects with the same fields.

One object is one row: conditions, and a field for each class that has a price. Text is read as text, so that no number becomes a float.
A file of ours adds rows and replaces rows for the same requests; what it leaves out stays as it is.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from accounting.errors import InvalidInput
from accounting.pricing.entry import ENTRY_FIELDS, tariff_from_entry
from accounting.pricing.sources.statement import SourceFindings, Statement
from accounting.pricing.tariff import Alias, Tariff

CSV, YAML = "csv", "yaml"
ALSO_KNOWN_AS = "also_known_as"
"""Further exact names of the model, separated by spaces (a list in YAML)."""

_EXAMPLE = {
    "seller": "acme",
    "model": "acme-chat-2",
    "effective_from": "2026-01-01T00:00:00Z",
    "currency": "USD",
    "source": "https://acme.example/pricing",
    "checked_on": "2026-01-05",
    "uncached_input": "2",
    "cache_read": "0.2",
    "output": "6",
}


def read_file(content: bytes, kind: str, source_version: str, siblings: Sequence[Tariff] = ()) -> Statement:
    """The rows of a file; `kind` is csv or yaml (which reads JSON too). `siblings`: rows that prices are compared with.

    Raises InvalidInput that names the line or the number of the row, the field and the value; nothing of the file is taken then.
    """
    findings = SourceFindings()
    rows: list[Tariff] = []
    names: dict[tuple[str, str], Alias] = {}
    for where, record in _records(content, kind):
        also = record.pop(ALSO_KNOWN_AS, "")
        try:
            row = tariff_from_entry({"source": kind, "source_version": source_version, **record}, siblings)
        except InvalidInput as error:
            raise InvalidInput(f"{where}: {error.field}", error.value, error.reason) from None
        rows.append(row)
        for name in (row.model, *also.split()):
            alias = Alias(row.seller, name.lower(), row.model, row.source, row.checked_on)
            if names.setdefault((alias.seller, alias.alias), alias).model != alias.model:
                raise InvalidInput(f"{where}: {ALSO_KNOWN_AS}", name, "means two models in this file")
    return Statement(kind, source_version, rows, list(names.values()), findings, whole=False)


def template(kind: str) -> str:
    """A file to fill in: every field, one example row."""
    fields = [*ENTRY_FIELDS, ALSO_KNOWN_AS]
    if kind == CSV:
        out = io.StringIO()
        writer = csv.DictWriter(out, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerow(_EXAMPLE)
        return out.getvalue()
    left_out = ", ".join(name for name in fields if name not in _EXAMPLE)
    lines = [
        f"{'- ' if at == 0 else '  '}{name}: {json.dumps(value)}" for at, (name, value) in enumerate(_EXAMPLE.items())
    ]
    return "\n".join([*lines, f"# further fields: {left_out}", ""])


def _records(content: bytes, kind: str) -> Iterator[tuple[str, dict[str, str]]]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput("file", str(error), "is no UTF-8 text") from None
    if kind == CSV:
        reader = csv.DictReader(text.splitlines())
        for record in reader:
            if None in record or None in record.values():
                raise InvalidInput(
                    f"line {reader.line_num}", record.get(None), "has another number of fields than the header"
                )
            yield f"line {reader.line_num}", {name: value.strip() for name, value in record.items() if value.strip()}
        return
    for number, record in enumerate(_list(text), start=1):
        if not isinstance(record, Mapping):
            raise InvalidInput(f"row {number}", record, "an object with the fields of a price row is expected")
        stated = {str(name): _text(value) for name, value in record.items() if value is not None}
        yield f"row {number}", {name: value for name, value in stated.items() if value}


def _list(text: str) -> list[Any]:
    try:
        # The base loader leaves every scalar as it is written.
        found = yaml.load(text, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError) as error:
        raise InvalidInput("file", " ".join(str(error).split()), "is neither YAML nor JSON") from None
    if isinstance(found, Mapping):
        found = found.get("prices", [found])
    if not isinstance(found, list):
        raise InvalidInput("file", type(found).__name__, "a list of price rows is expected")
    return found


def _text(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value).strip()
