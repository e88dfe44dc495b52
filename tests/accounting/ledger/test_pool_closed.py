"""What becomes of a pool hour after its month is closed: an event revised or voided, a bill that changes?

The hour's bill is 2.49 USD and `a` is alone in it, 3 s of 3,600: 0.002075 attributed. Its steps take 1.051505 s by the curve:
0.010 + 1,000 x 0.00002 + 1,000^2 / 2 x 0.000000002 = 0.031 for the prompt, 100 x (0.010 + 0.0001) + 0.0000001 x 105,050 = 1.020505 for
the tokens after the first, at contexts 1,001 to 1,100. Direct is 2.49 x 1.051505 / 3,600 = 0.000727290958333, gap 0.002075 less that,
0.001347709041667, idle 2.49 - 0.002075 = 2.487925.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from accounting.ledger.check import check
from accounting.ledger.closing import close_month, moved
from accounting.ledger.pool_bill_imports import import_bills
from accounting.ledger.revise import void
from accounting.selfhosted.imports.own_csv import read_own_csv
from accounting.storage.pool_bills import CSV
from accounting.storage.pools import record_pool
from tests.accounting.ledger.pool_world import LATER, POOL, PoolWorld, a, b
from tests.conftest import Database

pytestmark = pytest.mark.storage
TEN = "01T10"
OCTOBER, NOVEMBER = date(2026, 10, 1), date(2026, 11, 1)
NONE, BILL, NEXT = Decimal(0), Decimal("2.49"), Decimal("3.00")
DIRECT, GAP, IDLE = Decimal("0.000727290958333"), Decimal("0.001347709041667"), Decimal("2.487925")


@pytest.fixture
def world(database: Database) -> PoolWorld:
    """The hour settled, its month closed."""
    made = PoolWorld.make(database)
    made.send(a(user_id="ada"))
    made.bill("2.49", TEN)
    made.settle()
    close_month(database.app, made.tenant, OCTOBER, "ann", now=LATER)
    return made


def settled(world: PoolWorld) -> None:
    """A run, after which the closed month is what it was and a further run does nothing."""
    world.settle()
    assert world.settle() == 0
    assert moved(world.database.app, world.tenant, check(world.database.app, world.tenant)) == []


def noted(world: PoolWorld) -> tuple[Decimal, ...]:
    [row] = world.query("SELECT bill, direct, gap, idle, unallocated_gap, unallocated_idle FROM settled_pool_hours")
    assert row[0] == row[1] + row[2] + row[3]
    return tuple(row)


def later(world: PoolWorld, basis: str = "effective_cost") -> list[tuple[str, Decimal]]:
    """Idle lines booked after the close: currency and amount."""
    query = (
        "SELECT billing_currency, {} FROM charges WHERE reason = 'idle' AND booking_period = :month ORDER BY charge_id"
    )
    return [(row[0], row[1]) for row in world.query(query.format(basis), month=NOVEMBER)]


def test_revisions_after_the_close_take_the_share_back_before_they_charge_it(world: PoolWorld) -> None:
    """Each revision returns 0.000727290958333 of direct and owes as much: the terms stay, however often."""
    for user in ("bob", "cid"):
        world.revise(a(user_id=user))
        settled(world)
        assert noted(world) == (BILL, DIRECT, GAP, IDLE, NONE, NONE)
    assert later(world) == []


def test_a_call_voided_after_the_close_leaves_its_cost_to_nobody(world: PoolWorld) -> None:
    """Direct 0, gap 0.000727290958333 + 0.001347709041667 = 0.002075; both gap and idle are unallocated now."""
    void(world.database.app, world.tenant, "a", "a test")
    settled(world)
    assert noted(world) == (BILL, NONE, DIRECT + GAP, IDLE, Decimal("0.002075"), IDLE)


def test_what_a_bill_changes_by_after_the_close_is_idle_of_the_open_month(world: PoolWorld) -> None:
    """2.49 to 3.00: 0.51 more, idle 2.997925. To 2.40: 0.60 less, idle 2.397925. The request keeps 0.002075."""
    world.bill("3.00", TEN)
    settled(world)
    assert noted(world) == (NEXT, DIRECT, GAP, Decimal("2.997925"), NONE, Decimal("0.51"))
    world.bill("2.40", TEN)
    settled(world)
    assert noted(world) == (Decimal("2.40"), DIRECT, GAP, Decimal("2.397925"), NONE, Decimal("-0.09"))
    for basis in ("effective_cost", "direct_cost", "fully_loaded_cost"):
        assert later(world, basis) == [("USD", Decimal("0.51")), ("USD", Decimal("-0.60"))]
    assert world.costs(TEN) == {"a": 2_075_000_000_000}
    assert world.totals(TEN) == {Decimal("2.40")}


def test_a_late_event_and_a_bill_that_changes_come_together(world: PoolWorld) -> None:
    """`b` is charged against the gap, 0.51 goes to idle: idle 2.997925 whatever `b` owes, direct and gap 0.002075 still."""
    world.send(b())
    world.bill("3.00", TEN)
    settled(world)
    bill, direct, gap, idle, *_ = noted(world)
    assert (bill, direct + gap, idle) == (NEXT, Decimal("0.002075"), Decimal("2.997925"))
    assert later(world) == [("USD", Decimal("0.51"))]
    costs = world.costs(TEN)
    assert costs["a"] == 2_075_000_000_000
    assert costs["b"] > 0


def test_a_bill_in_another_currency_after_the_close_takes_the_old_one_back(world: PoolWorld) -> None:
    """2.49 USD are taken back from idle and 2.25 EUR booked there; the request keeps its USD."""
    record_pool(world.database.app, world.tenant, replace(world.settings[POOL], billing_currency="EUR"), "test")
    row = {"pool": POOL, "hour": "2026-10-01T10:00:00Z", "cost": "2.25", "currency": "EUR"}
    import_bills(world.database.app, world.tenant, read_own_csv([(1, row)]), CSV, "a.csv", "test")
    settled(world)
    assert later(world) == [("EUR", Decimal("2.25")), ("USD", Decimal("-2.49"))]
    assert noted(world) == (Decimal("2.25"), NONE, NONE, Decimal("2.25"), NONE, Decimal("2.25"))
    sums = world.query("SELECT billing_currency, sum(effective_cost) FROM charges GROUP BY 1 ORDER BY 1")
    assert sums == [("EUR", Decimal("2.25")), ("USD", 0)]
    assert world.costs(TEN) == {"a": 2_075_000_000_000}
