"""Do the commands that read and close the ledger answer as documented?"""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from sqlalchemy import text

from accounting.selfhosted.curve_json import dump_curve
from accounting.storage.curves import record_curve
from accounting.storage.engine import transaction
from accounting.storage.pools import record_pool
from accounting.storage.tenants import context
from tests.accounting.cli.conftest import Run
from tests.accounting.ledger.pool_world import SETTINGS
from tests.accounting.selfhosted.worked import CURVE
from tests.conftest import Database
from tests.events import event, lines

pytestmark = [pytest.mark.storage, pytest.mark.one_server]

JULY = ("--from", "2026-07-01", "--to", "2026-08-01")


@pytest.fixture
def booked(tokencogs: Run, tenant: str, tmp_path: Path) -> Run:
    """A tenant with three o3 calls of 0.0028 each: two of user u1, and one eval."""
    path = tmp_path / "events.jsonl"
    path.write_bytes(lines([event("e1", user_id="u1"), event("e2", user_id="u1"), event("e3", purpose="eval")]))
    assert tokencogs("ingest", str(path)).exit_code == 0
    return tokencogs


def test_report_prints_a_table_in_cents(booked: Run) -> None:
    result = booked("report", "cost-of-revenue", *JULY)
    assert result.exit_code == 0
    assert result.stdout.startswith("cost-of-revenue  2026-07-01 to 2026-08-01  UTC  USD\n")
    assert "\nledger_total  " in result.stdout
    assert " 0.0084  USD " in result.stdout


def test_report_as_json_has_full_precision(booked: Run) -> None:
    report = json.loads(booked("report", "cost-of-revenue", *JULY, "--format", "json").stdout)
    lines_of = {row["statement_line"]: row["effective_cost"] for row in report["rows"]}
    assert lines_of == {"cost_of_revenue": "0.0056", "research_and_development": "0.0028"}


