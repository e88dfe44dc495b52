"""Which costs of pools do billers' files state, and into which hours do they fall?"""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

import pytest

from accounting.errors import InvalidInput
from accounting.money import from_line
from accounting.selfhosted.imports.cost_file import read_cost_file
from accounting.selfhosted.imports.gpu_prices import read_gpu_prices
from accounting.selfhosted.imports.read_costs import ReadCosts
from accounting.selfhosted.pool import HOUR_US
from accounting.selfhosted.rates import us
from accounting.selfhosted.schedule import Scheduled
from accounting.selfhosted.spread import ImportedCost, spread
from tests.shared_data import shared

HEADING = (
    "ChargeCategory", "ChargePeriodStart", "ChargePeriodEnd", "BillingCurrency", "EffectiveCost", "BilledCost", "ResourceId",
    "Tags", "ServiceName", "CommitmentDiscountId", "CommitmentDiscountStatus",
)  # fmt: skip
USAGE = {
    "ChargeCategory": "Usage",
    "ChargePeriodStart": "2026-09-01T05:00:00Z",
    "ChargePeriodEnd": "2026-09-01T06:00:00Z",
    "BillingCurrency": "USD",
    "EffectiveCost": "12.29",
    "BilledCost": "0",
    "Tags": '{"tokencogs:pool": "chat"}',
    "ServiceName": "Amazon Elastic Compute Cloud",
}
FIVE = us(datetime(2026, 9, 1, 5, tzinfo=UTC))


def _focus(*rows: dict[str, str], resources: dict[str, str] | None = None, cost: str = "EffectiveCost") -> ReadCosts:
    text = io.StringIO()
    writer = csv.DictWriter(text, HEADING, restval="NULL")
    writer.writeheader()
    writer.writerows({**USAGE, **row} for row in rows)
    return read_cost_file(text.getvalue(), "focus.csv", "focus", resources or {}, cost)


@pytest.mark.parametrize(
    "tags",
    [
        '{"tokencogs:pool": "chat", "env": "prod"}',
        '{"user:tokencogs:pool": "chat"}',
        '{"tokencogs_pool": "chat"}',
        '[{"key": "tokencogs_pool", "value": "chat"}]',
    ],
    ids=["plain", "AWS user tag", "without colon", "Google list"],
)
def test_a_row_is_the_pools_that_its_tag_names(tags: str) -> None:
    [cost] = _focus({"Tags": tags}).costs
    assert cost == ImportedCost("chat", FIVE, FIVE + HOUR_US, Fraction("12.29"), None, "", 2)


def test_without_a_tag_the_resource_decides() -> None:
    found = _focus(
        {"Tags": "NULL", "ResourceId": "i-0abc"}, {"Tags": "{}", "ResourceId": "i-0def"}, resources={"i-0abc": "chat"}
    )
    assert [(cost.pool_id, cost.label) for cost in found.costs] == [("chat", "i-0abc")]
    assert [(left.line, left.reason, left.resource) for left in found.left_out] == [(3, "no_pool", "i-0def")]


def test_the_tag_goes_before_the_resource() -> None:
    assert [cost.pool_id for cost in _focus({"ResourceId": "i-0abc"}, resources={"i-0abc": "other"}).costs] == ["chat"]


@pytest.mark.parametrize(
    "written", ["2026-09-01 05:00:00", "2026-09-01 05:00:00 UTC", "2026-09-01T07:00:00+02:00", "2026-09-01T05:00Z"]
)
def test_moments_are_read_as_clouds_write_them(written: str) -> None:
    assert _focus({"ChargePeriodStart": written}).costs[0].start_us == FIVE


@pytest.mark.parametrize(("column", "amount"), [("EffectiveCost", "12.29"), ("BilledCost", "0")])
def test_the_cost_is_the_column_asked_for(column: str, amount: str) -> None:
    assert _focus({}, cost=column).costs[0].amount == Fraction(amount)


def test_an_exponent_is_exact() -> None:
    assert _focus({"EffectiveCost": "1.5e-05"}).costs[0].amount == Fraction(15, 10**6)


@pytest.mark.parametrize("category", ["Purchase", "Tax", "Credit", "Adjustment"])
def test_what_is_no_usage_is_left_out_with_its_amount(category: str) -> None:
    found = _focus(
        {"ChargeCategory": category, "EffectiveCost": "-3.10"}, {"ChargeCategory": category, "EffectiveCost": "1"}
    )
    assert found.costs == []
    assert found.left_out_sums() == [
        {"reason": category, "service": USAGE["ServiceName"], "currency": "USD", "rows": 2, "amount": "-2.1"}
    ]


def test_the_unused_part_of_a_commitment_is_not_the_pools() -> None:
    unused = {"CommitmentDiscountStatus": "Unused", "CommitmentDiscountId": "res-1", "Tags": "NULL"}
    found = _focus(unused, {**unused, "CommitmentDiscountId": "cpu"}, resources={"res-1": "chat"})
    assert (found.costs, [one.pool_id for one in found.unused]) == ([], ["res-1"])
    assert [left.resource for left in found.left_out] == ["cpu"]


