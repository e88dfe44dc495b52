"""Do the commands load exchange rates and say how one was found?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.accounting.cli.conftest import Run
from tests.events import event, lines

pytestmark = [pytest.mark.storage, pytest.mark.one_server]


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "eurofxref-hist.csv"
    path.write_text("Date,USD,JPY,\n2026-07-03,1.6,180,\n2026-07-01,1.25,175,\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def loaded(tokencogs: Run, file: str) -> Run:
    assert tokencogs("fx", "import", "--file", file).exit_code == 0
    return tokencogs


def test_import_says_what_was_read_and_what_was_new(tokencogs: Run, file: str) -> None:
    span = "eurofxref-hist.csv: 4 rates of 2026-07-01 to 2026-07-03; "
    assert tokencogs("fx", "import", "--file", file).stdout == f"{span}4 new, of which 0 change a known one\n"
    assert tokencogs("fx", "import", "--file", file).stdout == f"{span}0 new, of which 0 change a known one\n"


def test_another_file_is_refused_in_one_line(tokencogs: Run, tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("day,rate\n", encoding="utf-8")
    result = tokencogs("fx", "import", "--file", str(path))
    assert result.exit_code == 2
    assert "file='other.csv': the ECB's history is expected" in result.stderr


def test_a_rate_is_told_with_its_date_rule_and_source(loaded: Run) -> None:
    told = json.loads(loaded("fx", "rate", "USD", "JPY", "--on", "2026-07-05", "--format", "json").stdout)
    # 5 July 2026 is a Sunday: Friday's 180 / 1.6.
    assert (told["rate"], told["date"], told["rate_date"]) == ("112.5", "2026-07-05", "2026-07-03")
    assert (told["from_per_eur"], told["to_per_eur"], told["source_version"]) == ("1.6", "180", "eurofxref-hist.csv")
    assert told["rule"].startswith(
        "reference rate of the day, else the last one published before it, at most 7 days back"
    )


def test_a_rate_as_a_table_has_a_figure_a_line(loaded: Run) -> None:
    printed = loaded("fx", "rate", "EUR", "USD", "--on", "2026-07-01").stdout.splitlines()
    assert [line.split() for line in printed[:5]] == [
        ["from", "EUR"],
        ["to", "USD"],
        ["date", "2026-07-01"],
        ["rate", "1.25"],
        ["rate_date", "2026-07-01"],
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("EUR", "USD", "--on", "2026-08-01"), "currency='USD on 2026-08-01': no exchange rate is known"),
        (("EUR", "DOLLAR", "--on", "2026-07-01"), "to='DOLLAR': no such currency"),
        (("eur", "USD", "--on", "2026-07-01"), "from='eur': no such currency"),
        (("EUR", "USD", "--on", "July"), "'July' does not match"),
    ],
)
def test_what_has_no_rate_is_an_error_that_names_it(loaded: Run, words: tuple[str, ...], message: str) -> None:
    result = loaded("fx", "rate", *words)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_report_is_printed_in_the_currency_asked_for(loaded: Run, tenant: str, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(lines([event("e1")]))
    assert loaded("ingest", str(path)).exit_code == 0
    period = ("--from", "2026-07-01", "--to", "2026-08-01")
    result = loaded("report", "cost-of-revenue", *period, "--currency", "EUR", "--format", "json")
    report = json.loads(result.stdout)
    # 0.0028 dollars at 0.8.
    assert [(row["billing_currency"], row["effective_cost"]) for row in report["rows"]] == [("EUR", "0.00224")]
    assert [(line["day"], line["rate"], line["rate_date"]) for line in report["conversions"]] == [
        ("2026-07-01", "0.8", "2026-07-01")
    ]
    assert report["parameters"]["currency"] == "EUR"
