"""Do the commands about exceptions, rules of cost and re-normalising answer as documented?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from accounting.usage.formats import openai_chat
from tests.accounting.cli.conftest import Run
from tests.wire_bodies import sent

pytestmark = [pytest.mark.storage, pytest.mark.one_server]

JULY = ("--from", "2026-07-01", "--to", "2026-08-01")


@pytest.fixture
def booked(tokencogs: Run, tenant: str, tmp_path: Path) -> Run:
    """A tenant with one booked call of o3 and one that contradicts itself."""
    broken = sent("openai_chat", 2)
    broken["response"]["usage"]["total_tokens"] = 1_099
    path = tmp_path / "bodies.json"
    path.write_text(json.dumps([sent("openai_chat", 1), broken]))
    assert tokencogs("ingest", str(path), "--format", "openai_chat").exit_code == 0
    return tokencogs


def _mend(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = openai_chat.read

    def mended(body: Any, context: Any) -> Any:
        usage = body["usage"]
        total = usage["prompt_tokens"] + usage["completion_tokens"]
        return honest({**body, "usage": {**usage, "total_tokens": total}}, context)

    monkeypatch.setattr(openai_chat, "read", mended)


def test_exceptions_are_listed_with_their_equation(booked: Run) -> None:
    first, count = booked("exceptions", "list").stdout.splitlines()
    assert first.split("\t")[1:] == [
        "contradiction",
        "open",
        "openai:openai_chat-2",
        "openai_chat",
        "tokens_do_not_add_up",
        "total_tokens 1099 <> prompt_tokens 1000 + completion_tokens 100 = 1100",
    ]
    assert count == "contradiction tokens_do_not_add_up: 1 open of 1"
    found = json.loads(booked("exceptions", "list", "--json", "--kind", "contradiction").stdout)
    assert json.loads(found["exceptions"][0]["usage_body"])["usage"]["total_tokens"] == 1_099


def test_a_replay_books_what_is_mended_once(booked: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert booked("exceptions", "replay").stdout.startswith("replayed 1, booked 0, still open 1\n")
    _mend(monkeypatch)
    assert booked("exceptions", "replay").stdout == "replayed 1, booked 1, still open 0\n"
    assert booked("exceptions", "replay").stdout == "replayed 0, booked 0, still open 0\n"
    assert booked("exceptions", "list").stdout == "contradiction tokens_do_not_add_up: 0 open of 1\n"
    assert "\treplayed\t" in booked("exceptions", "list", "--all").stdout


def test_dismissing_needs_an_id_that_exists(booked: Run) -> None:
    [row] = json.loads(booked("exceptions", "list", "--json").stdout)["exceptions"]
    result = booked("exceptions", "dismiss", row["exception_id"])
    assert result.stdout == f"{row['exception_id']}\tdismissed\n"
    missing = booked("exceptions", "dismiss", "none")
    assert (missing.exit_code, missing.stderr) == (1, "Error: exception_id='none': no such exception\n")


def test_rules_of_cost_are_set_listed_and_removed(booked: Run) -> None:
    assert booked("cost-basis", "set", "xai", "reported").stdout.startswith("xai\t(all)\treported\t")
    booked("cost-basis", "set", "xai", "price_list", "--surface", "responses")
    rows = [line.split("\t")[:3] for line in booked("cost-basis", "list").stdout.splitlines()]
    assert rows == [["xai", "(all)", "reported"], ["xai", "responses", "price_list"]]
    assert booked("cost-basis", "remove", "xai").stdout.startswith("removed\txai\t(all)\treported\t")
    again = booked("cost-basis", "remove", "xai")
    assert (again.exit_code, again.stderr) == (1, "Error: provider='xai', surface='': no such rule\n")


def test_renormalising_shows_first_and_applies_on_demand(booked: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert booked("renormalise", *JULY).stdout == "read 1, changes 0, applied 0\n"
    honest = openai_chat.read

    def changed(body: Any, context: Any) -> Any:
        usage = {**body["usage"], "prompt_tokens_details": {}}
        return honest({**body, "usage": usage}, context)

    monkeypatch.setattr(openai_chat, "read", changed)
    # 600 x 2 + 400 x 0.5 + 100 x 8, then 1,000 x 2 + 100 x 8 millionths of a dollar
    line = (
        "openai:openai_chat-1\tuncached_input_tokens 600 -> 1000, cache_read_tokens 400 -> 0\tcost 0.0022 -> 0.0028\n"
    )
    assert booked("renormalise", *JULY, "--dry-run").stdout == line + "read 1, changes 1, applied 0\n"
    assert booked("renormalise", *JULY, "--apply").stdout == line + "read 1, changes 1, applied 1\n"
    assert booked("renormalise", *JULY, "--apply").stdout == "read 1, changes 0, applied 0\n"
    assert booked("renormalise", *JULY, "--format", "gemini").stdout == "read 0, changes 0, applied 0\n"
    assert booked("check").stdout.startswith("exact: ")
