"""Does `tokencogs close` close a month once, say what it refuses, and list what is closed? Model o3: 1,000 tokens in, 100 out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.accounting.cli.conftest import Run
from tests.events import body, event

pytestmark = [pytest.mark.storage, pytest.mark.one_server]


@pytest.fixture
def booked(tokencogs: Run, tenant: str, tmp_path: Path) -> Run:
    """A tenant with a July event of 1,000 x 2 + 100 x 8 millionths, and one of a model without a price."""
    (tmp_path / "events.jsonl").write_bytes(body([event("a"), event("n", model="nobody-knows")]))
    assert tokencogs("ingest", str(tmp_path / "events.jsonl")).exit_code == 0
    return tokencogs


def test_what_is_left_open_is_refused_with_its_worth_and_the_month_closes_once_it_is_accepted(booked: Run) -> None:
    refused = booked("close", "2026-07")
    assert refused.exit_code == 1
    assert "month=2026-07: left open: unpriced: 1 events, 1100 tokens, worth not known." in refused.output
    tried = booked("close", "2026-07", "--accept", "unpriced", "--dry-run")
    assert (tried.exit_code, tried.output.splitlines()[0]) == (0, "2026-07 can be closed")
    assert booked("close").output == ""
    done = booked("close", "2026-07", "--accept", "unpriced", "--by", "ann", "--note", "signed")
    assert done.output == "2026-07 is closed\nUSD\teffective cost 0.0028\tbilled cost 0.0028\n"
    month, _, who, note = booked("close").output.rstrip("\n").split("\t")
    assert (month, who, note) == ("2026-07", "ann", "signed")
    again = booked("close", "2026-07")
    assert (again.exit_code, "is closed already; the first open month is 2026-08" in again.output) == (1, True)


def test_a_month_without_a_charge_is_told_as_one(tokencogs: Run, tenant: str) -> None:
    refused = tokencogs("close", "2026-06")
    assert (refused.exit_code, "nothing was ever charged in it" in refused.output) == (1, True)
    done = tokencogs("close", "2026-06", "--accept", "no_charges")
    assert done.output == "2026-06 is closed\nnothing was ever charged in it\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("2026-7x",), "'2026-7x' does not match the format '%Y-%m'"),
        (("2999-01",), "month='2999-01': is not over in UTC"),
        (("2026-07", "--accept", "late"), "'late' is not one of"),
        (("2026-07", "--by", " "), "closed_by=' '"),
    ],
)
def test_wrong_input_is_refused_by_name_and_value(
    tokencogs: Run, tenant: str, words: tuple[str, ...], said: str
) -> None:
    result = tokencogs("close", *words)
    assert result.exit_code != 0
    assert said in result.output


def test_the_help_names_the_argument_as_it_is_typed(tokencogs: Run) -> None:
    assert "Usage: tokencogs close [OPTIONS] [MONTH]" in tokencogs("close", "--help").output
