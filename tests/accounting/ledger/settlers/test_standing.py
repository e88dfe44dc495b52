"""A settlement begins where something changed; its lines are those of the whole term. The model costs 2 a million tokens in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from accounting.ledger.revise import void
from accounting.ledger.rollups import rebuild
from accounting.ledger.settle import settle
from accounting.ledger.settlers import cells, contracts
from accounting.ledger.settlers.standing import period_start
from accounting.pipeline import ingest
from accounting.pricing.book import PriceBook
from accounting.pricing.contract import Commitment, Contract, Credit, Scope, VolumeStep, VolumeTier
from accounting.pricing.tariff import Alias, Tariff
from accounting.storage.changes import ALWAYS
from accounting.storage.contracts import record, withdraw
from accounting.storage.engine import transaction
from accounting.storage.retention import apply_retention, erase_user, set_retention
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.accounting.ledger.prices import stored_book
from tests.conftest import Database
from tests.events import body, event

pytestmark = pytest.mark.storage

ROW = Tariff("acme", "m", {"uncached_input": 2 * 10**9}, source="test", source_version="1")
JUNE, JULY, AUGUST, SEPTEMBER = (datetime(2026, month, 1, tzinfo=UTC) for month in (6, 7, 8, 9))
MIDDLE = datetime(2026, 6, 15, 9, tzinfo=UTC)
HALF = (VolumeStep(1_000_000, "discount", "0.5"),)
MONTHLY = VolumeTier("bulk", Scope(), None, HALF)
FROM_THE_15TH = VolumeTier("bulk", Scope(), None, HALF, "contract_month")
YEAR = Commitment("year", "prepaid", "9.000000000000001", date(2026, 6, 20), date(2026, 8, 10))
LEAST = Commitment("least", "minimum_spend", "20", date(2026, 7, 1), date(2026, 8, 31))
GIFT = Credit(
    "gift", "1.333333333333333", 1, datetime(2026, 7, 5, 12, 7, tzinfo=UTC), datetime(2026, 8, 20, tzinfo=UTC)
)
CONTRACTS = {
    "months": Contract("months", "t", "acme", "USD", JUNE, None, (), (MONTHLY,), (YEAR, LEAST), (GIFT,)),
    "from the 15th": Contract("k", "t", "acme", "USD", MIDDLE, None, (), (FROM_THE_15TH,), (YEAR,)),
    "both": Contract("k", "t", "acme", "USD", MIDDLE, None, (), (MONTHLY, replace(FROM_THE_15TH, tier_id="own"))),
    "no tier": Contract("k", "t", "acme", "USD", JUNE, SEPTEMBER, (), (), (YEAR, LEAST), (GIFT,)),
}  # fmt: skip
NUMBERS = count(1)

Tenant = Callable[[str, Contract | None], TenantContext]


@pytest.fixture(scope="module")
def book(database: Database) -> PriceBook:
    return stored_book(database, [ROW], [Alias("acme", "m", "m", "test")])


@pytest.fixture(scope="module")
def tenant_with(database: Database, book: PriceBook) -> Tenant:
    def make(zone: str = "UTC", contract: Contract | None = None) -> TenantContext:
        name = f"standing{next(NUMBERS)}"
        create_tenant(database.owner, name, name, zone)
        tenant = context(database.app, name)
        if contract is not None:
            record(database.app, tenant, replace(contract, tenant=name), "test")
        return tenant

    return make


def _call(event_id: str, user: str, moment: str, tokens: int = 1_000_000) -> dict[str, Any]:
    usage = {"input_tokens": tokens, "output_tokens": 0}
    return event(event_id, provider="acme", model="m", user_id=user, occurred_at=moment, usage=usage)


def _standings(database: Database, tenant: TenantContext) -> dict[str, dict[str, str]]:
    with transaction(database.app, tenant.tenant) as connection:
        rows = connection.execute(text("SELECT until::date::text AS day, used FROM contract_standings ORDER BY until"))
        return {row.day: row.used for row in rows}


@pytest.fixture
def read_since(monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
    """From where on each contract's usage was read."""
    seen: list[datetime] = []

    def noting(connection: Any, tenant: Any, contract: Contract, since: datetime, names: Any) -> list[cells.Cell]:
        seen.append(since)
        return cells.read_cells(connection, tenant, contract, since, names)

    monkeypatch.setattr(contracts, "read_cells", noting)
    return seen


def test_what_was_used_stands_at_the_begin_of_each_period(
    database: Database, book: PriceBook, tenant_with: Tenant
) -> None:
    """June: 2 for its million. July: 2, and 1 for its second million. August: 2, not prepaid any more, of which a gift takes 1.33."""
    tenant = tenant_with("UTC", CONTRACTS["months"])
    calls = [
        _call("a", "ann", "2026-06-25T12:00:00Z"),
        _call("b", "bob", "2026-07-09T12:00:00Z", 2_000_000),
        _call("c", "ann", "2026-08-15T12:00:00Z"),
    ]
    ingest(database.app, tenant, book, body(calls))
    settle(database.app, tenant)
    assert _standings(database, tenant) == {
        "2026-06-01": {},
        "2026-07-01": {"year": "2000000000000000"},
        "2026-08-01": {"year": "5000000000000000", "least": "3000000000000000"},
        "9000-01-01": {"year": "5000000000000000", "least": "5000000000000000", "gift": "1333333333333333"},
    }


