"""Volume tiers, commitments and credits, each worked by hand to the last digit. The model costs 2 a million tokens in, 10 out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from accounting.ledger.check import check, differences
from accounting.ledger.revise import void
from accounting.ledger.settle import settle
from accounting.money import format_plain
from accounting.pipeline import ingest
from accounting.pricing.book import PriceBook
from accounting.pricing.contract import Commitment, Contract, Credit, Scope, VolumeStep, VolumeTier
from accounting.pricing.tariff import Alias, Tariff
from accounting.storage import audit
from accounting.storage.contracts import record, withdraw
from accounting.storage.engine import transaction
from accounting.storage.price_records import name_models
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.accounting.ledger.prices import stored_book
from tests.conftest import Database
from tests.events import body, event

pytestmark = pytest.mark.storage

JUNE, JULY, AUGUST = (datetime(2026, month, 1, tzinfo=UTC) for month in (6, 7, 8))
ROW = Tariff("acme", "m", {"uncached_input": 2 * 10**9, "output": 10 * 10**9}, source="test", source_version="1")
NAMES = [Alias("acme", "m", "m", "test")]
INPUT = Scope(token_classes=frozenset({"uncached_input"}))
TIER = VolumeTier(
    "bulk",
    INPUT,
    None,
    (VolumeStep(1_000_000, "price", "1"), VolumeStep(2_000_000, "discount", "0.75")),
)
NUMBERS = count(1)

Signed = Callable[..., TenantContext]


@pytest.fixture(scope="module")
def book(database: Database) -> PriceBook:
    return stored_book(database, [ROW], NAMES)


@pytest.fixture
def signed(database: Database, book: PriceBook) -> Signed:
    """Makes a tenant that has a contract with these parts from July on."""

    def make(zone: str = "UTC", **parts: Any) -> TenantContext:
        name = f"signed{next(NUMBERS)}"
        create_tenant(database.owner, name, name, zone)
        tenant = context(database.app, name)
        record(database.app, tenant, Contract("k1", name, "acme", "USD", JULY, **parts), "test")
        return tenant

    return make


def _call(event_id: str, user: str, day: str, tokens: int, output: int = 0) -> dict[str, Any]:
    usage = {"input_tokens": tokens, "output_tokens": output}
    return event(event_id, provider="acme", model="m", user_id=user, occurred_at=f"{day}T12:00:00Z", usage=usage)


THREE_MILLION = [
    _call("a", "ann", "2026-07-03", 1_200_000),
    _call("b", "bob", "2026-07-09", 1_500_000),
    _call("c", "bob", "2026-07-09", 300_000),
]
"""ann 2.4, bob 3.6: 6 dollars at the contracted price."""


def _book_and_settle(
    database: Database, tenant: TenantContext, book: PriceBook, events: Iterable[dict[str, Any]]
) -> None:
    ingest(database.app, tenant, book, body(events))
    settle(database.app, tenant)


def _costs(database: Database, tenant: TenantContext, by: str = "coalesce(user_id, '-')") -> dict[str, tuple[str, ...]]:
    """Key -> list, contracted, effective and billed cost of the ledger."""
    names = ("list_cost", "contracted_cost", "effective_cost", "billed_cost")
    query = f"SELECT {by}, {', '.join(f'coalesce(sum({name}), 0)' for name in names)} FROM ledger GROUP BY 1 ORDER BY 1"
    with transaction(database.app, tenant.tenant) as connection:
        return {row[0]: tuple(format_plain(cost) for cost in row[1:]) for row in connection.execute(text(query))}


def _lines(database: Database, tenant: TenantContext) -> int:
    with transaction(database.app, tenant.tenant) as connection:
        return int(connection.execute(text("SELECT count(*) FROM charges")).scalar_one())


def _exact(database: Database, tenant: TenantContext) -> bool:
    return differences(check(database.app, tenant)) == []


def test_a_marginal_tier_prices_each_part_of_the_month_by_its_step(
    database: Database, book: PriceBook, signed: Signed
) -> None:
    """The first million costs 2, the second 1, the third a quarter of 2: 3.5 instead of 6, shared 2.4 to 3.6."""
    tenant = signed(volume_tiers=(TIER,))
    _book_and_settle(database, tenant, book, THREE_MILLION)
    assert _costs(database, tenant) == {
        "ann": ("2.4", "1.4", "1.4", "1.4"),
        "bob": ("3.6", "2.1", "2.1", "2.1"),
    }
    assert _exact(database, tenant)


def test_tokens_beside_the_counted_classes_keep_their_price(
    database: Database, book: PriceBook, signed: Signed
) -> None:
    """1.5 million in: 2 + 0.5 instead of 3. 100,000 out stay at 1."""
    tenant = signed(volume_tiers=(TIER,))
    _book_and_settle(database, tenant, book, [_call("a", "ann", "2026-07-03", 1_500_000, 100_000)])
    assert _costs(database, tenant)["ann"] == ("4", "3.5", "3.5", "3.5")


def test_each_month_begins_at_the_first_step(database: Database, book: PriceBook, signed: Signed) -> None:
    tenant = signed(volume_tiers=(TIER,))
    events = [_call("a", "ann", "2026-07-31", 1_000_000), _call("b", "bob", "2026-08-01", 1_000_000)]
    _book_and_settle(database, tenant, book, events)
    assert _lines(database, tenant) == 0


def test_usage_before_the_contract_is_none_of_its_business(database: Database, book: PriceBook, signed: Signed) -> None:
    tenant = signed(volume_tiers=(TIER,))
    _book_and_settle(database, tenant, book, [_call("a", "ann", "2026-06-30", 5_000_000)])
    assert _lines(database, tenant) == 0


def _at(moment: str, user: str, tokens: int) -> dict[str, Any]:
    return _call(f"at-{moment}", user, "2026-07-01", tokens) | {"occurred_at": moment}


def test_a_contract_counts_from_its_first_instant_on(database: Database, book: PriceBook, signed: Signed) -> None:
    """1.5 million at its first instant: 2 + 0.5 instead of 3. What came an instant earlier keeps its price and fills no step."""
    tenant = signed(volume_tiers=(TIER,))
    events = [
        _at("2026-06-30T23:59:59.999999Z", "early", 1_500_000),
        _at("2026-07-01T00:00:00Z", "first", 1_500_000),
    ]
    _book_and_settle(database, tenant, book, events)
    assert _costs(database, tenant) == {"early": ("3", "3", "3", "3"), "first": ("3", "2.5", "2.5", "2.5")}


def test_a_commitment_holds_on_its_first_and_its_last_day(database: Database, book: PriceBook, signed: Signed) -> None:
    tenant = signed(commitments=(Commitment("c1", "prepaid", "10", date(2026, 7, 2), date(2026, 7, 30)),))
    events = [
        _at("2026-07-01T23:59:59.999999Z", "before", 1_000_000),
        _at("2026-07-02T00:00:00Z", "first", 1_000_000),
        _at("2026-07-30T23:59:59.999999Z", "last", 1_000_000),
        _at("2026-07-31T00:00:00Z", "after", 1_000_000),
    ]
    _book_and_settle(database, tenant, book, events)
    billed = {user: costs[3] for user, costs in _costs(database, tenant, "coalesce(user_id, reason)").items()}
    assert billed == {"before": "2", "first": "0", "last": "0", "after": "2", "purchase": "10", "unused": "0"}


def test_settling_again_appends_nothing_and_a_late_event_only_the_difference(
    database: Database, book: PriceBook, signed: Signed
) -> None:
    tenant = signed(volume_tiers=(TIER,))
    _book_and_settle(database, tenant, book, THREE_MILLION[:2])
    before = _lines(database, tenant)
    assert settle(database.app, tenant)["charges"] == 0
    _book_and_settle(database, tenant, book, THREE_MILLION[2:])
    assert _costs(database, tenant)["ann"] == ("2.4", "1.4", "1.4", "1.4")
    assert _lines(database, tenant) == before + 2
    assert _exact(database, tenant)


def test_a_void_event_and_a_withdrawn_contract_are_worked_back(
    database: Database, book: PriceBook, signed: Signed
) -> None:
    tenant = signed(volume_tiers=(TIER,))
    _book_and_settle(database, tenant, book, THREE_MILLION)
    void(database.app, tenant, "b", "test traffic")
    settle(database.app, tenant)
    # 1.5 million are left: 2 + 0.5 instead of 3, ann 2.4 of 3 and bob 0.6.
    assert _costs(database, tenant) == {"ann": ("2.4", "2", "2", "2"), "bob": ("0.6", "0.5", "0.5", "0.5")}
    withdraw(database.app, tenant, "k1", "test")
    settle(database.app, tenant)
    assert _costs(database, tenant)["ann"] == ("2.4", "2.4", "2.4", "2.4")
    assert _exact(database, tenant)


def test_a_prepaid_commitment_is_bought_drawn_and_what_is_left_is_unused(
    database: Database, book: PriceBook, signed: Signed
) -> None:
    """10 paid on 1 July; 6 used, 4 unused at the end. Effective and billed are 10 each, list cost of usage stays 6."""
    tenant = signed(commitments=(Commitment("c1", "prepaid", "10", date(2026, 7, 1), date(2026, 7, 31)),))
    _book_and_settle(database, tenant, book, THREE_MILLION)
    assert _costs(database, tenant, "coalesce(user_id, reason)") == {
        "ann": ("2.4", "2.4", "2.4", "0"),
        "bob": ("3.6", "3.6", "3.6", "0"),
        "purchase": ("10", "10", "0", "10"),
        "unused": ("0", "0", "4", "0"),
    }
    assert _costs(database, tenant, "category") == {
        "Purchase": ("10", "10", "0", "10"),
        "Usage": ("6", "6", "10", "0"),
    }
    assert _exact(database, tenant)


def test_beyond_a_commitment_usage_is_paid_and_its_last_day_is_shared(
    database: Database, book: PriceBook, signed: Signed
) -> None:
    """2.4 on the 3rd, then 2.6 for the 9th, where ann (0.6) and bob (3.6) used 4.2: 0.371428571428571 and 2.228571428571429."""
    tenant = signed(commitments=(Commitment("c1", "prepaid", "5", date(2026, 7, 1), date(2026, 7, 31)),))
    _book_and_settle(database, tenant, book, [*THREE_MILLION, _call("d", "ann", "2026-07-09", 300_000)])
    costs = _costs(database, tenant, "coalesce(user_id, reason)")
    assert costs == {
        "ann": ("3", "3", "3", "0.228571428571429"),
        "bob": ("3.6", "3.6", "3.6", "1.371428571428571"),
        "purchase": ("5", "5", "0", "5"),
    }
    assert sum(Decimal(cost[3]) for cost in costs.values()) == sum(Decimal(cost[2]) for cost in costs.values())


def test_a_minimum_spend_is_charged_for_what_usage_falls_short_of(
    database: Database, book: PriceBook, signed: Signed
) -> None:
    tenant = signed(commitments=(Commitment("m1", "minimum_spend", "7.5", date(2026, 7, 1), date(2026, 7, 31)),))
    _book_and_settle(database, tenant, book, THREE_MILLION)
    assert _costs(database, tenant, "category") == {
        "Purchase": ("1.5", "1.5", "1.5", "1.5"),
        "Usage": ("6", "6", "6", "6"),
    }
    _book_and_settle(database, tenant, book, [_call("e", "ann", "2026-07-20", 750_000)])
    assert _costs(database, tenant, "category")["Purchase"] == ("0", "0", "0", "0")
    assert _exact(database, tenant)


def test_credits_go_by_priority_then_expiry_then_id(database: Database, book: PriceBook, signed: Signed) -> None:
    """`first` (2) covers ann's 2.4 but for 0.4, which `early` takes, before `late` of the same priority."""
    given = (
        Credit("late", "1", 2, JULY, datetime(2026, 9, 1, tzinfo=UTC)),
        Credit("early", "1", 2, JULY, AUGUST),
        Credit("first", "2", 1, JULY, None),
    )
    tenant = signed(credits=given)
    _book_and_settle(database, tenant, book, THREE_MILLION)
    who = "coalesce(policy, 'usage') || ' ' || coalesce(user_id, '-')"
    assert {key: costs for key, costs in _costs(database, tenant, who).items() if "credit" in key} == {
        "credit:early ann": ("0", "0", "-0.4", "-0.4"),
        "credit:early bob": ("0", "0", "-0.6", "-0.6"),
        "credit:first ann": ("0", "0", "-2", "-2"),
        "credit:late bob": ("0", "0", "-1", "-1"),
    }
    assert _costs(database, tenant, "category") == {
        "Credit": ("0", "0", "-4", "-4"),
        "Usage": ("6", "6", "6", "6"),
    }
    assert _exact(database, tenant)