def test_a_commitment_pays_for_no_pool_by_being_named_on_used_time() -> None:
    used = {"CommitmentDiscountStatus": "Used", "CommitmentDiscountId": "res-1", "Tags": "NULL"}
    found = _focus(used, resources={"res-1": "chat"})
    assert (found.costs, [left.reason for left in found.left_out]) == ([], ["no_pool"])


@pytest.mark.parametrize(
    ("change", "field", "value"),
    [
        ({"Tags": "pool=chat"}, "Tags", "pool=chat"),
        ({"Tags": '{"tokencogs:pool": 7}'}, "Tags.tokencogs:pool", "7"),
        ({"EffectiveCost": "NaN"}, "EffectiveCost", "NaN"),
        ({"EffectiveCost": ""}, "EffectiveCost", ""),
        ({"BillingCurrency": "usd"}, "BillingCurrency", "usd"),
        ({"ChargePeriodEnd": "2026-09-01T05:00:00Z"}, "ChargePeriodEnd", "2026-09-01T05:00:00Z"),
        ({"ChargePeriodStart": "09/01/2026"}, "ChargePeriodStart", "09/01/2026"),
    ],
)
def test_a_row_that_can_not_be_read_is_rejected_by_field(change: dict[str, str], field: str, value: str) -> None:
    found = _focus(change, {})
    assert [(row["line"], row["field"], row["value"]) for row in found.rejected] == [(2, field, value)]
    assert [cost.line for cost in found.costs] == [3]


