"""Are exact figures written plainly, and unknown ones shown as unknown?"""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal

from accounting.reports import Column, Footer, Node, Report, ReportQuery

COLUMNS = (
    Column("row", "text", table=False),
    Column("billing_currency", "text"),
    Column("name", "text"),
    Column("cost", "money"),
    Column("share", "percent"),
    Column("events", "count"),
    Column("tokens", "count", table=False),
)


def _row(kind: str, name: str | None, cost: str | None, currency: str = "USD") -> Node:
    amount = None if cost is None else Decimal(cost)
    row = {"row": kind, "billing_currency": currency, "name": name, "cost": amount}
    return Node(row | {"share": None, "events": 1_234, "tokens": 0})


def _report(*roots: Node) -> Report:
    coverage = [{"status": "priced", "events": 0, "tokens": 0, "event_share": None, "token_share": None}]
    query = ReportQuery.parse("2026-02-01", "2026-03-01", "UTC")
    return Report("test", query, COLUMNS, roots, coverage, [Footer("total", Decimal("1E-15"), "USD", 'so, "much"')])


TINY, UNKNOWN = _row("detail", "tiny", "1E-15"), _row("detail", "unknown", None)
TOTAL = Node(_row("total", None, "1E-15").row, (TINY, UNKNOWN))


def test_json_has_plain_strings_and_nulls() -> None:
    found = json.loads(json.dumps(_report(TOTAL).to_json()))
    assert [row["cost"] for row in found["rows"]] == ["0.000000000000001", None]
    assert found["totals"][0]["cost"] == "0.000000000000001"
    assert found["rows"][0]["events"] == 1234
    assert found["columns"][3] == {"name": "cost", "kind": "money"}
    assert found["footer"] == [
        {"name": "total", "amount": "0.000000000000001", "billing_currency": "USD", "note": 'so, "much"'}
    ]
    assert found["coverage"][0]["event_share"] is None


def test_csv_has_one_width_and_quotes_where_it_must() -> None:
    lines = list(csv.reader(io.StringIO(_report(TOTAL).to_csv())))
    assert {len(line) for line in lines} == {11}
    assert [line[0] for line in lines] == ["row", "detail", "detail", "total", "coverage:priced", "footer:total"]
    assert lines[2] == ["detail", "USD", "unknown", "", "", "1234", "0", "", "", "", ""]
    assert lines[5][7:] == ["0.000000000000001", "", "", 'so, "much"']


def test_a_table_shows_cents_thousands_and_a_dash_for_unknown() -> None:
    large = _row("detail", "large", "-1234567.891")
    report = _report(Node(_row("total", None, "-1234567.891").row, (large, UNKNOWN)))
    assert report.to_table().splitlines()[2:6] == [
        "name              cost  share  events",
        "large    -1,234,567.89      -   1,234",
        "unknown              -      -   1,234",
        "total    -1,234,567.89      -   1,234",
    ]


def test_the_currency_is_a_column_where_there_are_several() -> None:
    assert "billing_currency" not in _report(TOTAL).to_table()
    table = _report(TOTAL, Node(_row("total", None, "1", "EUR").row)).to_table()
    assert table.splitlines()[2].split() == ["billing_currency", "name", "cost", "share", "events"]
    assert "total EUR" in table