def test_a_credit_counts_from_its_first_instant_to_its_last(
    database: Database, book: PriceBook, signed: Signed
) -> None:
    """Two million tokens at 2 dollars are covered, on two days; what came a microsecond before or at its end is paid."""
    since, until = (datetime(2026, 7, day, 12, 7, 30, tzinfo=UTC) for day in (5, 6))
    tenant = signed(credits=(Credit("gift", "100", 1, since, until),))
    events = [
        _at("2026-07-05T12:07:29.999999Z", "before", 1_000_000),
        _at("2026-07-05T12:07:30Z", "first", 1_000_000),
        _at("2026-07-06T12:07:29.999999Z", "last", 1_000_000),
        _at("2026-07-06T12:07:30Z", "after", 1_000_000),
    ]
    _book_and_settle(database, tenant, book, events)
    billed = {user: costs[3] for user, costs in _costs(database, tenant).items()}
    assert billed == {"before": "2", "first": "0", "last": "0", "after": "2"}
    at = _costs(database, tenant, "charge_period_start::text || ' ' || category")
    assert {key: costs[3] for key, costs in at.items() if "Credit" in key} == {
        "2026-07-05 12:00:00+00 Credit": "-2",
        "2026-07-06 00:00:00+00 Credit": "-2",
    }
    assert _exact(database, tenant)