@pytest.mark.parametrize(
    ("text", "form", "said"),
    [
        ("pool,hour,cost\n", "csv", "has no column currency"),
        ("pool,hour,cost,currency,price\n", "csv", "column 'price' is unknown or there twice"),
        ("pool,pool,hour,cost,currency\n", "csv", "column 'pool' is unknown or there twice"),
        ("ChargeCategory\n", "focus", "has no column ChargePeriodStart"),
        ("", "xml", "one of csv, focus is expected"),
    ],
)
def test_a_file_of_another_form_is_refused(text: str, form: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        read_cost_file(text, "bill.csv", form, {})


def test_every_row_of_a_real_export_is_a_pools_or_told() -> None:
    """The FOCUS sample of real AWS, Microsoft and Oracle bills: 1,000 rows, none of them tagged."""
    text = shared("focus/focus_sample.csv").read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    mapped = next(row["ResourceId"] for row in rows if row["ChargeCategory"] == "Usage" and row["ResourceId"] != "NULL")
    found = read_cost_file(text, "focus_sample.csv", "focus", {mapped: "chat"})
    assert len(found.costs) + len(found.left_out) + len(found.rejected) == 1_000
    assert found.rejected == []
    assert len(found.costs) == sum(row["ResourceId"] == mapped for row in rows)
    total = sum(cost.amount for cost in found.costs) + sum(left.amount for left in found.left_out)
    assert total == sum(Fraction(row["EffectiveCost"]) for row in rows)


def _cost(hours: float, amount: str, pool_id: str = "chat", label: str = "", start_us: int = FIVE) -> ImportedCost:
    return ImportedCost(pool_id, start_us, start_us + int(hours * HOUR_US), Fraction(amount), None, label, 2)


def test_an_amount_of_one_hour_needs_no_schedule() -> None:
    [hour], unplaced = spread([_cost(1, "6")], [])
    assert (from_line(hour.amount), hour.gpu_us, unplaced) == (Decimal(6), None, [])


def test_a_period_without_length_is_rejected() -> None:
    text = "pool,from,until,cost,currency\nchat,2026-09-01,2026-09-01,1,USD\n"
    [rejected] = read_cost_file(text, "bill.csv", "csv", {}).rejected
    assert (rejected["field"], rejected["value"]) == ("until", "2026-09-01")


def test_the_gpu_time_of_an_hour_is_unknown_where_that_of_one_replica_is() -> None:
    scheduled = [Scheduled("chat", name, None, gpus, FIVE, FIVE + HOUR_US) for name, gpus in (("a", 2), ("b", None))]
    assert [hour.gpu_us for hour in spread([_cost(1, "6")], scheduled[:1])[0]] == [2 * HOUR_US]
    assert [hour.gpu_us for hour in spread([_cost(1, "6")], scheduled)[0]] == [None]


def test_a_part_of_an_hour_is_that_hours() -> None:
    [hour], _ = spread([_cost(0.25, "1", start_us=FIVE + HOUR_US // 2), _cost(0.5, "2")], [])
    assert (hour.hour_us, from_line(hour.amount)) == (FIVE, Decimal(3))


def test_resources_of_one_hour_add_up_and_stay_apart() -> None:
    [hour], _ = spread([_cost(1, "6", label="a"), _cost(1, "0.5", label="b"), _cost(1, "-1", label="a")], [])
    assert {name: from_line(units) for name, units in hour.parts.items()} == {"a": Decimal(5), "b": Decimal("0.5")}


def test_a_longer_period_follows_the_scheduled_gpu_time_inside_it() -> None:
    # 05:30 to 07:30; 2 GPUs until 06:00, 4 from 06:00 to 06:30: half an hour of 2 and half an hour of 4: 1 to 2.
    half = HOUR_US // 2
    scheduled = [
        Scheduled("chat", "a", None, 2, FIVE, FIVE + HOUR_US),
        Scheduled("chat", "b", None, 4, FIVE + HOUR_US, FIVE + 3 * half),
    ]
    hours, _ = spread([_cost(2, "3", start_us=FIVE + half)], scheduled)
    *paid, last = hours
    assert [(hour.hour_us - FIVE, from_line(hour.amount)) for hour in paid] == [(0, Decimal(1)), (HOUR_US, Decimal(2))]
    # Of 07:00 to 07:30 nothing is scheduled: what an earlier import gave that hour is not its any more.
    assert (last.hour_us - FIVE, last.amount, last.empty) == (2 * HOUR_US, 0, True)


def test_the_gpu_time_of_a_longer_period_is_the_schedules() -> None:
    scheduled = [Scheduled("chat", "a", None, 1, FIVE, FIVE + 2 * HOUR_US)]
    stated = ImportedCost("chat", FIVE, FIVE + 2 * HOUR_US, Fraction(1), 7 * HOUR_US, "", 2)
    assert [hour.gpu_us for hour in spread([stated], scheduled)[0]] == [HOUR_US, HOUR_US]
    text = "pool,from,until,gpu_hours,cost,currency\nchat,2026-09-01,2026-09-02,7,1,USD\n"
    [rejected] = read_cost_file(text, "bill.csv", "csv", {}).rejected
    assert (rejected["field"], rejected["value"]) == ("gpu_hours", "7")


def test_units_left_over_go_to_the_earlier_hours() -> None:
    scheduled = [Scheduled("chat", "a", None, 1, FIVE, FIVE + 3 * HOUR_US)]
    hours, _ = spread([_cost(3, "1")], scheduled)
    assert [from_line(hour.amount) for hour in hours] == [
        Decimal("0.333333333333333334"), Decimal("0.333333333333333333"), Decimal("0.333333333333333333"),
    ]  # fmt: skip


def test_an_hour_that_credits_make_free_is_a_bill_of_nothing() -> None:
    [hour], unplaced = spread([_cost(1, "1"), _cost(1, "-1", label="credit")], [])
    assert (hour.amount, unplaced) == (0, [])


def test_an_hour_below_zero_is_no_bill_and_told() -> None:
    hours, [left] = spread([_cost(1, "1"), _cost(1, "-1.5", label="refund")], [])
    assert (hours, left.reason, left.amount, left.lines) == ([], "negative", Fraction("-0.5"), (2,))


def test_digits_beyond_the_column_are_added_before_they_are_rounded() -> None:
    tiny = "0.0000000000000000004"
    [hour], _ = spread([_cost(1, tiny), _cost(1, tiny)], [])
    assert hour.amount == 1


@pytest.mark.parametrize(("name", "rows", "ids"), [("gpu_prices.csv", 191, 191), ("aws_gpu_price_history.csv", 44, 38)])
def test_every_public_price_becomes_a_candidate(name: str, rows: int, ids: int) -> None:
    found = read_gpu_prices(shared(f"gpu-prices/{name}").read_text(encoding="utf-8"), name)
    assert (len(found.rates), len({rate.rate_id for rate in found.rates}), found.rejected) == (rows, ids, [])
    assert all(rate.source and rate.checked_on for rate in found.rates)


def test_a_price_of_eight_gpus_is_kept_for_eight() -> None:
    heading = (
        "cloud,region,instance_or_offer,gpu_model,gpu_count,tier,price_usd_per_instance_hour,price_usd_per_gpu_hour,as_of,"
        "source,caveat"
    )
    row = "aws,us-east-1,p4d.24xlarge,A100-40GB,8,on-demand,21.957642,2.744705,2026-07-20,karpenter,stale"
    [rate] = read_gpu_prices(f"{heading}\n{row}\n", "x.csv").rates
    assert (rate.rate_id, rate.gpus, rate.price_per_hour) == (
        "aws/us-east-1/p4d.24xlarge/on-demand",
        8,
        Decimal("21.957642"),
    )
    assert (rate.source, rate.effective_from, rate.kind) == (
        "karpenter; stale",
        datetime(2026, 7, 20, tzinfo=UTC),
        "on_demand",
    )
    # 21.957642 / 8 = 2.74470525
    assert rate.per_gpu_hour() == Fraction("2.74470525")


def test_a_spot_tier_is_spot() -> None:
    heading = "cloud,region,instance_or_offer,gpu_model,gpu_count,tier,price_usd_per_gpu_hour,as_of,source"
    rows = [f"verda,unstated,{tier}-offer,B200,1,{tier},2,2026-05-24,x" for tier in ("spot", "community")]
    assert [rate.kind for rate in read_gpu_prices("\n".join([heading, *rows]), "x.csv").rates] == ["spot", "on_demand"]


def test_tags_that_hold_no_pool_leave_the_row_out() -> None:
    assert _focus({"Tags": json.dumps({"env": "prod"})}).left_out[0].reason == "no_pool"
