"""What do the reports on pools say of the worked hour (tests/golden/worked_hour) and of the one after it?

Requests A (1,000 in, 101 out) and B (1,000 in, 800 of them found, 201 out); both hours billed 2.49. Seconds: A 0.8008739569260820,
B 0.7824810267537765 and in the second hour 100 * 0.010 + 100 * 0.0001 + 0.0000001 * (100 * 1,100 + 5,050) = 1.021505: 2.60485998367986.
Before the first token: 0.031 and 0.005 + 0.00452, of it 0.00016 of cached tokens.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from accounting.errors import InvalidInput, NotFound
from accounting.reports import ReportQuery, run
from accounting.reports.pool_diagnosis import OWN_PRICE
from accounting.reports.pool_what_if import Question, pool_what_if
from accounting.selfhosted.curve_json import dump_curve
from accounting.selfhosted.rates import GpuRate
from accounting.selfhosted.what_if import BEHAVIOUR
from accounting.storage.curves import record_curve
from accounting.storage.gpu_rates import record_rate
from tests.accounting.cli.conftest import runner
from tests.accounting.ledger.pool_world import PoolWorld, request
from tests.accounting.selfhosted.worked import CURVE
from tests.conftest import Database
from tests.golden.test_worked_hour_in_the_ledger import A, B, C

pytestmark = pytest.mark.storage
HOURS = ("2026-10-01T10:00:00Z", "2026-10-01T12:00:00Z")


@pytest.fixture(scope="module")
def world(database: Database) -> PoolWorld:
    made = PoolWorld.make(database)
    made.send(A, B, C)
    made.bill("2.49", "01T10", "01T11")
    quantised = replace(CURVE, t_0=0.005, header=replace(CURVE.header, curve_id="quantised", behaviour_changing=True))
    record_curve(database.app, made.tenant, dump_curve(quantised), "test")
    floor = replace(CURVE, header=replace(CURVE.header, curve_id="kernels", floor=True))
    record_curve(database.app, made.tenant, dump_curve(floor), "test")
    made.settle()
    return made


def asked(world: PoolWorld, name: str, *filters: str) -> dict[str, Any]:
    return run(world.database.app, world.tenant, name, ReportQuery.parse(*HOURS, "UTC", filters=filters)).to_json()


def section(report: dict[str, Any], name: str) -> list[dict[str, Any]]:
    [found] = [one for one in report["sections"] if one["name"] == name]
    rows: list[dict[str, Any]] = found["rows"]
    return rows


def test_tokens_by_kind_pay_the_bill(world: PoolWorld) -> None:
    """4.98 over 2,302 tokens. 4.98 * 0.04036 / 2.60485998 over 1,200, * 0.00016 over 800, * 2.56433998 over 302."""
    [row] = asked(world, "unit-costs")["rows"]
    assert (row["pool"], row["requests"], row["bill"]) == ("pool-1", 2, "4.98")
    assert [row[f"{name}_tokens"] for name in ("uncached_input", "cached_input", "output")] == [1_200, 800, 302]
    assert Decimal(row["plain_per_million"]) == pytest.approx(Decimal("2163.336229"), abs=Decimal("1e-6"))
    kinds = [Decimal(row[f"{name}_per_million"]) for name in ("uncached_input", "cached_input", "output")]
    assert [float(one) for one in kinds] == pytest.approx([64.300577017, 0.382362202, 16_233.554363634], rel=1e-10)
    assert sum(one * count for one, count in zip(kinds, (1_200, 800, 302), strict=True)) / 10**6 == pytest.approx(
        Decimal("4.98"), rel=Decimal("1e-8")
    )


def test_utilisation_is_own_work_and_full_steps_of_the_bill(world: PoolWorld) -> None:
    """(0.02552 + 0.062515 + 0.010 * 302 / 4) / 7,200; 302 steps over 151.4 of its own are a mean batch of 1.2."""
    [row] = asked(world, "unit-costs")["rows"]
    assert Decimal(row["utilisation"]) == Decimal("0.0117")
    assert row["best_batch"] == 4
    assert Decimal(row["mean_batch"]) == pytest.approx(Decimal("1.2"), abs=Decimal("0.001"))


def test_a_full_step_costs_a_fraction_of_what_was_billed(world: PoolWorld) -> None:
    """At R* 4 and 1,000: 0.010/4 + 0.0001 + 0.0001 s a token, 2.49/3,600 a second."""
    points = {row["point"]: row for row in section(asked(world, "unit-costs"), "points")}
    assert list(points) == ["as billed", "mean batch", "R*"]
    assert float(points["R*"]["output_per_million"]) == pytest.approx(2.49 / 3_600 * 2_700, rel=1e-6)
    assert float(points["R*"]["cached_input_per_million"]) == pytest.approx(2.49 / 3_600 * 0.2, rel=1e-5)


def test_the_series_against_context_grows(world: PoolWorld) -> None:
    """A step of R takes 10 + R * (0.1 + 0.0001 * context) ms, 10.85 are promised: at 1,024 0.85 / 0.2024 is 4."""
    series = section(asked(world, "unit-costs"), "context")
    assert [(row["context"], row["batch"]) for row in series] == [
        (256, 6),
        (512, 5),
        (1_024, 4),
        (2_048, 2),
        (4_096, 1),
    ]
    costs = [Decimal(row["output_per_million"]) for row in series]
    assert costs == sorted(costs)
    assert {row["extrapolated"] for row in series} == {"no"}


def test_the_terms_of_the_diagnosis_are_the_seconds_paid_for(world: PoolWorld) -> None:
    """idle 3,591.9 + 3,598, empty places 2.51682498367986 - 0.755, gap 7,200 - 7,189.9 - 2.60485998367986."""
    [row] = asked(world, "pool-diagnosis")["rows"]
    terms = {name: float(row[f"{name}_gpu_seconds"]) for name in ("prefill", "decode", "kv", "arrivals", "gap")}
    assert terms == pytest.approx(
        {"prefill": 0.02552, "decode": 0.817515, "kv": 0, "arrivals": 7_191.661825, "gap": 7.49514}, abs=1e-6
    )
    assert (row["gpu_seconds"], row["bound"]) == ("7200", "arrivals")
    assert "fewer replicas" in row["setting"]


def test_two_requests_an_hour_need_one_replica(world: PoolWorld) -> None:
    [row] = section(asked(world, "pool-diagnosis"), "capacity")
    assert (row["replicas"], row["replicas_needed"], row["limit"]) == ("1", 1, "itl")
    assert row["requests_per_second"] == "0.001"


def test_other_curves_are_compared_and_say_what_they_change(world: PoolWorld) -> None:
    """Means of 150 steps: own prefill 0.01276, own decode 0.0312575: 0.85 ms hold 2 of 0.293 ms each; contexts doubled 1 of 0.488."""
    rows = {row["setup"]: row for row in section(asked(world, "pool-diagnosis"), "what_if")}
    assert rows["as it is"]["change_pct"] == "0"
    [quantised] = [row for name, row in rows.items() if "quantised" in name and name.startswith("curve")]
    assert Decimal(quantised["change_pct"]) < -40
    assert BEHAVIOUR in quantised["notes"]
    assert OWN_PRICE in quantised["notes"]
    assert not any("kernels" in name for name in rows)
    assert [rows[name]["batch"] for name in ("as it is", "contexts twice as long")] == ["2", "1"]
    assert "this pool's prefill + this pool's decode" in rows


def test_another_gpus_curve_costs_the_cheapest_rate_in_force_at_the_end(world: PoolWorld) -> None:
    """From 13:00 on half of the pool's 2.49 is asked; what begins at the end itself, 14:00, is not in force."""
    for name, price, at in (("dear", "9", 13), ("half", "1.245", 13), ("later", "1", 14)):
        rate = GpuRate(
            name,
            "on_demand",
            CURVE.header.gpu,
            "USD",
            datetime(2026, 10, 1, at, tzinfo=UTC),
            price_per_hour=Decimal(price),
            source="test",
            checked_on=date(2026, 10, 1),
        )
        record_rate(world.database.app, world.tenant, rate, "test")
    query = ReportQuery.parse(HOURS[0], "2026-10-01T14:00:00Z", "UTC")
    report = run(world.database.app, world.tenant, "pool-diagnosis", query).to_json()
    [row] = [row for row in section(report, "what_if") if row["setup"].startswith("curve quantised")]
    assert row["cost_per_hour"] == "1.245"
    assert OWN_PRICE not in row["notes"]