def test_no_line_of_a_contract_is_before_its_first_quarter_hour(database: Database, book: PriceBook) -> None:
    """Signed at 12:07: what its tier takes off an event of the evening stands at 12:00, not at the day's begin."""
    create_tenant(database.owner, "noon", "noon")
    tenant = context(database.app, "noon")
    noon = datetime(2026, 7, 5, 12, 7, tzinfo=UTC)
    record(database.app, tenant, Contract("k1", "noon", "acme", "USD", noon, volume_tiers=(TIER,)), "test")
    _book_and_settle(database, tenant, book, [_at("2026-07-05T20:00:00Z", "ann", 1_500_000)])
    at = _costs(database, tenant, "charge_period_start::text || ' ' || coalesce(reason, 'usage')")
    assert {key: costs[3] for key, costs in at.items() if "tier" in key} == {"2026-07-05 12:00:00+00 tier": "-0.5"}


def test_a_credit_is_drawn_in_the_order_of_instants_within_a_day(
    database: Database, book: PriceBook, signed: Signed
) -> None:
    """3 dollars from noon on: what ran before another credit began at 18:00 is covered first."""
    noon, evening = (datetime(2026, 7, 5, hour, tzinfo=UTC) for hour in (12, 18))
    tenant = signed(credits=(Credit("one", "3", 1, noon, None), Credit("two", "0.5", 2, evening, None)))
    events = [
        _at("2026-07-05T17:59:59Z", "early", 1_000_000),
        _at("2026-07-05T18:00:00Z", "late", 1_000_000),
    ]
    _book_and_settle(database, tenant, book, events)
    who = "coalesce(policy, 'usage') || ' ' || user_id"
    assert {key: costs[3] for key, costs in _costs(database, tenant, who).items() if "credit" in key} == {
        "credit:one early": "-2",
        "credit:one late": "-1",
        "credit:two late": "-0.5",
    }


