"""What do pools cost by their schedules? One month worked by hand, then its edges one by one.

September 2026, 720 hours. The pool `chat`, 2 GPUs a replica:
  a   on demand: 3.00 a GPU-hour until the 10th, 12:30, then 2.40:    228.5 h x 2 x 3.00 + 491.5 h x 2 x 2.40 = 3,730.20
  b   until the 16th on a reservation of 4 GPUs, 5,000 for the month: 360 h x 2 of 2,880 GPU-hours = 1,250
The pool `batch`, 1 GPU a replica:
  c   on the 1st to the 21st, on an owned card: 30,000 over 4 years of 8,760 h = 0.856164383561643835616... an hour, hosting 0.05 an
      hour, 0.7 kW x PUE 1.2 x 0.10 a kWh = 0.084 an hour while scheduled.
      480 h: 410.958904109589041096 + 24 + 40.32 = 475.278904109589041096; 240 h not scheduled:
      205.479452054794520548 + 12 = 217.479452054794520548 (depreciation of the month: 616.438356164383561644).
An hour of the reservation is 6.9444...4; by its running total 4 of 9 hours end in 5 instead of 4. Such an odd number of units is
halved in the pool's favour (a tie goes to the smaller id, the unused part last): 160 units in 360 hours, so 80 above 1,250.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounting.money import from_line
from accounting.selfhosted.bills import HourBills, Missing, bill_hour
from accounting.selfhosted.pool import HOUR_US
from accounting.selfhosted.pool_settings import Membership, PoolSettings, in_force
from accounting.selfhosted.rates import GpuRate, us
from accounting.selfhosted.schedule import Scheduled, schedule

MONTH, NEXT = datetime(2026, 9, 1, tzinfo=UTC), datetime(2026, 10, 1, tzinfo=UTC)
CHANGE = datetime(2026, 9, 10, 12, 30, tzinfo=UTC)


def _on_demand(price: str, since: datetime = MONTH, gpus: int = 1) -> GpuRate:
    return GpuRate("od", "on_demand", "H100", "USD", since, gpus=gpus, price_per_hour=Decimal(price))


RESERVED = GpuRate("res", "reserved", "H100", "USD", MONTH, NEXT, gpus=4, amount=Decimal(5000))
OWNED = GpuRate(
    "own",
    "owned",
    "H100",
    "USD",
    MONTH,
    amount=Decimal(30000),
    life_years=Decimal(4),
    power_kw=Decimal("0.7"),
    pue=Decimal("1.2"),
    electricity_per_kwh=Decimal("0.10"),
    hosting_per_hour=Decimal("0.05"),
)
RATES = {"od": [_on_demand("2.40", CHANGE), _on_demand("3.00")], "res": [RESERVED], "own": [OWNED]}


def _pool(pool_id: str, gpus: int, since: datetime = MONTH, until: datetime | None = None) -> PoolSettings:
    return PoolSettings(pool_id, since, "m", "c", "H100", gpus, 8192, 64, "USD", effective_until=until)


STATED = {"chat": [_pool("chat", 2)], "batch": [_pool("batch", 1)]}
MEMBERS = [
    Membership("chat", "a", MONTH, rate_id="od"),
    Membership("chat", "b", MONTH, MONTH + timedelta(days=15), "res"),
    Membership("batch", "c", MONTH, MONTH + timedelta(days=20), "own"),
]
CURRENCIES = {"chat": "USD", "batch": "USD"}


def _hour(
    at: datetime, members: list[Membership] | None = None, rates: dict[str, list[GpuRate]] | None = None
) -> HourBills:
    start = us(at)
    scheduled = schedule(STATED, MEMBERS if members is None else members, start, start + HOUR_US)
    return bill_hour(start, scheduled, RATES if rates is None else rates, CURRENCIES)


@pytest.fixture(scope="module")
def month() -> list[HourBills]:
    scheduled = schedule(STATED, MEMBERS, us(MONTH), us(NEXT))
    return [bill_hour(us(MONTH) + hour * HOUR_US, scheduled, RATES, CURRENCIES) for hour in range(720)]


@pytest.mark.parametrize(
    ("pool_id", "amount", "gpu_hours"),
    [("chat", "4980.20000000000000008", 2160), ("batch", "475.278904109589041096", 480)],
)
def test_a_month_of_a_pool_is_what_the_pencil_says(
    month: list[HourBills], pool_id: str, amount: str, gpu_hours: int
) -> None:
    bills = [bill for hour in month for bill in hour.bills if bill.pool_id == pool_id]
    assert from_line(sum(bill.amount for bill in bills)) == Decimal(amount)
    assert sum(bill.gpu_us for bill in bills) == gpu_hours * HOUR_US


@pytest.mark.parametrize(
    ("rate_id", "amount", "gpu_hours"),
    [("res", "3749.99999999999999992", 2160), ("own", "217.479452054794520548", 240)],
)
def test_what_nobody_was_scheduled_on_is_a_line_of_its_own(
    month: list[HourBills], rate_id: str, amount: str, gpu_hours: int
) -> None:
    lines = [line for hour in month for line in hour.unused if line.rate_id == rate_id]
    assert from_line(sum(line.amount for line in lines)) == Decimal(amount)
    assert sum(line.gpu_us for line in lines) == gpu_hours * HOUR_US


def test_nothing_of_the_month_is_unknown(month: list[HourBills]) -> None:
    assert [hour.missing for hour in month if hour.missing] == []


def test_a_rate_that_changes_inside_the_hour_counts_for_its_part() -> None:
    # 2 GPUs: half an hour at 3.00, half at 2.40 = 5.40; b adds 6.9444.../2.
    [bill] = [bill for bill in _hour(CHANGE.replace(minute=0)).bills if bill.pool_id == "chat"]
    assert [(part.rate_id, from_line(part.amount)) for part in bill.parts if part.rate_id == "od"] == [
        ("od", Decimal("5.4"))
    ]


def test_a_price_that_begins_ends_the_one_before_whatever_end_that_one_stated() -> None:
    rates = {"od": [replace(_on_demand("3.00"), effective_until=NEXT), _on_demand("2.40", MONTH + timedelta(hours=5))]}
    [bill] = _hour(MONTH + timedelta(hours=5), [Membership("batch", "c", MONTH, rate_id="od")], rates).bills
    assert from_line(bill.amount) == Decimal("2.4")


def test_the_instant_of_a_change_belongs_to_the_new_rate() -> None:
    rates = {"od": [_on_demand("3.00"), _on_demand("2.40", MONTH + timedelta(hours=5))]}
    members = [Membership("batch", "c", MONTH, rate_id="od")]
    amounts = [_hour(MONTH + timedelta(hours=hour), members, rates).bills[0].amount for hour in (4, 5)]
    assert [from_line(amount) for amount in amounts] == [Decimal("3"), Decimal("2.4")]


def test_a_replica_that_comes_and_goes_is_billed_for_its_minutes() -> None:
    # 20 of 60 minutes, 2 GPUs at 3.00: 2.00
    came = Membership("chat", "a", MONTH + timedelta(minutes=15), MONTH + timedelta(minutes=35), "od")
    [bill] = _hour(MONTH, [came]).bills
    assert (from_line(bill.amount), bill.gpu_us) == (Decimal(2), 2 * 20 * 60_000_000)


def test_a_price_for_eight_gpus_is_not_rounded_to_one() -> None:
    # 30.13118 for 8; 1 GPU for a third of an hour: 30.13118 / 24 = 1.25546583333...
    third = Membership("batch", "c", MONTH, MONTH + timedelta(minutes=20), "od")
    [bill] = _hour(MONTH, [third], {"od": [_on_demand("30.13118", gpus=8)]}).bills
    assert from_line(bill.amount) == Decimal("1.255465833333333333")


def test_an_hour_is_rounded_once_over_its_rates() -> None:
    # A third of an hour at 1.00 on either of two rates: 0.6666...67, not twice 0.333...33; the unit over goes to the smaller id.
    two = [Membership("batch", name, MONTH, MONTH + timedelta(minutes=20), name) for name in ("x", "y")]
    rates = {name: [replace(_on_demand("1"), rate_id=name)] for name in ("x", "y")}
    [bill] = _hour(MONTH, two, rates).bills
    assert [from_line(part.amount) for part in bill.parts] == [
        Decimal("0.333333333333333334"),
        Decimal("0.333333333333333333"),
    ]


def test_spot_costs_nothing_while_nothing_is_scheduled() -> None:
    found = _hour(MONTH, [], {"od": [replace(_on_demand("1"), kind="spot")]})
    assert (found.bills, found.unused) == ([], [])


def test_a_reservation_costs_its_hour_with_no_pool_on_it() -> None:
    found = _hour(MONTH, [], {"res": [RESERVED]})
    assert [(line.rate_id, from_line(line.amount), line.gpu_us) for line in found.unused] == [
        ("res", Decimal("6.944444444444444444"), 4 * HOUR_US)
    ]


@pytest.mark.parametrize("at", [MONTH - timedelta(hours=1), NEXT])
def test_outside_its_term_a_reservation_costs_nothing(at: datetime) -> None:
    assert _hour(at, [], {"res": [RESERVED]}).unused == []


def test_two_pools_share_one_reservation_by_gpu_time() -> None:
    # 4 GPUs at 8 an hour: chat 2 GPUs a whole hour, batch 1 GPU for half of it; 1.5 GPU-hours are left.
    rate = replace(RESERVED, amount=Decimal(8 * 720))
    both = [
        Membership("chat", "b", MONTH, rate_id="res"),
        Membership("batch", "c", MONTH, MONTH + timedelta(minutes=30), "res"),
    ]
    found = _hour(MONTH, both, {"res": [rate]})
    assert {bill.pool_id: from_line(bill.amount) for bill in found.bills} == {"chat": Decimal(4), "batch": Decimal(1)}
    assert [from_line(line.amount) for line in found.unused] == [Decimal(3)]


def test_a_card_beyond_its_life_still_costs_power_and_hosting() -> None:
    old = replace(OWNED, effective_from=MONTH - timedelta(hours=4 * 8760))
    [bill] = _hour(MONTH, [Membership("batch", "c", MONTH, rate_id="own")], {"own": [old]}).bills
    assert from_line(bill.amount) == Decimal("0.134")
    assert from_line(OWNED.held_until(us(MONTH) + 4 * 8760 * HOUR_US)) == Decimal(30000) + Decimal("0.05") * 4 * 8760


def test_a_card_out_of_service_costs_nothing_more() -> None:
    sold = replace(OWNED, effective_until=MONTH + timedelta(hours=2))
    assert sold.held_until(us(MONTH) + 3 * HOUR_US) == sold.held_until(us(MONTH) + 2 * HOUR_US)


def test_a_pool_is_gone_at_its_end_and_there_at_its_beginning() -> None:
    stated = [_pool("chat", 2, MONTH, NEXT)]
    assert in_force(stated, MONTH) == stated[0]
    assert in_force(stated, NEXT) is None
    assert in_force(stated, NEXT - timedelta(microseconds=1)) == stated[0]


def test_what_a_gpu_hour_of_an_owned_card_costs() -> None:
    # 30000 / 35040 + 0.05 + 0.084
    assert OWNED.per_gpu_hour() == pytest.approx(0.990164383561643836, rel=1e-15)


def test_a_gpu_hour_of_a_reservation_is_one_of_its_gpus() -> None:
    # 5,760 for 720 hours of 4 GPUs
    assert replace(RESERVED, amount=Decimal(5760)).per_gpu_hour() == 2


def test_who_says_a_rate_and_when_it_was_seen_are_no_terms() -> None:
    assert OWNED.same_terms(replace(OWNED, source="a bill", checked_on=date(2026, 9, 2)))
    assert not OWNED.same_terms(replace(OWNED, gpus=2))


@pytest.mark.parametrize(
    ("member", "reason", "detail"),
    [
        (Membership("batch", "c", MONTH), "no_rate", "c"),
        (Membership("batch", "c", MONTH, rate_id="unheard"), "rate_not_in_force", "unheard"),
        (Membership("batch", "c", MONTH - timedelta(days=1), rate_id="od"), "pool_not_in_force", "c"),
    ],
)
def test_an_hour_whose_cost_is_unknown_has_no_bill(member: Membership, reason: str, detail: str) -> None:
    at = max(member.effective_from, MONTH - timedelta(hours=1))
    found = _hour(at, [member])
    assert (found.bills, found.missing) == ([], [Missing("batch", us(at), reason, detail)])


def test_a_rate_that_ends_inside_the_hour_leaves_it_without_a_bill() -> None:
    ends = replace(_on_demand("3"), effective_until=MONTH + timedelta(minutes=59))
    found = _hour(MONTH, [Membership("batch", "c", MONTH, rate_id="od")], {"od": [ends]})
    assert [one.reason for one in found.missing] == ["rate_not_in_force"]
    until = Membership("batch", "c", MONTH, MONTH + timedelta(minutes=59), "od")
    assert from_line(_hour(MONTH, [until], {"od": [ends]}).bills[0].amount) == Decimal("2.95")


def test_more_gpus_than_a_reservation_holds_are_not_billed_by_it() -> None:
    three = [Membership("chat", name, MONTH, rate_id="res") for name in ("a", "b", "c")]
    assert [(one.pool_id, one.reason) for one in _hour(MONTH, three).missing] == [("chat", "rate_overcommitted")]
    after = [replace(one, effective_from=MONTH + at * timedelta(minutes=30)) for at, one in enumerate(three[:2])]
    first = replace(three[2], effective_until=MONTH + timedelta(minutes=30))
    assert _hour(MONTH, [*after, first]).missing == []


def test_a_rate_in_another_currency_is_not_added() -> None:
    euros = replace(_on_demand("3"), billing_currency="EUR")
    found = _hour(MONTH, [Membership("batch", "c", MONTH, rate_id="od")], {"od": [euros]})
    assert [(one.reason, one.detail) for one in found.missing] == [("other_currency", "EUR")]


def test_settings_that_change_inside_the_hour_change_the_gpus() -> None:
    stated = {"chat": [_pool("chat", 2), _pool("chat", 4, MONTH + timedelta(minutes=15))]}
    cut = schedule(stated, [Membership("chat", "a", MONTH, rate_id="od")], us(MONTH), us(MONTH) + HOUR_US)
    # 15 minutes of 2 GPUs and 45 of 4: 3.5 GPU-hours
    assert sum(one.gpu_us for one in cut) == 3.5 * HOUR_US


def test_settings_that_end_inside_the_hour_leave_the_rest_of_it_unknown() -> None:
    stated = {"chat": [_pool("chat", 2, MONTH, MONTH + timedelta(minutes=15))]}
    cut = schedule(stated, [Membership("chat", "a", MONTH, rate_id="od")], us(MONTH), us(MONTH) + HOUR_US)
    assert [(one.gpus, one.end_us - one.start_us) for one in cut] == [(2, HOUR_US // 4), (None, 3 * HOUR_US // 4)]


def test_a_replica_has_no_bill_in_the_hours_that_it_only_touches() -> None:
    five, six = us(MONTH) + 5 * HOUR_US, us(MONTH) + 6 * HOUR_US
    scheduled = [Scheduled("batch", "c", "od", 1, five, six)]
    billed = [bill_hour(hour, scheduled, RATES, CURRENCIES).bills for hour in (five - HOUR_US, five, six)]
    assert [[bill.pool_id for bill in bills] for bills in billed] == [[], ["batch"], []]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3_599), st.integers(1, 7_200)), max_size=4),
    st.integers(1, 10**9),
    st.integers(1, 9),
)
def test_a_term_is_its_amount_whatever_was_scheduled(runs: list[tuple[int, int]], cents: int, hours: int) -> None:
    """Each of 4 GPUs runs from one second for some seconds; used and unused hours of the term add up to the amount."""
    term = replace(RESERVED, effective_until=MONTH + timedelta(hours=hours), amount=Decimal(cents).scaleb(-2))
    end = us(MONTH) + hours * HOUR_US
    scheduled = [
        Scheduled(
            f"p{at % 2}", str(at), "res", 1, us(MONTH) + start * 10**6, min(us(MONTH) + (start + long) * 10**6, end)
        )
        for at, (start, long) in enumerate(runs)
    ]
    found = [
        bill_hour(us(MONTH) + hour * HOUR_US, scheduled, {"res": [term]}, {"p0": "USD", "p1": "USD"})
        for hour in range(hours)
    ]
    total = sum(one.amount for hour in found for one in (*hour.bills, *hour.unused))
    gpu_us = sum(one.gpu_us for hour in found for one in (*hour.bills, *hour.unused))
    assert (from_line(total), gpu_us) == (term.amount, 4 * hours * HOUR_US)
    assert all(one.amount >= 0 for hour in found for one in (*hour.bills, *hour.unused))
