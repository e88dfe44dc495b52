"""Does the demo tell its story from an empty database to a margin, and end cleanly?"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import httpx
import pytest

from tests.conftest import Database
from tests.served import free_port

pytestmark = [pytest.mark.storage, pytest.mark.one_server]

SMALL = ("--month", "2026-10", "--requests", "3000")


def start(database: Database, log: Path, *words: str) -> subprocess.Popen[bytes]:
    with log.open("wb") as out:
        return subprocess.Popen(
            [sys.executable, "-m", "accounting.cli", "demo", *SMALL, "--port", str(free_port()), *words],
            env={**os.environ, **database.env},
            stdout=out,
            stderr=subprocess.STDOUT,
        )


@pytest.fixture(scope="module")
def first(database: Database, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a first run with --oneshot prints."""
    log = tmp_path_factory.mktemp("demo") / "log"
    assert start(database, log, "--oneshot").wait(120) == 0, log.read_text()
    return log.read_text()


def test_every_event_is_accepted(first: str) -> None:
    assert "events: accepted 3000, duplicates 0, conflicts 0, rejected 0\n" in first


def test_it_prints_the_statement_the_ten_least_profitable_users_and_the_check(first: str) -> None:
    assert "cost-of-revenue  2026-10-01 to 2026-11-01  UTC  USD\n" in first
    assert "user-margin  2026-10-01 to 2026-11-01  UTC  USD\n" in first
    assert len(re.findall(r"^user-\d{4} ", first, re.MULTILINE)) == 10
    assert "check: exact; rollups = ledger = sum of components in all 9 figures\n" in first
    assert "check: exact; lines = bill in every basis of 220 pool hours\n" in first


def test_its_own_pools_bill_of_the_month_is_in_the_statement(first: str) -> None:
    """22 weekdays x 10 hours at 0.096 are 21.12: what no request used, and who used what."""
    rows = re.findall(
        r"^(\w+) +self-hosted +small-chat(: idle and gap)? +([0-9.]+) +[0-9.]+ +(\d+)$", first, re.MULTILINE
    )
    assert [(line, bool(beside)) for line, beside, _, _ in rows] == [
        ("cost_of_revenue", False),
        ("cost_of_revenue", True),
        ("sales_and_marketing", False),
        ("internal", False),
    ]
    # Each line is rounded to cents by itself.
    assert abs(sum(Decimal(amount) for _, _, amount, _ in rows) - Decimal("21.12")) <= Decimal("0.02")
    assert 100 < sum(int(events) for _, _, _, events in rows) < 600


def test_all_but_the_unlisted_model_is_priced(first: str) -> None:
    unpriced = int(re.findall(r"^unpriced +(\d+) ", first, re.MULTILINE)[0])
    unlisted = [int(count) for count in re.findall(r"gpt-unlisted-preview .* (\d+)$", first, re.MULTILINE)]
    assert 0 < unpriced < 30
    assert sum(unlisted) == unpriced


@pytest.fixture
def serving(first: str, database: Database, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A second run, without --oneshot."""
    log = tmp_path / "log"
    process = start(database, log)
    yield process, log
    if process.poll() is None:  # told, so that it takes its server along
        process.terminate()
        process.wait(90)


def test_a_second_run_counts_nothing_twice_serves_and_ends_on_ctrl_c(
    first: str, serving: tuple[subprocess.Popen[bytes], Path], wait_until: Callable[[Callable[[], bool]], None]
) -> None:
    process, log = serving
    wait_until(lambda: "Ctrl-C ends it." in log.read_text() or process.poll() is not None)
    told = log.read_text()
    assert "events: accepted 0, duplicates 3000, conflicts 0, rejected 0\n" in told
    total = re.compile(r"^ledger_total +(\S+)", re.MULTILINE)
    assert total.findall(told) == total.findall(first)

    url = re.findall(r"^API +(\S+)$", told, re.MULTILINE)[0]
    key = re.findall(r"^key +(\S+)$", told, re.MULTILINE)[0]
    report = re.findall(r"'(\S+/v1/reports/\S+)'$", told, re.MULTILINE)[0]
    answer = httpx.get(report, headers={"Authorization": f"Bearer {key}"})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/csv; charset=utf-8")
    assert httpx.get(f"{url}/docs").status_code == 200

    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    assert "Traceback" not in log.read_text()
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{url}/healthz")


def test_sigterm_while_it_loads_ends_it_and_its_server(
    serving: tuple[subprocess.Popen[bytes], Path], wait_until: Callable[[Callable[[], bool]], None]
) -> None:
    process, log = serving
    wait_until(lambda: "subscriptions" in log.read_text() or process.poll() is not None)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 130
    assert log.read_text().rstrip().endswith("stopped")
    assert "Traceback" not in log.read_text()