def test_a_pool_whose_model_nobody_sells_says_so(world: PoolWorld) -> None:
    [row] = asked(world, "make-or-buy")["rows"]
    assert (row["tariff"], row["bought_cost"], row["bill"]) == (None, None, "4.98")
    assert "no seller's price" in row["notes"]


def test_a_named_tariff_is_rated_on_the_pools_own_requests(world: PoolWorld) -> None:
    """gpt-5.6-terra asks 2 a million uncached tokens, 0.2 cached, 12 output: 0.0024 + 0.00016 + 0.003624 = 0.006184.

    The pool costs 59.76 a day: 59.76 / 0.006184 * 2,302 tokens."""
    [row] = asked(world, "make-or-buy", "model:openai/gpt-5.6-terra")["rows"]
    assert row["tariff"] == "openai/gpt-5.6-terra"
    assert Decimal(row["bought_cost"]) == Decimal("0.006184")
    assert Decimal(row["break_even_tokens_a_day"]) == pytest.approx(Decimal(22_245_718), abs=1)
    assert Decimal(row["tokens_a_day"]) == 27_624
    assert row["behaviour_changing"] == "no"


def test_token_utilisation_is_tokens_of_the_most_that_full_batches_serve(world: PoolWorld) -> None:
    """Of the bill it is 0.0117 (above). Steps hold prompts too here, so 10.85 ms let in 2: 0.01276 + 0.0312575 + 150/2 * 0.010 =
    0.7940175 s a request, 10.587 ms a step; 3 would take 10.880. 86,400 / 0.7940175 * 1,151 = 125,244,595 tokens a day; 27,624 are
    0.02206 %."""
    [row] = asked(world, "make-or-buy", "model:openai/gpt-5.6-terra")["rows"]
    assert Decimal(row["token_utilisation"]) == Decimal("0.0221")


