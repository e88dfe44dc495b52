"""A re-pricing that is killed between its chunks and run again leaves the ledger of one that never was: nothing lost, nothing twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import text

from accounting.ledger.check import check, differences
from accounting.ledger.reprice import reprice
from accounting.ledger.settle import ALONE
from accounting.pipeline import ingest
from accounting.pricing.book import PriceBook
from accounting.storage.engine import transaction
from accounting.storage.tariffs import load_layers
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.conftest import Database
from tests.events import body, event

pytestmark = pytest.mark.storage

EVENTS, CHUNK, KILLS = 400, 20, 1
JULY, AUGUST = datetime(2026, 7, 1, tzinfo=UTC), datetime(2026, 8, 1, tzinfo=UTC)
# An event gets two: the reversal of its unpriced line, and the priced one.
LINES = 2 * EVENTS
_LEDGER = text(
    "SELECT charge_id, supersedes, class, charge_status, events, output_tokens, list_cost, contracted_cost, effective_cost, "
    "billed_cost, sku_price_id, reason FROM ledger ORDER BY charge_id"
)
_CHARGES = text("SELECT count(*) FROM charges")


def _tenant(database: Database, name: str) -> TenantContext:
    """Calls of o3, booked while no list priced it."""
    create_tenant(database.owner, name, name)
    found = context(database.app, name)
    events = [event(f"e{number}", user_id=f"u{number % 7}") for number in range(EVENTS)]
    assert ingest(database.app, found, PriceBook([], []), body(events)).accepted == EVENTS
    return found


def _start(database: Database, tenant: TenantContext) -> subprocess.Popen[bytes]:
    command = ["reprice", "--from", "2026-07-01", "--to", "2026-08-01", "--apply", "--chunk", str(CHUNK)]
    return subprocess.Popen(
        [sys.executable, "-m", "accounting.cli", *command, "--tenant", tenant.tenant],
        env={**os.environ, **database.env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def _read(database: Database, tenant: TenantContext, query: Any) -> Any:
    with transaction(database.app, tenant.tenant) as connection:
        return connection.execute(query).all()


def _charges(database: Database, tenant: TenantContext) -> int:
    return int(_read(database, tenant, _CHARGES)[0][0])


def _killed_between_chunks(database: Database, tenant: TenantContext) -> int:
    """Kills a run as soon as a chunk of its own is committed; returns the lines that there are then."""
    before = _charges(database, tenant)
    process = _start(database, tenant)
    while process.poll() is None and _charges(database, tenant) == before:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGKILL, output
    deadline = time.monotonic() + 30
    while not _alone(database, tenant):
        assert time.monotonic() < deadline, "the server still holds the dead run's lock"
        time.sleep(0.01)
    return _charges(database, tenant)


def _alone(database: Database, tenant: TenantContext) -> bool:
    """Whether the server has noticed that no run is at work any more."""
    with transaction(database.app, tenant.tenant) as connection:
        return bool(connection.execute(ALONE, {"tenant": tenant.tenant}).scalar_one())


def test_a_killed_re_pricing_run_again_leaves_the_ledger_of_an_uninterrupted_one(database: Database) -> None:
    killed, whole = _tenant(database, "repricekilled"), _tenant(database, "repricewhole")
    left = [0]
    for _ in range(KILLS):
        left.append(_killed_between_chunks(database, killed))
        assert left[-2] < left[-1] < LINES
        assert left[-1] % (2 * CHUNK) == 0, "a chunk is committed wholly or not at all"
        assert differences(check(database.app, killed)) == []
    process = _start(database, killed)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert f"{LINES - left[-1]} charges appended" in output.decode()
    reprice(database.app, whole, load_layers(database.app, whole.tenant), JULY, AUGUST, apply=True)
    assert _charges(database, killed) == LINES
    assert _read(database, killed, _LEDGER) == _read(database, whole, _LEDGER)
    assert differences(check(database.app, killed)) == []
    again = reprice(database.app, killed, load_layers(database.app, killed.tenant), JULY, AUGUST, apply=True)
    assert (again.read, again.changed, again.charges) == (EVENTS, 0, 0)