def test_tier_commitment_and_credit_together(database: Database, book: PriceBook, signed: Signed) -> None:
    """The tier makes 3.5 of 6; 2 are prepaid, of the 1.5 left a credit takes 1; half a dollar is paid beside the 2."""
    tenant = signed(
        volume_tiers=(TIER,),
        commitments=(Commitment("c1", "prepaid", "2", date(2026, 7, 1), date(2026, 7, 31)),),
        credits=(Credit("gift", "1", 1, JULY, AUGUST),),
    )
    _book_and_settle(database, tenant, book, THREE_MILLION)
    assert _costs(database, tenant, "'all'")["all"] == ("8", "5.5", "2.5", "2.5")
    assert _costs(database, tenant, "category")["Credit"] == ("0", "0", "-1", "-1")
    assert _exact(database, tenant)


def test_a_line_lies_in_the_reporting_day_and_the_month_of_its_usage(
    database: Database, book: PriceBook, signed: Signed
) -> None:
    """Tokyo's 1 August begins in UTC's July: its first hours are July's tier and August's day."""
    tenant = signed("Asia/Tokyo", volume_tiers=(TIER,))
    late = {**_call("a", "ann", "2026-07-31", 2_000_000), "occurred_at": "2026-07-31T16:00:00Z"}
    _book_and_settle(database, tenant, book, [late])
    with transaction(database.app, tenant.tenant) as connection:
        query = text("SELECT day::text, booking_period::text, sum(effective_cost) FROM rollup_user_day GROUP BY 1, 2")
        assert [tuple(row) for row in connection.execute(query)] == [("2026-08-01", "2026-07-01", Decimal(3))]
    assert _exact(database, tenant)