def test_sensitivity_has_a_line_for_each_changed_assumption(world: PoolWorld) -> None:
    rows = section(asked(world, "make-or-buy", "model:openai/gpt-5.6-terra"), "sensitivity")
    by_name = {row["assumption"]: row for row in rows}
    assert list(by_name) == [
        "GPU price x 1/2",
        "GPU price x 2",
        "prompts x 1/2",
        "prompts x 2",
        "30.0% of prompts found in the cache",
        "50.0% of prompts found in the cache",
    ]
    half, double = (Decimal(by_name[f"GPU price x {factor}"]["break_even_tokens_a_day"]) for factor in ("1/2", "2"))
    assert double == pytest.approx(4 * half, rel=Decimal("1e-6"))


@pytest.mark.parametrize("name", ["unit-costs", "pool-diagnosis", "make-or-buy"])
def test_every_report_foots_to_the_settled_bills(world: PoolWorld, name: str) -> None:
    report = asked(world, name)
    assert report["totals"][0]["bill"] == "4.98"
    assert {line["name"]: line["amount"] for line in report["footer"]} == {
        "hours_without_replicas": "0",
        "difference": "0",
    }


@pytest.mark.parametrize("name", ["unit-costs", "pool-diagnosis", "make-or-buy"])
def test_every_report_is_written_in_every_format(world: PoolWorld, name: str) -> None:
    report = run(world.database.app, world.tenant, name, ReportQuery.parse(*HOURS, "UTC"))
    assert "pool-1" in report.to_table()
    assert "pool-1" in report.to_csv()


def test_a_pool_that_is_not_there_is_refused_by_name(world: PoolWorld) -> None:
    with pytest.raises(NotFound, match="pool='nope'"):
        asked(world, "unit-costs", "pool:nope")
    with pytest.raises(InvalidInput, match="filter='team'"):
        asked(world, "unit-costs", "team:x")


def test_a_limit_is_refused_instead_of_left_out(world: PoolWorld) -> None:
    with pytest.raises(InvalidInput, match="limit=1"):
        run(world.database.app, world.tenant, "unit-costs", ReportQuery.parse(*HOURS, "UTC", limit=1))


def test_a_period_without_settled_hours_is_empty(world: PoolWorld) -> None:
    query = ReportQuery.parse("2026-09-01", "2026-10-01", "UTC")
    for name in ("unit-costs", "pool-diagnosis", "make-or-buy"):
        assert run(world.database.app, world.tenant, name, query).to_json()["rows"] == []


def test_what_is_settled_anew_counts_once(database: Database) -> None:
    """A late third request: the hour is settled again with corrections; requests and tokens are those of three."""
    made = PoolWorld.make(database)
    made.send(A, B)
    made.bill("2.49", "01T10", "01T11")
    made.settle()
    made.send(request("D", "10:20:00", "10:20:01", "10:20:03"))
    made.settle()
    [row] = asked(made, "unit-costs")["rows"]
    assert (row["requests"], row["output_tokens"], row["uncached_input_tokens"]) == (3, 403, 2_200)


