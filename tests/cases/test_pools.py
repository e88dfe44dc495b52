"""Which cases ask what idle, shared and paid-for machines cost?"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from accounting.money import from_minor, to_minor
from accounting.selfhosted.apportion import apportion
from accounting.selfhosted.arrays import PS_PER_US
from accounting.selfhosted.curve import Domain, Header, StepCurve
from accounting.selfhosted.hour import Settled, settle_hour, total_of
from accounting.selfhosted.lines import Lines
from accounting.selfhosted.shares import Attribution
from accounting.selfhosted.unit_costs import at_utilisation, per_million
from tests.cases.rows import cases, row

CURVE = StepCurve(Header("case", "m", "e", "g", "bf16", "2026-01-01"), Domain((1, 2), (1, 2)), 1.0, 0, 0, 0, 0, 0)


def settled(bill: str, used: dict[str, str], busy: str) -> Settled:
    """A bill of one hour, a cent of it bought by 100 us; `used` and `busy` in its own currency."""
    share = np.array([to_minor(amount) // 10**11 * PS_PER_US for amount in used.values()], np.int64)
    some = np.arange(len(used))
    nothing, ones = np.zeros(len(used)), np.ones(len(used))
    lines = Lines(
        row=some,
        hour=np.zeros(len(used), np.int64),
        own_prefill=nothing,
        own_decode=share / 1e12,
        shared=nothing,
        experts=nothing,
        share_ps=share,
        prefill_seconds=nothing,
        request_steps=ones,
        step_shares=ones,
        kv_share=ones,
        extrapolated=nothing > 0,
        quality=np.ones(len(used), np.int8),
    )
    capacity, flight = (np.array([to_minor(amount) // 10**11]) for amount in (bill, busy))
    charged = np.zeros(len(used), np.int8)
    found = Attribution(
        CURVE,
        "equal",
        lines,
        charged,
        capacity,
        flight,
        capacity - flight,
        flight * 0,
        lines.between(0, 0),
    )
    one = settle_hour(found, 0, to_minor(bill), np.array(list(used)))
    one.check()
    return one


def usd(amounts: object) -> list[Decimal]:
    return [from_minor(int(amount)) for amount in amounts]  # type: ignore[attr-defined]


@cases("N6")
def test_idle_stays_in_its_cluster_before_the_shared_part_is_spread(case_id: str) -> None:
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    cost: dict[str, int] = {}
    idle: dict[str, int] = {}
    for spaces in scenario["clusters"].values():
        names = [name for name in spaces if name != "idle"]
        own = np.array([to_minor(spaces[name]) // 10**12 for name in names])
        for name, part in zip(names, apportion(to_minor(spaces["idle"]), own, np.array(names)), strict=True):
            cost[name] = cost.get(name, 0) + to_minor(spaces[name])
            idle[name] = idle.get(name, 0) + int(part)
    others = sorted(name for name in cost if name != scenario["shared_namespace"])
    weights = np.array([cost[name] // 10**12 for name in others])
    total = {}
    for kind in (cost, idle):
        spread = apportion(kind.pop(scenario["shared_namespace"]), weights, np.array(others)).tolist()
        total[id(kind)] = dict(zip(others, spread, strict=True))
    name, tolerance = scenario["filter"], Decimal(expected["tolerance_usd"])
    own, of_idle = (from_minor(kind[name] + total[id(kind)][name]) for kind in (cost, idle))
    assert own == pytest.approx(Decimal(expected["ns2_usd"]), abs=tolerance)
    assert of_idle == pytest.approx(Decimal(expected["ns2_idle_usd"]), abs=tolerance)
    assert own + of_idle == pytest.approx(Decimal(expected["ns2_total_usd"]), abs=tolerance)
    every = sum(cost.values()) + sum(idle.values()) + sum(sum(parts.values()) for parts in total.values())
    assert from_minor(every) == Decimal(expected["all_namespaces_usd"])


@cases("N7")
def test_a_bill_whose_weights_are_all_zero_is_unallocated_and_not_lost(case_id: str) -> None:
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    used = {one["name"]: one["gpu_weight"] for one in scenario["workloads"]}
    one = settled(scenario["gpu_cost_usd"], used, "0")
    assert from_minor(total_of(one.fully_loaded_cost)) == Decimal(expected["allocated_usd"])
    assert from_minor(one.unallocated_idle) == Decimal(expected["unallocated_idle_usd"])
    assert from_minor(one.bill) == Decimal(expected["total_usd"])


@cases("N8")
def test_usage_is_what_was_used_and_the_rest_is_idle(case_id: str) -> None:
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    busy = Decimal(scenario["allocated_usd"]) * Decimal(scenario["gpu_utilisation"])
    one = settled(scenario["allocated_usd"], {"w": f"{busy:f}"}, f"{busy:f}")
    assert usd([one.direct, one.idle, one.bill]) == [
        Decimal(expected[f"{name}_usd"]) for name in ("usage", "idle", "allocated")
    ]


@cases("N9")
def test_idle_is_spread_within_the_bill(case_id: str) -> None:
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    one = settled(scenario["bill_usd"], scenario["allocated"], "80")
    assert from_minor(one.idle) == Decimal(expected["idle_usd"])
    assert usd(one.fully_loaded_cost) == [Decimal(amount) for amount in expected["shared"].values()]
    assert from_minor(total_of(one.fully_loaded_cost)) == Decimal(expected["sum_usd"])


@cases("N9c")
def test_shares_above_the_bill_are_a_negative_gap_and_never_negative_idle(case_id: str) -> None:
    """The excess is held on a line of its own, with the calibration factor; it is not scaled away."""
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    one = settled(scenario["bill_usd"], scenario["allocated"], scenario["bill_usd"])
    assert from_minor(one.idle) == Decimal(expected["idle_usd"])
    assert -from_minor(one.gap) == Decimal(expected["over_allocated_usd"])
    assert one.calibration is not None
    assert one.calibration < 1


@cases("N10")
def test_the_cost_of_a_token_is_over_the_hours_paid_and_not_the_busy_ones(case_id: str) -> None:
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    hourly = Fraction(scenario["gpu_usd_per_hour"]) * scenario["gpus"]
    paid, busy = (per_million(hourly * scenario[hours], scenario["tokens"]) for hours in ("hours_paid", "hours_busy"))
    assert (paid, busy) == (
        Fraction(expected["reserved_basis_usd_per_million"]),
        Fraction(expected["busy_basis_usd_per_million"]),
    )
    assert (paid < Fraction(scenario["api_usd_per_million"])) is expected["self_host_cheaper"]


@cases("N11")
def test_a_machine_that_is_mostly_idle_costs_more_a_token(case_id: str) -> None:
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    found = [
        at_utilisation(
            Fraction(scenario["gpu_usd_per_hour"]), Fraction(scenario["tokens_per_second_at_full_load"]), Fraction(part)
        )
        for part in scenario["utilisation"]
    ]
    assert found == [Fraction(text) for text in expected["usd_per_million_fraction"]]
