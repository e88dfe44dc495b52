"""Do pool hours stay exact whatever comes late, twice, in another order, or is taken back?"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from sqlalchemy import text

from accounting.errors import Conflict
from accounting.ledger.check import check
from accounting.ledger.closing import close_month, moved
from accounting.ledger.pool_check import check_pools
from accounting.ledger.revise import void
from accounting.storage.engine import transaction
from accounting.storage.pools import withdraw_pool
from tests.accounting.ledger.pool_world import LATER, POOL, Make, a, b, request

pytestmark = pytest.mark.storage
TEN, ELEVEN = "01T10", "01T11"
BILL = Decimal("2.49")


def test_an_hour_waits_for_its_bill_and_a_quarter_of_an_hour(make: Make) -> None:
    world = make()
    world.send(a())
    assert world.settle() == 0
    world.bill("2.49", TEN)
    assert world.settle(now=datetime(2026, 10, 1, 11, 14, 59, tzinfo=UTC)) == 0
    assert world.statuses() == {"pending_settlement": 1}
    assert world.settle(now=datetime(2026, 10, 1, 11, 15, tzinfo=UTC)) > 0
    assert world.statuses() == {"priced": 1}


def test_an_event_of_a_deployment_that_is_no_pool_is_unpriced_until_the_pool_is_stated(make: Make) -> None:
    world = make(pool_id="another")
    world.send(a())
    world.bill("2.49", TEN)
    assert world.settle() == 0
    assert world.statuses() == {"unpriced": 1}
    assert world.query("SELECT reason FROM usage_events") == [("pool_unknown",)]
    world.pool()
    world.settle()
    assert (world.statuses(), world.totals(TEN)) == ({"priced": 1}, {BILL})


def test_an_event_of_a_pool_that_was_taken_back_is_of_no_pool(make: Make) -> None:
    world = make()
    withdraw_pool(world.database.app, world.tenant, POOL, world.settings[POOL].effective_from, "test")
    world.send(a())
    assert world.query("SELECT charge_status, reason FROM usage_events") == [("unpriced", "pool_unknown")]
    world.pool()
    world.send(b())
    assert world.statuses() == {"unpriced": 1, "pending_settlement": 1}


def test_a_late_event_before_the_close_corrects_each_changed_event_once(make: Make) -> None:
    world = make()
    world.send(a(), request("far", "10:40:00", "10:40:01", "10:40:03"))
    world.bill("2.49", TEN)
    world.settle()
    first = world.costs(TEN, "direct_cost")
    world.send(b())
    world.settle()
    assert world.totals(TEN) == {BILL}
    second = world.costs(TEN, "direct_cost")
    assert second["a"] < first["a"], "a shares its steps with b now"
    assert second["far"] == first["far"]
    corrections = world.query(
        "SELECT subject_id, count(*) FROM charges WHERE class = 'Correction' AND subject_kind = 'event' GROUP BY 1 ORDER BY 1"
    )
    assert corrections == [("a", 1), ("far", 1)], "the gap of each moved too"
    assert world.statuses() == {"priced": 3}
    assert world.settle() == 0


def test_the_order_of_arrival_does_not_matter(make: Make) -> None:
    sent = [
        a(),
        b(),
        request("c", "10:59:58", "10:59:59", "11:00:05"),
        request("d", "11:00:00", "11:00:02", "11:00:04"),
    ]
    together, apart = make(), make()
    together.send(*sent)
    together.bill("2.49", TEN, ELEVEN)
    together.settle()
    apart.bill("2.49", ELEVEN)
    apart.send(sent[2])
    apart.settle()
    apart.bill("9.00", TEN)
    for one in (sent[3], sent[0], sent[1]):
        apart.settle()
        apart.send(one)
    apart.bill("2.49", TEN)
    apart.settle()
    for hour in (TEN, ELEVEN):
        assert apart.totals(hour) == together.totals(hour) == {BILL}
        for basis in ("effective_cost", "direct_cost", "fully_loaded_cost"):
            assert apart.costs(hour, basis) == together.costs(hour, basis)
    assert apart.statuses() == together.statuses() == {"priced": 4}


def test_a_void_gives_its_charges_to_the_gap_and_the_next_run_shares_it_anew(make: Make) -> None:
    world, other = make(), make()
    world.send(a(), b())
    world.bill("2.49", TEN)
    world.settle()
    void(world.database.app, world.tenant, "b", "a test")
    assert world.totals(TEN) == {BILL}
    assert world.hour_line(TEN, "gap") > 0
    assert world.settle() > 0
    other.send(a())
    other.bill("2.49", TEN)
    other.settle()
    assert world.costs(TEN)["a"] == other.costs(TEN)["a"]
    assert (world.costs(TEN)["b"], world.hour_line(TEN, "gap"), world.totals(TEN)) == (0, 0, {BILL})
    assert world.statuses() == {"priced": 1}
    assert world.settle() == 0


def test_voiding_a_request_across_hours_takes_back_both(make: Make) -> None:
    world = make()
    world.send(request("long", "10:59:58", "10:59:59", "11:00:05"))
    world.bill("2.49", TEN, ELEVEN)
    world.settle()
    assert world.costs(TEN)["long"] > 0
    assert world.costs(ELEVEN)["long"] > 0
    answer = void(world.database.app, world.tenant, "long", "a test")
    assert (world.costs(TEN)["long"], world.costs(ELEVEN)["long"]) == (0, 0)
    assert len(answer["reversed_charge_ids"]) == 2
    assert world.totals(TEN) == world.totals(ELEVEN) == {BILL}
    world.settle()
    assert world.totals(TEN) == world.totals(ELEVEN) == {BILL}
    assert world.hour_line(TEN, "gap") + world.hour_line(TEN, "idle") == BILL


def test_a_void_takes_back_what_has_a_fully_loaded_cost_alone(make: Make) -> None:
    """Of a bill of one unit all is idle; it is the fully loaded cost of the one request there, which came in an hour before."""
    world = make()
    world.send(request("long", "10:59:58", "10:59:59", "11:00:05"))
    world.bill("2.49", TEN)
    world.bill("0.000000000000001", ELEVEN)
    world.settle()
    assert (world.costs(ELEVEN), world.costs(ELEVEN, "fully_loaded_cost")) == ({"long": 0}, {"long": 1})
    void(world.database.app, world.tenant, "long", "a test")
    assert world.costs(ELEVEN, "fully_loaded_cost") == {"long": 0}
    assert world.totals(ELEVEN) == {Decimal("1e-15")}


def test_a_revision_is_settled_in_the_place_of_what_it_revises(make: Make) -> None:
    world, other = make(), make()
    world.send(a(), b())
    world.bill("2.49", TEN)
    world.settle()
    shorter = b(usage={"output_tokens": 11})
    world.revise(shorter)
    assert world.totals(TEN) == {BILL}
    assert world.statuses() == {"priced": 1, "pending_settlement": 1}
    world.settle()
    other.send(a(), shorter)
    other.bill("2.49", TEN)
    other.settle()
    assert world.costs(TEN, "direct_cost") == other.costs(TEN, "direct_cost")
    assert (world.totals(TEN), world.statuses()) == ({BILL}, {"priced": 2})


def test_a_newer_bill_of_an_hour_takes_the_place_of_the_one_before(make: Make) -> None:
    world = make()
    world.send(a())
    world.bill("2.49", TEN)
    world.settle()
    world.bill("0", TEN)
    world.settle()
    assert (world.totals(TEN), world.costs(TEN)) == ({Decimal(0)}, {"a": 0})
    world.bill("3.00", TEN)
    world.settle()
    assert world.totals(TEN) == {Decimal(3)}
    assert world.query("SELECT settlement, bill FROM settled_pool_hours") == [(3, Decimal(3))]


def test_what_a_bill_has_below_the_scale_of_events_stays_with_the_idle_line(make: Make) -> None:
    world = make()
    world.send(a())
    world.bill("2.490000000000000999", TEN)
    world.settle()
    assert world.totals(TEN) == {Decimal("2.490000000000000999")}
    assert world.hour_line(TEN, "idle") % Decimal("1e-15") == Decimal("999e-18")
    assert world.query("SELECT bill - direct - gap - idle FROM pool_hours") == [(Decimal(0),)]


def test_a_request_across_the_edge_of_a_month_is_booked_in_both(make: Make) -> None:
    world = make()
    last, first = "2026-10-31T23:00:00Z", "2026-11-01T00:00:00Z"
    world.send(request("x", "2026-10-31T23:59:57Z", "2026-10-31T23:59:58Z", "2026-11-01T00:00:02Z"))
    world.bill("2.49", last, first)
    world.settle()
    rows = world.query(
        "SELECT booking_period, sum(effective_cost) > 0, sum(events)::int FROM ledger WHERE subject_kind = 'event' GROUP BY 1 ORDER BY 1"
    )
    assert rows == [(date(2026, 10, 1), True, 1), (date(2026, 11, 1), True, 0)]
    assert world.totals(last) == world.totals(first) == {BILL}


def test_after_the_close_only_late_events_are_charged_against_the_gap_in_the_open_month(make: Make) -> None:
    world = make()
    world.send(a())
    world.bill("2.49", TEN)
    world.settle()
    before = world.costs(TEN)
    close_month(world.database.app, world.tenant, date(2026, 10, 1), "ann", now=LATER)
    world.send(b())
    world.settle()
    after = world.costs(TEN)
    assert after["a"] == before["a"]
    assert after["b"] > 0
    assert world.totals(TEN) == {BILL}
    assert world.hour_line(TEN, "gap") == -Decimal(after["b"]).scaleb(-15)
    periods = world.query("SELECT DISTINCT booking_period FROM charges WHERE subject_id = 'b' AND basis = 'attributed'")
    assert periods == [(date(2026, 11, 1),)]
    assert world.query("SELECT bill - direct - gap - idle FROM settled_pool_hours") == [(Decimal(0),)]
    assert world.settle() == 0
    now = check(world.database.app, world.tenant)
    assert moved(world.database.app, world.tenant, now) == []


def test_what_a_months_waiting_events_are_estimated_to_cost_is_said_where_it_is_not_closed(make: Make) -> None:
    """One of October by the newest bill (test_explain_pools.py has the figure), one without cached tokens; none of November."""
    world = make()
    world.bill("2.49", TEN)
    world.settle()
    unknown = {"usage": {"cache_read_tokens": None}}
    world.send(
        request("waits", "12:00:00", "12:00:01", "12:00:03"),
        request("unknown", "12:00:00", "12:00:01", "12:00:03", **unknown),
        request("november", "2026-11-01T12:00:00Z", "2026-11-01T12:00:01Z", "2026-11-01T12:00:03Z"),
    )
    said = "pending_settlement: 2 events, worth 0.000203353458333 USD estimated, and 1 of them of a worth not known"
    with pytest.raises(Conflict, match=said):
        close_month(world.database.app, world.tenant, date(2026, 10, 1), "ann", now=LATER)


def test_a_pool_pays_from_the_hour_in_which_its_settings_begin(make: Make) -> None:
    world = make(effective_from=datetime(2026, 10, 1, 10, 30, tzinfo=UTC))
    world.send(
        request("early", "09:00:00", "09:00:01", "09:00:02"), request("late", "10:40:00", "10:40:01", "10:40:02")
    )
    world.bill("2.49", "01T09", TEN)
    world.settle()
    assert world.totals("01T09") == {None}
    assert world.totals(TEN) == {BILL}
    assert world.statuses() == {"pending_settlement": 1, "priced": 1}


def test_two_runs_that_see_the_same_agree_whatever_the_day(make: Make) -> None:
    """An hour settled with its neighbours is the hour settled alone."""
    together, alone = make(), make()
    for world in (together, alone):
        world.send(a(), b(), request("c", "10:59:58", "10:59:59", "11:00:05"))
        world.bill("2.49", TEN, ELEVEN)
    together.settle()
    alone.settle(now=datetime(2026, 10, 1, 11, 20, tzinfo=UTC))
    alone.settle(now=LATER)
    for hour in (TEN, ELEVEN):
        assert together.costs(hour) == alone.costs(hour)


def test_the_check_names_an_hour_whose_lines_are_not_its_bill(make: Make) -> None:
    world = make()
    world.send(a())
    world.bill("2.49", TEN)
    world.settle()
    with transaction(world.database.owner, world.tenant.tenant) as connection:
        connection.execute(
            text("UPDATE charges SET direct_cost = direct_cost + 0.01 WHERE subject_id = 'a' AND direct_cost > 0")
        )
    [hour] = check_pools(world.database.app, world.tenant)
    assert hour.differs
    assert hour.describe() == (
        "pool pool-1 2026-10-01T10:00Z USD: bill 2.49, attributed 2.49, direct 2.5, fully_loaded 2.49"
    )
    assert [one.differs for one in check_pools(world.database.app, world.tenant, date(2026, 9, 1))] == []