def test_report_as_csv_is_rectangular(booked: Run) -> None:
    text_ = booked("report", "user-margin", *JULY, "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(text_)))
    user = next(row for row in rows if row["row"] == "user")
    assert (user["user_id"], user["plans"], user["effective_cost"], user["margin"]) == (
        "u1",
        "none",
        "0.0056",
        "-0.0056",
    )


def test_a_report_that_can_not_be_written_is_refused_by_its_path(booked: Run, tmp_path: Path) -> None:
    path = tmp_path / "none" / "x.csv"
    result = booked("report", "cost-of-revenue", *JULY, "--format", "csv", "--out", str(path))
    assert (result.exit_code, result.stderr) == (2, f"Error: out='{path}': No such file or directory\n")


def test_report_groups_and_limits(booked: Run) -> None:
    report = json.loads(booked("report", "cost-of-revenue", *JULY, "--group-by", "purpose", "--format", "json").stdout)
    assert [row["purpose"] for row in report["rows"]] == ["production", "eval"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--tz", "Mars/Olympus"), "tz='Mars/Olympus': no such IANA time zone"),
        (("--group-by", "colour"), "group_by='colour': "),
        (("--from", "July"), "from='July': "),
    ],
)
def test_what_a_report_can_not_be_asked_is_one_line_and_exit_code_2(
    booked: Run, words: tuple[str, ...], said: str
) -> None:
    result = booked("report", "cost-of-revenue", *JULY, *words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_check_is_exact_and_exits_0(booked: Run) -> None:
    result = booked("check")
    assert (result.exit_code, result.stdout) == (
        0,
        "exact: rollups = ledger = sum of components; 9 figures, 2026-07 to 2026-07\n",
    )


def test_a_month_is_compared_with_what_its_seller_billed(booked: Run) -> None:
    """0.0084 in the ledger; 0.0184 billed: 0.01 was never logged, 54.3478 % of the bill."""
    exact = booked("reconcile", "openai", "2026-07", "--cost-export", "0.0084", "--within", "0")
    assert (exact.exit_code, "reconciled\tTrue" in exact.stdout, "unlogged\t-" in exact.stdout) == (0, True, True)
    words = ("reconcile", "openai", "2026-07", "--invoice", "0.0184", "--recomputed", "0.0084", "--json")
    assert booked(*words, "--within", "0.01").exit_code == 0
    more = booked(*words, "--within", "0.009999")
    assert more.exit_code == 1
    told = json.loads(more.stdout)
    assert {
        name: told[name] for name in ("reference", "ledger", "difference", "unlogged", "unlogged_share", "recomputed")
    } == {
        "reference": "invoice",
        "ledger": "0.0084",
        "difference": "-0.01",
        "unlogged": "0.01",
        "unlogged_share": "0.543478",
        "recomputed": "0.0084",
    }


@pytest.mark.parametrize(
    ("words", "message", "code"),
    [
        (("openai", "2026-07", "--recomputed", "1"), "a figure made from our own prices proves nothing", 2),
        (("openai", "2026-06", "--invoice", "1"), "seller='openai': the ledger has nothing of it in 2026-06", 1),
        (("openai", "2026-07", "--invoice", "1,5"), "--invoice='1,5'", 2),
    ],
)
def test_what_can_not_be_compared_is_told(booked: Run, words: tuple[str, ...], message: str, code: int) -> None:
    result = booked("reconcile", *words)
    assert (result.exit_code, message in result.stderr) == (code, True), result.output


def test_check_of_an_empty_ledger_says_so(tokencogs: Run, tenant: str) -> None:
    assert tokencogs("check").stdout == "exact: rollups = ledger = sum of components; 0 figures, nothing is booked\n"


def test_check_of_a_changed_rollup_prints_the_difference_and_exits_1(
    booked: Run, tenant: str, database: Database
) -> None:
    with transaction(database.owner, tenant) as connection:
        connection.execute(text("UPDATE rollup_15m SET list_cost = list_cost + 0.001 WHERE purpose = 'eval'"))
    result = booked("check", "--month", "2026-07")
    assert result.exit_code == 1
    assert re.fullmatch(
        r"2026-07 list_cost USD: ledger 0\.00840*, rollup_15m 0\.00940* \(\+0\.0010*\)\n", result.stdout
    )


def test_settle_appends_nothing_and_counts_what_waits(
    database: Database, tenant: str, booked: Run, tmp_path: Path
) -> None:
    known = context(database.app, tenant)
    record_curve(database.app, known, dump_curve(CURVE), "test")
    record_pool(database.app, known, SETTINGS, "test")
    path = tmp_path / "hosted.jsonl"
    path.write_bytes(lines([event("h1", deployment="pool-1"), event("h2", deployment="pool-1")]))
    booked("ingest", str(path))
    result = booked("settle", "--run-id", "july")
    assert (result.exit_code, result.stdout) == (0, "run july: 0 charges appended\npending\tpool-1\t2\n")


def test_plans_and_subscriptions_come_in_and_show_in_the_margin(booked: Run, tmp_path: Path) -> None:
    assert booked("plan", "set", "pro", "--display-name", "Pro").stdout == "plan pro: Pro\n"
    path = tmp_path / "subscriptions.csv"
    path.write_text(
        "subscription_id,plan,user_id,account_id,monthly_price,currency,starts_on,ends_on\n"
        "s1,pro,u1,,31.00,USD,2026-07-11,\n"
        "s2,gold,u2,,31.00,USD,2026-07-01,\n"
    )
    result = booked("subscription", "import", str(path))
    assert (result.exit_code, result.stdout) == (1, "imported 1, rejected 1\n")
    assert result.stderr == "line 3: plan='gold': no such plan of this tenant; make the plan first\n"
    report = json.loads(booked("report", "user-margin", *JULY, "--format", "json").stdout)
    # 31.00 for 21 of July's 31 days is 21.00.
    assert [
        (row["user_id"], row["recognised_revenue"], row["margin"]) for row in report["rows"] if row["row"] == "user"
    ] == [("u1", "21", "20.9944")]


def test_a_user_is_erased_after_a_question(booked: Run, tenant: str) -> None:
    asked = booked("user", "erase", "u1", stdin="n\n")
    assert asked.exit_code == 1
    assert f"erase user 'u1' of tenant {tenant}? This can't be undone" in asked.stdout
    told = dict(line.split("\t") for line in booked("user", "erase", "u1", "--yes").stdout.splitlines())
    assert told["usage_events"] == "2"
    report = json.loads(booked("report", "user-margin", *JULY, "--format", "json").stdout)
    [name] = [row["user_id"] for row in report["rows"] if row["row"] == "user"]
    assert name == told["tombstone"]
    assert booked("check").exit_code == 0


def test_retention_forgets_identity_and_keeps_amounts(booked: Run, tenant: str) -> None:
    told = booked("retention", "set", "--identity-days", "30")
    assert told.stdout == f"tenant {tenant}: raw usage for ever, identity 30 (days)\n"
    counts = dict(line.split("\t") for line in booked("retention", "apply").stdout.splitlines())
    assert (counts["days"], counts["events"]) == ("1", "2")
    assert booked("check").exit_code == 0