def test_a_run_reads_usage_from_the_period_in_which_something_changed(
    database: Database, book: PriceBook, tenant_with: Tenant, read_since: list[datetime]
) -> None:
    tenant = tenant_with("UTC", CONTRACTS["months"])
    for event_id, moment in [
        ("a", "2026-06-25T12:00:00Z"),
        ("b", "2026-07-09T12:00:00Z"),
        ("c", "2026-08-15T12:00:00Z"),
    ]:
        ingest(database.app, tenant, book, body([_call(event_id, "ann", moment)]))
        settle(database.app, tenant)
    assert read_since == [ALWAYS, JUNE, JULY]
    read_since.clear()
    settle(database.app, tenant)
    void(database.app, tenant, "b", "test traffic")
    settle(database.app, tenant)
    settle(database.app, tenant, whole=True)
    assert read_since == [datetime(9000, 1, 1, tzinfo=UTC), JULY, ALWAYS]


def test_a_late_event_of_an_earlier_month_moves_what_came_after_it(
    database: Database, book: PriceBook, tenant_with: Tenant
) -> None:
    """August drew 2 of 3; a late June takes 2 first, so that 1 is left for August."""
    prepaid = Commitment("year", "prepaid", "3", date(2026, 6, 1), date(2026, 8, 31))
    tenant = tenant_with("UTC", replace(CONTRACTS["no tier"], commitments=(prepaid,), credits=()))
    for event_id, moment in (("a", "2026-08-15T12:00:00Z"), ("late", "2026-06-02T00:00:00Z")):
        ingest(database.app, tenant, book, body([_call(event_id, "ann", moment)]))
        settle(database.app, tenant)
    drawn = _lines(database, tenant, "sum(billed_cost)", "reason = 'drawn'")
    assert drawn == [("2026-06-02", "drawn", "-2.00"), ("2026-08-15", "drawn", "-1.00")]


def test_what_earlier_months_used_of_a_credit_is_gone(database: Database, book: PriceBook, tenant_with: Tenant) -> None:
    """June and July take 4 of a gift of 5, so that 1 is left for August; the last run reads nothing of June."""
    tenant = tenant_with("UTC", replace(CONTRACTS["no tier"], commitments=(), credits=(Credit("gift", "5", 1, JUNE),)))
    for day in ("2026-06-02", "2026-07-02", "2026-08-15"):
        ingest(database.app, tenant, book, body([_call(day, "ann", f"{day}T12:00:00Z")]))
        settle(database.app, tenant)
    given = _lines(database, tenant, "sum(billed_cost)", "reason = 'credit'")
    assert given == [
        ("2026-06-02", "credit", "-2.00"),
        ("2026-07-02", "credit", "-2.00"),
        ("2026-08-15", "credit", "-1.00"),
    ]


def test_the_earliest_event_of_a_body_says_from_when_on_usage_is_read(
    database: Database, book: PriceBook, tenant_with: Tenant, read_since: list[datetime]
) -> None:
    tenant = tenant_with("UTC", CONTRACTS["months"])
    for number, moments in enumerate((("2026-06-25", "2026-07-25", "2026-08-25"), ("2026-08-26", "2026-07-26"))):
        sent = [_call(f"{number}-{day}", "ann", f"{day}T12:00:00Z") for day in moments]
        ingest(database.app, tenant, book, body(sent))
        settle(database.app, tenant)
    assert read_since == [ALWAYS, JULY]


def _lines(database: Database, tenant: TenantContext, cost: str, where: str) -> list[tuple[str, ...]]:
    query = f"SELECT charge_period_start::date::text, reason, ({cost})::numeric(9, 2)::text FROM charges WHERE {where} GROUP BY 1, 2"
    with transaction(database.app, tenant.tenant) as connection:
        return sorted(tuple(row) for row in connection.execute(text(query)))