EVERYTHING = {
    "volume_tiers": (TIER,),
    "commitments": (Commitment("c1", "prepaid", "2.000000000000001", date(2026, 7, 1), date(2026, 7, 31)),),
    "credits": (Credit("gift", "0.333333333333333", 1, JULY, AUGUST),),
}
CALLS = [
    _call("a", "ann", "2026-07-03", 1_200_001),
    _call("b", "bob", "2026-07-09", 777_777, 333),
    _call("c", "bob", "2026-07-09", 300_003),
    _call("d", "cat", "2026-07-05", 250_007, 77_777),
    _call("e", "ann", "2026-08-01", 1_500_001),
]


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_events_in_any_order_with_settlements_between_give_the_same_sums(
    database: Database, book: PriceBook, signed: Signed, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(CALLS))
    settled = data.draw(st.lists(st.booleans(), min_size=len(CALLS), max_size=len(CALLS)))
    tenant = signed(**EVERYTHING)
    for call, now in zip(order, settled, strict=True):
        ingest(database.app, tenant, book, body([call]))
        if now:
            settle(database.app, tenant)
    settle(database.app, tenant)
    key = "concat_ws(' ', user_id, category, policy, reason, charge_period_start::date, booking_period)"
    found = {place: costs for place, costs in _costs(database, tenant, key).items() if set(costs) != {"0"}}
    assert found == _at_once(database, book, signed)
    assert _exact(database, tenant)


_AT_ONCE: dict[str, dict[str, tuple[str, ...]]] = {}


def _at_once(database: Database, book: PriceBook, signed: Signed) -> dict[str, tuple[str, ...]]:
    """The sums when everything is there before the first settlement."""
    if database.name not in _AT_ONCE:
        tenant = signed(**EVERYTHING)
        _book_and_settle(database, tenant, book, CALLS)
        key = "concat_ws(' ', user_id, category, policy, reason, charge_period_start::date, booking_period)"
        _AT_ONCE[database.name] = {
            place: costs for place, costs in _costs(database, tenant, key).items() if set(costs) != {"0"}
        }
    return _AT_ONCE[database.name]


def _billed(database: Database, tenant: TenantContext) -> dict[str, str]:
    return {key: costs[3] for key, costs in _costs(database, tenant).items()}


@pytest.mark.parametrize(
    ("scope", "covered"),
    [
        (Scope(surfaces=frozenset({"Responses"})), {"ann"}),
        (Scope(regions=frozenset({"eu-west-1"})), {"bob"}),
        (Scope(models=frozenset({"M-Alias"})), {"ann", "bob", "cyd"}),
        (Scope(models=frozenset({"M"})), {"ann", "bob", "cyd"}),
        (Scope(models=frozenset({"another"})), set()),
    ],
)
def test_a_scope_is_about_the_calls_and_names_a_model_by_any_of_its_names(
    database: Database, book: PriceBook, signed: Signed, scope: Scope, covered: set[str]
) -> None:
    """A million in each at 2; the price row holds on every surface and in every region, so it says nothing of the calls."""
    with database.owner.begin() as connection:
        name_models(connection, [Alias("acme", "m-alias", "m", "test")], "litellm", audit.begin(connection))
    tenant = signed(credits=(Credit("gift", "100", 1, JULY, None, scope),))
    calls = [_call(user[0], user, "2026-07-03", 1_000_000) for user in ("ann", "bob", "cyd")]
    calls[0] |= {"surface": "responses"}
    calls[1] |= {"region": "EU-West-1"}
    _book_and_settle(database, tenant, book, calls)
    assert _billed(database, tenant) == {user: "0" if user in covered else "2" for user in ("ann", "bob", "cyd")}
    assert _exact(database, tenant)
