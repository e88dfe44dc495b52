"""What must hold for any events in any order, batches and repetitions (seeds are printed by Hypothesis)."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import count, pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from accounting.ledger.check import check
from accounting.pipeline import TenantContext, ingest
from accounting.pricing.book import PriceBook
from accounting.reports import ReportQuery, run
from accounting.storage.engine import transaction
from accounting.storage.tariffs import load_book
from accounting.storage.tenants import context, create_tenant
from tests.conftest import Database
from tests.strategies import events

pytestmark = pytest.mark.storage
SOME = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

NewTenant = Callable[..., TenantContext]


@pytest.fixture(scope="module")
def book(database: Database) -> PriceBook:
    create_tenant(database.owner, "books", "Books")
    return load_book(database.app, "books")


@pytest.fixture(scope="module")
def new_tenant(database: Database) -> NewTenant:
    """Makes one more tenant at each call."""
    numbers = count()

    def make(reporting_tz: str = "UTC") -> TenantContext:
        name = f"p{next(numbers)}"
        create_tenant(database.owner, name, name, reporting_tz=reporting_tz)
        return context(database.app, name)

    return make


def _ledger(database: Database, tenant: TenantContext) -> list[tuple[Any, ...]]:
    columns = "charge_id, occurred_at, charge_status, model, user_id, purpose, effective_cost, list_cost, output_tokens, reason"
    with transaction(database.app, tenant.tenant) as connection:
        return [tuple(row) for row in connection.execute(text(f"SELECT {columns} FROM ledger ORDER BY charge_id"))]


def _rollups(database: Database, tenant: TenantContext) -> list[tuple[Any, ...]]:
    queries = (
        "SELECT bucket, seller, model, purpose, charge_status, events, output_tokens, effective_cost FROM rollup_15m ORDER BY 1,2,3,4,5",
        "SELECT day, user_id, account_id, purpose, charge_status, events, effective_cost FROM rollup_user_day ORDER BY 1,2,3,4,5",
    )
    with transaction(database.app, tenant.tenant) as connection:
        return [tuple(row) for query in queries for row in connection.execute(text(query))]


@SOME
@given(
    batch=st.lists(events(), min_size=1, max_size=30, unique_by=lambda one: one["event_id"]), seed=st.integers(0, 2**31)
)
def test_order_batches_and_repetitions_do_not_change_the_ledger(
    database: Database, new_tenant: NewTenant, book: PriceBook, batch: list[dict[str, Any]], seed: int
) -> None:
    straight, shuffled = new_tenant(), new_tenant()
    first = ingest(database.app, straight, book, json.dumps(batch).encode())
    assert first.accepted + len(first.rejected) == len(batch)
    dice = random.Random(seed)
    sent = batch + dice.sample(batch, k=len(batch) // 2)
    dice.shuffle(sent)
    accepted = 0
    while sent:
        size = dice.randint(1, 7)
        part, sent = sent[:size], sent[size:]
        result = ingest(database.app, shuffled, book, json.dumps(part).encode())
        assert result.accepted + result.duplicates + len(result.conflicts) + len(result.rejected) == len(part)
        accepted += result.accepted
    assert accepted == first.accepted
    assert _ledger(database, shuffled) == _ledger(database, straight)
    assert _rollups(database, shuffled) == _rollups(database, straight)


@SOME
@given(batch=st.lists(events(), min_size=1, max_size=30, unique_by=lambda one: one["event_id"]))
def test_components_sum_to_the_ledger_and_the_rollups(
    database: Database, new_tenant: NewTenant, book: PriceBook, batch: list[dict[str, Any]]
) -> None:
    tenant = new_tenant()
    ingest(database.app, tenant, book, json.dumps(batch).encode())
    assert [line for line in check(database.app, tenant) if line.differs] == []


def _total(database: Database, tenant: TenantContext, start: str, end: str, tz: str) -> Decimal:
    report = run(database.app, tenant, "cost-of-revenue", ReportQuery.parse(start, end, tz)).to_json()
    [total] = [row for row in report["totals"] if row["row"] == "total"]
    return Decimal(total["effective_cost"] or 0)  # null: nothing of it is priced


@SOME
@given(batch=st.lists(events(year=2026), min_size=1, max_size=30, unique_by=lambda one: one["event_id"]))
def test_months_sum_to_the_year(
    database: Database, new_tenant: NewTenant, book: PriceBook, batch: list[dict[str, Any]]
) -> None:
    tenant = new_tenant()
    ingest(database.app, tenant, book, json.dumps(batch).encode(), now=datetime(2027, 1, 1, tzinfo=UTC))
    firsts = [date(2026, month, 1) for month in range(1, 13)] + [date(2027, 1, 1)]
    months = [_total(database, tenant, str(one), str(two), "UTC") for one, two in pairwise(firsts)]
    assert sum(months) == _total(database, tenant, "2026-01-01", "2027-01-01", "UTC")


@SOME
@given(
    batch=st.lists(events(days=6), min_size=1, max_size=30, unique_by=lambda one: one["event_id"]),
    tz=st.sampled_from(["Asia/Kolkata", "Asia/Kathmandu"]),
)
def test_local_days_sum_to_the_range(
    database: Database, new_tenant: NewTenant, book: PriceBook, batch: list[dict[str, Any]], tz: str
) -> None:
    tenant = new_tenant(tz)
    ingest(database.app, tenant, book, json.dumps(batch).encode())
    days = [date(2026, 6, 30) + timedelta(days=number) for number in range(9)]
    each = [_total(database, tenant, str(one), str(two), tz) for one, two in pairwise(days)]
    whole = _total(database, tenant, str(days[0]), str(days[-1]), tz)
    assert sum(each) == whole
    assert whole == sum((row[6] for row in _ledger(database, tenant) if row[6] is not None), Decimal(0))


@SOME
@given(
    mine=st.lists(events(), min_size=1, max_size=10, unique_by=lambda one: one["event_id"]),
    theirs=st.lists(events(), min_size=1, max_size=10, unique_by=lambda one: one["event_id"]),
)
def test_tenants_never_see_each_other(
    database: Database, new_tenant: NewTenant, book: PriceBook, mine: list[dict[str, Any]], theirs: list[dict[str, Any]]
) -> None:
    one, two = new_tenant(), new_tenant()
    for half in (slice(0, None, 2), slice(1, None, 2)):  # In turns, so that each finds rows of the other.
        for tenant, events_of_it in ((one, mine), (two, theirs)):
            ingest(database.app, tenant, book, json.dumps(events_of_it[half]).encode())
    assert {row[0] for row in _ledger(database, one)} <= {f"{own['event_id']}:0" for own in mine}
    assert {row[0] for row in _ledger(database, two)} <= {f"{other['event_id']}:0" for other in theirs}
