"""Re-pricing: what it offers, what it appends, and that it never edits. Model o3 is priced 2 a million in, 8 out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from sqlalchemy import text

from accounting.errors import Busy, InvalidInput
from accounting.ledger.check import check, differences
from accounting.ledger.reprice import RepriceFilter, RepricePlan, reprice
from accounting.ledger.reprice_apply import append
from accounting.ledger.reprice_compare import Comparison
from accounting.ledger.reprice_scan import scan
from accounting.ledger.revise import revise, void
from accounting.ledger.rollups import rebuild
from accounting.ledger.settle import ALONE
from accounting.pipeline import TenantContext, ingest
from accounting.pricing.book import PriceBook
from accounting.pricing.contract import Contract, PriceRule, Scope
from accounting.pricing.contracted import contracted_rows
from accounting.pricing.tariff import Alias, Tariff
from accounting.storage.engine import read_only, transaction
from accounting.storage.tenants import context, create_tenant
from tests.accounting.ledger.prices import stored_book
from tests.conftest import Database
from tests.events import body, event
from tests.own_tenant import own_tenant

pytestmark = pytest.mark.storage

JULY, AUGUST = datetime(2026, 7, 1, tzinfo=UTC), datetime(2026, 8, 1, tzinfo=UTC)
MILLION = 10**9
OLD = Tariff("openai", "o3", {"uncached_input": 2 * MILLION, "output": 8 * MILLION}, source="test", source_version="1")
NEW = replace(OLD, prices={"uncached_input": 3 * MILLION, "output": 8 * MILLION})
OTHER = Tariff(
    "openai", "acme", {"uncached_input": 5 * MILLION, "output": 5 * MILLION}, source="test", source_version="1"
)
NAMES = [Alias("openai", "o3", "o3", "test"), Alias("openai", "acme", "acme", "test")]


@pytest.fixture(scope="module")
def books(database: Database) -> dict[str, PriceBook]:
    """`old`: o3 alone. `new`: o3 dearer and acme too. `less`: acme alone."""
    rows = {"old": [OLD], "new": [NEW, OTHER], "less": [OTHER]}
    return {name: stored_book(database, tariffs, NAMES) for name, tariffs in rows.items()}


@pytest.fixture
def tenant(database: Database, request: pytest.FixtureRequest, books: dict[str, PriceBook]) -> TenantContext:
    """Two priced events (0.0028 each), one without a price, one void; all in July by the old book."""
    name = own_tenant(request.node.name)
    create_tenant(database.owner, name, name)
    found = context(database.app, name)
    events = [
        event("a", user_id="ann"),
        event("b", user_id="bob", occurred_at="2026-07-31T23:59:59Z"),
        event("n", model="acme", user_id="ann"),
        event("v"),
    ]
    ingest(database.app, found, books["old"], body(events))
    void(database.app, found, "v", "test traffic")
    return found


def _ledger(database: Database, tenant: TenantContext) -> dict[str, tuple[int, Decimal]]:
    query = text(
        "SELECT charge_status, sum(events), coalesce(sum(effective_cost), 0) FROM ledger GROUP BY 1 ORDER BY 1"
    )
    with transaction(database.app, tenant.tenant) as connection:
        return {row[0]: (int(row[1]), row[2]) for row in connection.execute(query)}


def _exact(database: Database, tenant: TenantContext) -> bool:
    return differences(check(database.app, tenant)) == []


def _shown(lines: Iterable[dict[str, object]]) -> list[tuple[object, ...]]:
    names = ("model", "user_id", "cause", "events", "old_contracted_cost", "new_contracted_cost")
    return sorted(tuple(line[name] for name in names) for line in lines)


def test_the_same_book_changes_nothing(database: Database, tenant: TenantContext, books: dict[str, PriceBook]) -> None:
    plan = reprice(database.app, tenant, books["old"], JULY, AUGUST, apply=True)
    assert (plan.read, plan.changed, plan.unpriced, plan.charges) == (3, 0, 1, 0)


def test_a_plan_says_who_pays_what_and_why_and_leaves_the_ledger(
    database: Database, tenant: TenantContext, books: dict[str, PriceBook]
) -> None:
    plan = reprice(database.app, tenant, books["new"], JULY, AUGUST)
    assert (plan.read, plan.changed, plan.unpriced, plan.run_id) == (3, 3, 0, None)
    assert _shown(plan.to_json()["lines"]) == [
        ("acme", "ann", "back_dated_row", 1, None, "0.0055"),  # 1,100 tokens at 5
        ("o3", "ann", "back_dated_row", 1, "0.0028", "0.0038"),  # 1,000 at 3, 100 at 8
        ("o3", "bob", "back_dated_row", 1, "0.0028", "0.0038"),
    ]
    [total] = plan.to_json()["totals"]
    assert (total["old_contracted_cost"], total["new_contracted_cost"]) == ("0.0056", "0.0131")
    assert sorted(change.event_id for change in plan.changes) == ["a", "b", "n"]
    assert _ledger(database, tenant) == {"priced": (2, Decimal("0.0056")), "unpriced": (1, Decimal(0))}


def test_applying_appends_corrections_and_doing_it_again_nothing(
    database: Database, tenant: TenantContext, books: dict[str, PriceBook]
) -> None:
    plan = reprice(database.app, tenant, books["new"], JULY, AUGUST, apply=True, run_id="july-again")
    assert (plan.changed, plan.charges) == (3, 4)
    assert _ledger(database, tenant) == {"priced": (3, Decimal("0.0131")), "unpriced": (0, Decimal(0))}
    assert _exact(database, tenant)
    query = text(
        "SELECT charge_id, class, run_id, supersedes, reason, effective_cost FROM charges WHERE basis <> 'reversal' "
        "ORDER BY charge_id"
    )
    with transaction(database.app, tenant.tenant) as connection:
        assert [tuple(row) for row in connection.execute(query)] == [
            ("a:0/correction/1", "Correction", "july-again", "a:0", "back_dated_row", Decimal("0.001")),
            ("b:0/correction/1", "Correction", "july-again", "b:0", "back_dated_row", Decimal("0.001")),
            ("n:0/correction/1", "Correction", "july-again", "n:0", "back_dated_row", Decimal("0.0055")),
        ]
        assert (
            connection.execute(text("SELECT charges FROM settlement_runs WHERE run_id = 'july-again'")).scalar_one()
            == 4
        )
    again = reprice(database.app, tenant, books["new"], JULY, AUGUST, apply=True)
    assert (again.read, again.changed, again.charges) == (3, 0, 0)


def test_a_withdrawn_row_leaves_its_events_without_a_price(
    database: Database, tenant: TenantContext, books: dict[str, PriceBook]
) -> None:
    reprice(database.app, tenant, books["new"], JULY, AUGUST, apply=True)
    plan = reprice(database.app, tenant, books["less"], JULY, AUGUST, apply=True)
    assert {line["cause"] for line in plan.lines()} == {"withdrawn_row"}
    assert _ledger(database, tenant) == {"priced": (1, Decimal("0.0055")), "unpriced": (2, Decimal(0))}
    assert reprice(database.app, tenant, books["less"], JULY, AUGUST).changed == 0
    back = reprice(database.app, tenant, books["old"], JULY, AUGUST, apply=True)
    assert back.changed == 3
    assert _ledger(database, tenant) == {"priced": (2, Decimal("0.0056")), "unpriced": (1, Decimal(0))}
    assert _exact(database, tenant)


def test_corrected_events_can_be_voided_and_revised(
    database: Database, tenant: TenantContext, books: dict[str, PriceBook]
) -> None:
    reprice(database.app, tenant, books["new"], JULY, AUGUST, apply=True)
    void(database.app, tenant, "a", "test traffic")
    void(database.app, tenant, "n", "test traffic")
    revise(database.app, tenant, books["new"], "b", body([event("b", usage={"output_tokens": 200})])[1:-1])
    assert _ledger(database, tenant)["priced"] == (1, Decimal("0.0046"))  # 1,000 at 3, 200 at 8
    assert reprice(database.app, tenant, books["new"], JULY, AUGUST).changed == 0
    assert _exact(database, tenant)


def test_voiding_a_re_priced_event_again_names_the_same_lines(
    database: Database, tenant: TenantContext, books: dict[str, PriceBook]
) -> None:
    """`n` was reversed and stated anew by two runs, `a` got a difference: only what the void itself reversed is named."""
    reprice(database.app, tenant, books["new"], JULY, AUGUST, apply=True)
    reprice(database.app, tenant, books["old"], JULY, AUGUST, apply=True)
    for event_id, reversed_now in (
        ("a", ["a:0", "a:0/correction/1", "a:0/correction/2"]),
        ("n", ["n:0/correction/3"]),
    ):
        first = void(database.app, tenant, event_id, "test traffic")
        assert first["reversed_charge_ids"] == reversed_now
        assert void(database.app, tenant, event_id, "again") == first
    assert _exact(database, tenant)


def test_rebuilt_rollups_are_the_same(database: Database, tenant: TenantContext, books: dict[str, PriceBook]) -> None:
    reprice(database.app, tenant, books["new"], JULY, AUGUST, apply=True)
    query = text("SELECT * FROM rollup_15m WHERE events <> 0 OR list_cost <> 0 ORDER BY 2, 3, 4, 5, 6, 7")
    with transaction(database.app, tenant.tenant) as connection:
        before = connection.execute(query).all()
        rebuild(connection, tenant.tenant, tenant.reporting_tz)
        assert connection.execute(query).all() == before


def test_a_filter_and_a_period_choose_events(
    database: Database, tenant: TenantContext, books: dict[str, PriceBook]
) -> None:
    def changed(where: str, until: datetime = AUGUST) -> list[str]:
        plan = reprice(database.app, tenant, books["new"], JULY, until, where=RepriceFilter.parse(where))
        return sorted(change.event_id for change in plan.changes)

    assert changed("user=ann") == ["a", "n"]
    assert changed("user=ann, model=o3") == ["a"]
    assert changed("seller=openai,status=unpriced") == ["n"]
    assert changed("", datetime(2026, 7, 31, tzinfo=UTC)) == ["a", "n"]


@pytest.mark.parametrize("where", ["colour=red", "model", "model=", "model=a,model=b"])
def test_a_filter_that_means_nothing_is_refused(where: str) -> None:
    with pytest.raises(InvalidInput, match="where="):
        RepriceFilter.parse(where)


def test_a_reported_cost_stays_and_only_its_list_cost_moves(database: Database, books: dict[str, PriceBook]) -> None:
    create_tenant(database.owner, "reported", "Reported")
    tenant = replace(context(database.app, "reported"), reported_costs=frozenset({("openai", "")}))
    ingest(database.app, tenant, books["old"], body([event("r", reported_cost_usd="0.002")]))
    plan = reprice(database.app, tenant, books["new"], JULY, AUGUST, apply=True)
    [line] = plan.to_json()["lines"]
    assert (line["old_list_cost"], line["new_list_cost"]) == ("0.0028", "0.0038")
    assert (line["old_contracted_cost"], line["new_contracted_cost"]) == ("0.002", "0.002")
    assert _ledger(database, tenant)["priced"] == (1, Decimal("0.002"))


def test_a_run_waits_for_no_other(database: Database, tenant: TenantContext, books: dict[str, PriceBook]) -> None:
    with transaction(database.app, tenant.tenant) as connection:
        connection.execute(ALONE, {"tenant": tenant.tenant})
        with pytest.raises(Busy, match="another settlement run"):
            reprice(database.app, tenant, books["new"], JULY, AUGUST, apply=True)


def test_an_event_that_was_corrected_meanwhile_is_left_to_the_next_run(
    database: Database, tenant: TenantContext, books: dict[str, PriceBook]
) -> None:
    """Between the look and the line someone voids `a`: its correction would come too late."""
    plan = RepricePlan(JULY, AUGUST)
    with read_only(database.app, tenant.tenant) as connection, read_only(database.app, tenant.tenant) as beside:
        comparison = Comparison(beside, books["new"])
        [chunk] = scan(connection, tenant.tenant, JULY, AUGUST, RepriceFilter())
        changed = comparison.compare(chunk, plan)
    void(database.app, tenant, "a", "test traffic")
    with transaction(database.app, tenant.tenant) as connection:
        assert append(connection, tenant, "late", changed) == (3, 1)
    assert _ledger(database, tenant)["priced"] == (2, Decimal("0.0093"))  # b at 0.0038, n at 0.0055
    assert _exact(database, tenant)


def test_an_amount_that_is_the_same_in_another_currency_is_a_change(
    database: Database, tenant: TenantContext, books: dict[str, PriceBook]
) -> None:
    euros = stored_book(database, [replace(OLD, currency="EUR")], NAMES)
    plan = reprice(database.app, tenant, euros, JULY, AUGUST)
    assert [(one.old_currency, one.new_currency, one.new_contracted_cost) for one in plan.changes] == [
        ("USD", "EUR", "0.0028")
    ] * 2


def test_a_contract_over_the_same_list_price_is_the_cause(
    database: Database, tenant: TenantContext, books: dict[str, PriceBook]
) -> None:
    half = PriceRule("half", "discount", Scope(), "0.5")
    contract = Contract("k", tenant.tenant, "openai", "USD", JULY, rules=(half,))
    signed = PriceBook(*contracted_rows([OLD], NAMES, [contract]))
    plan = reprice(database.app, tenant, (books["old"], signed), JULY, AUGUST)
    assert _shown(plan.to_json()["lines"]) == [
        ("o3", "ann", "contract", 1, "0.0028", "0.0014"),
        ("o3", "bob", "contract", 1, "0.0028", "0.0014"),
    ]


def test_a_row_known_at_the_instant_of_an_event_is_not_back_dated(
    database: Database, books: dict[str, PriceBook]
) -> None:
    create_tenant(database.owner, "instant", "Instant")
    tenant = context(database.app, "instant")
    with transaction(database.app, tenant.tenant) as connection:
        query = text("SELECT recorded_at FROM tariffs WHERE sku_price_id = :id")
        at = connection.execute(query, {"id": NEW.sku_price_id}).scalar_one()
    moments = {"at": at, "before": at - timedelta(microseconds=1)}
    ingest(
        database.app,
        tenant,
        books["old"],
        body([event(name, occurred_at=one.isoformat()) for name, one in moments.items()]),
    )
    plan = reprice(database.app, tenant, books["new"], at - timedelta(hours=1), at + timedelta(hours=1))
    assert {one.event_id: one.cause for one in plan.changes} == {"at": "new_row", "before": "back_dated_row"}
