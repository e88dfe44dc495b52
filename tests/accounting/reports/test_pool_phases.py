"""What do the reports on pools say of those that run one phase, and of a period that has one phase of a request?"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from accounting.reports import ReportQuery, run
from tests.accounting.ledger.pool_world import PoolWorld, a, request
from tests.conftest import Database

pytestmark = pytest.mark.storage


def asked(world: PoolWorld, name: str, since: str, until: str, *filters: str) -> dict[str, Any]:
    return run(
        world.database.app, world.tenant, name, ReportQuery.parse(since, until, "UTC", filters=filters)
    ).to_json()


def test_a_pool_of_one_phase_is_not_compared_with_the_price_of_the_whole(database: Database) -> None:
    """1.20 for the decode pool and 1.00 for the prefill pool: 2.20 for requests that a tariff sells whole."""
    world = PoolWorld.make(database, role="decode")
    world.pool(("p0",), pool_id="prefill-1", role="prefill")
    world.send(a(prefill_deployment="prefill-1", prefill_replica="p0"))
    world.bill("1.20", "01T10")
    world.bill("1.00", "01T10", pool="prefill-1")
    world.settle()
    hours = ("2026-10-01T10:00:00Z", "2026-10-01T11:00:00Z")
    report = asked(world, "make-or-buy", *hours, "model:openai/gpt-5.6-terra")
    assert [(row["pool"], row["bill"]) for row in report["rows"]] == [("pool-1", "1.2"), ("prefill-1", "1")]
    assert report["totals"][0]["bill"] == "2.2"
    told = {"row", "billing_currency", "pool", "bill", "notes"}
    for row, role in zip(report["rows"], ("decode", "prefill"), strict=True):
        assert {name for name, value in row.items() if value is not None} == told
        assert f"a pool of {role} alone does a part of each request" in row["notes"]
    [sensitivity] = report["sections"]
    assert sensitivity["rows"] == []
    assert {line["name"]: line["amount"] for line in report["footer"]}["difference"] == "0"


def test_an_hour_with_the_decode_steps_alone_of_a_long_cached_prompt_has_unit_costs(database: Database) -> None:
    """x found 100,000 tokens in the hour before and only decodes here, so uncached input is y's whole time before its first token:
    0.010 / 2 + 10 * 0.00002 + 0.000000002 * 10 * 5 = 0.0052001 s. x is in the same step. Cached input has nothing of the bill."""
    world = PoolWorld.make(database)
    big = {"input_tokens": 100_001, "cache_read_tokens": 100_000, "output_tokens": 20_001}
    small = {"input_tokens": 10, "output_tokens": 2}
    world.send(
        request("x", "09:59:50", "09:59:59", "10:10:00", usage=big),
        request("y", "10:05:00", "10:05:01", "10:05:02", usage=small),
    )
    world.bill("2.49", "01T09", "01T10")
    world.settle()
    [row] = asked(world, "unit-costs", "2026-10-01T10:00:00Z", "2026-10-01T11:00:00Z")["rows"]
    [(share,)] = world.query(
        "SELECT sum((details->>'share_seconds')::float8) FROM charges WHERE charge_period_start >= '2026-10-01 10:00+00'"
    )
    new, cached, output = (int(row[f"{name}_tokens"]) for name in ("uncached_input", "cached_input", "output"))
    assert (new, cached, output) == (11, 100_000, 20_003)
    own = Decimal(row["uncached_input_per_million"]) * new / 10**6
    assert float(own) == pytest.approx(2.49 * 0.0052001 / share, rel=1e-6)
    assert Decimal(row["cached_input_per_million"]) == 0
    assert float(own + Decimal(row["output_per_million"]) * output / 10**6) == pytest.approx(2.49, rel=1e-9)
