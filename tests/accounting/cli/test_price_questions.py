"""Do the commands that ask about prices answer as documented: explain, reprice, prices impact?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.accounting.cli.conftest import Run
from tests.events import event, lines

pytestmark = [pytest.mark.storage, pytest.mark.one_server]

JULY = ("--from", "2026-07-01", "--to", "2026-08-01")


@pytest.fixture
def booked(tokencogs: Run, tenant: str, tmp_path: Path) -> Run:
    """A tenant with an o3 call of 0.0028 of user u1, and one call without a price."""
    path = tmp_path / "events.jsonl"
    path.write_bytes(lines([event("e1", user_id="u1", feature="chat"), event("e2", model="nobody-knows")]))
    assert tokencogs("ingest", str(path)).exit_code == 0
    return tokencogs


def test_reprice_says_that_nothing_changes(booked: Run) -> None:
    result = booked("reprice", *JULY, "--dry-run")
    assert result.exit_code == 0
    assert result.stdout == "read 2, changed 0, still unpriced 1\n"


def test_an_applied_run_is_named(booked: Run) -> None:
    result = booked("reprice", *JULY, "--apply", "--run-id", "july")
    assert result.stdout == "read 2, changed 0, still unpriced 1; run july: 0 charges appended\n"


def test_reprice_as_json_can_be_filtered(booked: Run) -> None:
    found = json.loads(booked("reprice", *JULY, "--where", "user=u1", "--format", "json").stdout)
    assert (found["events_read"], found["lines"]) == (1, [])
    refused = booked("reprice", *JULY, "--where", "colour=red")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "where='colour=red'" in refused.stderr


@pytest.mark.parametrize("words", [("explain",), ("prices", "explain")])
def test_explain_shows_the_way_from_the_call_to_its_cost(booked: Run, words: tuple[str, ...]) -> None:
    shown = booked(*words, "e1").stdout
    assert "matched     o3 is openai/o3 (exact)\n" in shown
    assert "uncached_input          1,000 x 2 = 0.002; list 2 = 0.002\n" in shown
    assert "cost        list 0.0028, contracted 0.0028, effective 0.0028, billed 0.0028 USD\n" in shown
    assert "e1:0: first charge, priced" in shown


def test_explain_of_a_call_without_a_price_says_why(booked: Run) -> None:
    assert "status      unpriced (unknown_model), basis price_list\n" in booked("explain", "e2").stdout
    assert json.loads(booked("explain", "e2", "--format", "json").stdout)["components"] == []
    assert booked("explain", "nobody").exit_code == 1


def test_impact_of_another_model_is_by_feature_with_its_warning(booked: Run) -> None:
    result = booked("prices", "impact", "--days", "3660", "--model", "o3=gpt-5.4")
    assert result.exit_code == 0
    # gpt-5.4 costs 2.5 in and 15 out: 0.0025 + 0.0015.
    assert "chat\tnone\t1 events\t0.0028 -> 0.004 USD\t0.0012 (42.8571 %)\n" in result.stdout
    assert "note: the same tokens are assumed" in result.stdout


def test_impact_of_a_price_file(booked: Run, tmp_path: Path) -> None:
    path = tmp_path / "announced.csv"
    path.write_text("seller,model,effective_from,uncached_input,output\nopenai,o3,2099-01-01T00:00:00Z,1,4\n")
    result = booked("prices", "impact", "--days", "3660", "--with", str(path))
    assert "total\t\t1 events\t0.0028 -> 0.0014 USD\t-0.0014 (-50 %)\n" in result.stdout
    assert "read 2, affected 1, unpriced 0\n" in result.stdout


def test_two_questions_at_once_are_refused(booked: Run) -> None:
    result = booked("prices", "impact", "--proposed", "--model", "a=b")
    assert (result.exit_code, "only one can be asked at a time" in result.stderr) == (2, True)