def answer(world: PoolWorld, **asked: Any) -> dict[str, Any]:
    return pool_what_if(world.database.app, world.tenant, Question("pool-1", **asked), ReportQuery.parse(*HOURS, "UTC"))


def test_a_forecast_needs_the_replicas_that_its_requests_fill(world: PoolWorld) -> None:
    """A request takes 0.01276 + 0.0312575 + 0.010 * 150/2 = 0.7940175 s of a replica: 10 a second at 80 % are 9.925.

    Without the promise of 10.85 ms 8 decode at once, 0.0440175 + 0.1875: 2.894; a second of a replica costs 2.49 / 3,600."""
    held, free = answer(world, requests_per_second=10.0), answer(world, requests_per_second=10.0, itl_ms=100.0)
    assert (held["as_it_is"]["batch"], held["as_it_is"]["limit"], held["as_it_is"]["replicas_needed"]) == (
        "2",
        "itl",
        10,
    )
    assert held["as_asked"] == held["as_it_is"]
    assert (free["as_asked"]["batch"], free["as_asked"]["limit"], free["as_asked"]["replicas_needed"]) == (
        "8",
        "max_batch",
        3,
    )
    assert held["as_it_is"]["cost_per_hour"] == "24.9"
    assert float(held["as_it_is"]["cost_per_million"]) == pytest.approx(
        2.49 / 3_600 * 0.7940175 / 0.8 / 1_151 * 1e6, rel=1e-6
    )


def test_what_is_asked_changes_that_alone(world: PoolWorld) -> None:
    """A GPU at half the price: half the cost. All prompts found but their last token: 1 * d + f * 999.5 + r * 999 instead of 0.01276."""
    half = answer(world, gpu_hour=Decimal("1.245"))
    assert (half["change_pct"], half["requests_per_second"]) == ("-50", "0.000556")  # two in the busiest hour
    found = answer(world, hit_share=Decimal(1), itl_ms=100.0)["as_asked"]
    seconds = 0.00002 + 0.000000002 * 999.5 + 0.0000002 * 999 + 0.0312575 + 0.010 * 150 / 8
    assert float(found["cost_per_million"]) == pytest.approx(2.49 / 3_600 * seconds / 0.8 / 1_151 * 1e6, rel=1e-6)
    other = answer(world, curve_id="quantised")["as_asked"]
    assert any(note.startswith(BEHAVIOUR) for note in other["notes"])
    assert answer(world, apart=True)["as_asked"]["notes"][-1].startswith("moving the cache")
    assert answer(world, kv_ratio=Decimal("0.25"))["as_asked"]["notes"][-1].startswith("derived")


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"busy": Decimal(2)}, "busy='2'"),
        ({"hit_share": Decimal("-0.1")}, "hit_share='-0.1'"),
        ({"requests_per_second": 0.0}, "requests_per_second='0.0'"),
        ({"context_factor": Decimal(0)}, "context_factor='0'"),
    ],
)
def test_a_question_that_can_not_be_is_refused_by_field_and_value(asked: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        Question("pool-1", **asked)


def test_a_pool_without_charged_requests_has_no_answer(world: PoolWorld) -> None:
    query = ReportQuery.parse("2026-09-01", "2026-10-01", "UTC")
    with pytest.raises(InvalidInput, match="pool_id='pool-1'"):
        pool_what_if(world.database.app, world.tenant, Question("pool-1"), query)
    with pytest.raises(NotFound, match="pool='nope'"):
        pool_what_if(world.database.app, world.tenant, Question("nope"), query)


def test_the_command_prints_both_sides(world: PoolWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    run_command = runner(world.database, monkeypatch)
    words = ("pools", "what-if", "pool-1", "--from", HOURS[0], "--to", HOURS[1], "--tenant", world.tenant.tenant)
    shown = run_command(*words, "--gpu-hour", "1.245").output
    assert "pool-1: 2 requests" in shown
    assert [line.split()[-1] for line in shown.splitlines() if line.startswith("change_pct")] == ["-50"]
    told = json.loads(run_command(*words, "--requests-per-second", "10", "--json").output)
    assert told["as_asked"]["replicas_needed"] == 10
    assert "hit_share='3'" in run_command(*words, "--hit-share", "3").output