def test_a_commitment_ends_without_usage_being_read_again(
    database: Database, book: PriceBook, tenant_with: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """9 dollars bought, 2 drawn by July; once the last day is over 7 are unused, though no event came."""
    prepaid = Commitment("year", "prepaid", "9", date(2026, 6, 1), date(2026, 8, 31))
    tenant = tenant_with("UTC", replace(CONTRACTS["no tier"], commitments=(prepaid,), credits=()))
    ingest(database.app, tenant, book, body([_call("a", "ann", "2026-07-15T12:00:00Z")]))
    for now in (AUGUST, SEPTEMBER, SEPTEMBER):
        monkeypatch.setattr(contracts, "datetime", _clock(now))
        settle(database.app, tenant)
    assert _lines(database, tenant, "sum(effective_cost)", "true") == [
        ("2026-06-01", "purchase", "0.00"),
        ("2026-07-15", "drawn", "0.00"),
        ("2026-08-31", "unused", "7.00"),
    ]


def _clock(at: datetime) -> type[datetime]:
    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return at

    return Clock


def test_a_withdrawn_contract_is_worked_back_once(database: Database, book: PriceBook, tenant_with: Tenant) -> None:
    tenant = tenant_with("UTC", CONTRACTS["months"])
    ingest(database.app, tenant, book, body([_call("a", "ann", "2026-07-09T12:00:00Z")]))
    first = settle(database.app, tenant)["charges"]
    withdraw(database.app, tenant, "months", "test")
    assert [settle(database.app, tenant)["charges"] for _ in range(2)] == [first, 0]
    record(database.app, tenant, replace(CONTRACTS["months"], tenant=tenant.tenant), "test")
    assert settle(database.app, tenant)["charges"] == first


def test_contracts_whose_names_contain_each_other_keep_their_own_lines(
    database: Database, book: PriceBook, tenant_with: Tenant
) -> None:
    """`k` has the credit `1:gift`, `k:1` the credit `gift`: both are about the subject k:1:gift, and stay when one is settled anew."""
    tenant = tenant_with("UTC", None)

    def agreed(name: str, credit: str, amount: str) -> None:
        given = (Credit(credit, amount, 1, JUNE),)
        record(database.app, tenant, Contract(name, tenant.tenant, "acme", "USD", JUNE, credits=given), "test")

    agreed("k", "1:gift", "0.5")
    agreed("k:1", "gift", "0.5")
    ingest(database.app, tenant, book, body([_call("a", "ann", "2026-07-09T12:00:00Z")]))
    assert settle(database.app, tenant)["charges"] == 2
    agreed("k", "1:gift", "0.25")
    assert settle(database.app, tenant)["charges"] == 1


@pytest.mark.parametrize(
    ("contract", "moment", "start"),
    [
        ("months", "2026-07-31T23:59:59+00:00", JULY),
        ("from the 15th", "2026-07-14T23:59:59+00:00", datetime(2026, 6, 15, tzinfo=UTC)),
        ("from the 15th", "2026-07-15T00:00:00+00:00", datetime(2026, 7, 15, tzinfo=UTC)),
        ("both", "2026-07-15T00:00:00+00:00", ALWAYS),
        ("no tier", "2026-07-15T23:00:00+00:00", datetime(2026, 7, 15, tzinfo=UTC)),
    ],
)
def test_a_contract_can_be_resumed_where_no_period_of_a_tier_lies_across(
    contract: str, moment: str, start: datetime
) -> None:
    assert period_start(CONTRACTS[contract], datetime.fromisoformat(moment)) == start


def test_rebuilt_rollups_and_forgotten_identity_let_usage_be_looked_at_again(
    database: Database, book: PriceBook, tenant_with: Tenant, read_since: list[datetime]
) -> None:
    tenant = tenant_with("UTC", CONTRACTS["months"])
    ingest(database.app, tenant, book, body([_call("a", "ann", "2026-07-09T12:00:00Z")]))
    settle(database.app, tenant)
    read_since.clear()
    with transaction(database.owner, tenant.tenant) as connection:
        rebuild(connection, tenant.tenant, "UTC")
    settle(database.app, tenant)
    erase_user(database.owner, tenant.tenant, "ann")
    settle(database.app, tenant)
    set_retention(database.owner, tenant.tenant, None, 30)
    apply_retention(database.owner, tenant.tenant, SEPTEMBER)
    settle(database.app, tenant)
    assert read_since == [ALWAYS, ALWAYS, JULY]


MOMENTS = st.sampled_from(
    [
        "2026-06-14T23:59:59.999999Z",
        "2026-06-15T09:00:00Z",
        "2026-06-30T23:59:59.999999Z",
        "2026-07-01T00:00:00Z",
        "2026-07-05T12:06:59Z",
        "2026-07-05T12:07:00Z",
        "2026-07-15T00:00:00Z",
        "2026-07-31T15:00:00Z",
        "2026-08-10T23:59:59.999999Z",
        "2026-08-20T00:00:00Z",
        "2026-09-01T00:00:00Z",
    ]
)
CALLS = st.tuples(st.sampled_from(["ann", "bob"]), MOMENTS, st.integers(1, 1_500_000))
STEPS = st.lists(st.one_of(CALLS, st.just("settle"), st.integers(0, 9)), min_size=3, max_size=14)
"""A call to book, a settlement, or the number of an earlier call to void."""


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(sorted(CONTRACTS)), zone=st.sampled_from(["UTC", "Asia/Tokyo"]), steps=STEPS)
def test_the_whole_term_has_no_line_to_add(
    database: Database, book: PriceBook, tenant_with: Tenant, name: str, zone: str, steps: list[Any]
) -> None:
    tenant = tenant_with(zone, CONTRACTS[name])
    calls = 0
    for step in steps:
        if step == "settle":
            settle(database.app, tenant)
        elif isinstance(step, tuple):
            ingest(database.app, tenant, book, body([_call(f"e{calls}", *step)]))
            calls += 1
        elif step < calls:
            void(database.app, tenant, f"e{step}", "test traffic")
    settle(database.app, tenant)
    assert settle(database.app, tenant, whole=True)["charges"] == 0
