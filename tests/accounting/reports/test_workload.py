"""Do more calls or dearer ones make the cost grow? Three months that a pencil can follow.

A call of o3 (2 and 8 dollars a million), 1,000 in and 100 out, costs 0.0028; one of `tiny` (1 and 4), 500 in and 50 out, 0.0007.
May has a call without a price, June one of o3, July four of tiny: two of a task, one of a trace, one of neither.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from accounting.errors import InvalidInput, MissingRate
from accounting.ledger.reprice import reprice
from accounting.pipeline import ingest
from accounting.pricing.book import PriceBook
from accounting.pricing.contracted import contracted_rows
from accounting.pricing.tariff import Alias, Tariff
from accounting.reports import ReportQuery, run
from accounting.reports.html import to_html
from accounting.reports.sections import SectionedReport
from accounting.storage.engine import transaction
from accounting.storage.tariffs import read_tariffs, write_tariffs
from accounting.storage.tenants import context, create_tenant
from tests.accounting.ledger.prices import stored_book
from tests.conftest import Database
from tests.events import body, event

pytestmark = pytest.mark.storage

TINY = Tariff("openai", "tiny", {"uncached_input": 1 * 10**9, "output": 4 * 10**9}, source="test")
SMALL = {"model": "tiny", "usage": {"input_tokens": 500, "output_tokens": 50}}


class Traffic:
    """The tenant's workload of some months."""

    def __init__(self, database: Database) -> None:
        create_tenant(database.owner, "traffic", "Traffic")
        self._database, self._tenant = database, context(database.app, "traffic")
        listed, aliases = read_tariffs(database.app, "traffic")
        with database.owner.begin() as connection:
            write_tariffs(connection, [TINY], aliases)
        book = PriceBook([*listed, TINY], [*aliases, Alias("openai", "tiny", "tiny", "test")])
        july = {**SMALL, "occurred_at": "2026-07-10T12:00:00Z"}
        sent = [
            event("may", model="nobody-prices-this", occurred_at="2026-05-10T12:00:00Z", task_id="t0"),
            event("june", occurred_at="2026-06-10T12:00:00Z", task_id="t1"),
            event("j1", task_id="t2", **july),
            event("j2", task_id="t2", retry_of="j1", **july),
            event("j3", trace_id="tr1", **july),
            event("j4", **july),
        ]
        assert ingest(database.app, self._tenant, book, body(sent)).accepted == 6

    def report(self, start: str, end: str, by: str = "", currency: str | None = None) -> SectionedReport:
        report = run(
            self._database.app, self._tenant, "workload", ReportQuery.parse(start, end, "UTC", by, currency=currency)
        )
        assert isinstance(report, SectionedReport)
        return report


@pytest.fixture(scope="module")
def traffic(database: Database) -> Traffic:
    return Traffic(database)


def _section(report: SectionedReport, name: str) -> list[dict[str, Any]]:
    return [row for section in report.sections if section.name == name for row in section.rows]


def test_growth_cuts_the_change_of_cost_into_calls_size_and_unit_price(traffic: Traffic) -> None:
    """From 1 to 4 calls at 0.0028: +0.0084; of half the tokens: -0.0056; at half the price: -0.0028; together nothing."""
    june, july = _section(traffic.report("2026-06-01", "2026-08-01"), "growth")
    assert (june["calls"], june["effective_cost"], june["by_calls"]) == (1, Decimal("0.0028"), None)
    assert (july["calls"], july["tokens"], july["effective_cost"]) == (4, 2_200, Decimal("0.0028"))
    assert (july["by_calls"], july["by_tokens_per_call"], july["by_unit_price"]) == (
        Decimal("0.0084"),
        Decimal("-0.0056"),
        Decimal("-0.0028"),
    )
    assert (july["calls_change_pct"], july["unit_price_change_pct"]) == (300, -50)


def test_growth_tells_calls_a_task_and_a_blended_price_beside_its_phases(traffic: Traffic) -> None:
    _, july = _section(traffic.report("2026-06-01", "2026-08-01"), "growth")
    assert (july["tasks"], july["calls_per_task"], july["cost_per_call"]) == (2, Decimal("1.5"), Decimal("0.0007"))
    # 0.0028 over 2,200 tokens; 1 a million in, 4 out.
    assert (july["blended_per_million"], july["input_per_million"], july["output_per_million"]) == (
        Decimal("1.272727"),
        1,
        4,
    )


def test_a_month_of_unknown_cost_has_no_effects_and_gives_none_to_the_next(traffic: Traffic) -> None:
    may, june = _section(traffic.report("2026-05-01", "2026-07-01"), "growth")
    assert (may["calls"], may["effective_cost"], may["blended_per_million"]) == (1, None, None)
    assert (june["by_calls"], june["by_unit_price"], june["unit_price_change_pct"]) == (None, None, None)


def test_amounts_and_prices_of_calls_that_are_all_unpriced_are_unknown(traffic: Traffic) -> None:
    (total,) = traffic.report("2026-05-01", "2026-06-01").totals
    names = ("effective_cost", "retry_cost", "failure_cost", "cache_saving", "cost_per_task")
    prices = (f"{name}_per_million" for name in ("blended", "input", "output"))
    assert (total["events"], total["tasks"]) == (1, 1)
    assert [total[name] for name in (*names, *prices)] == [None] * 8


def test_what_tasks_cost_leaves_out_those_with_an_unpriced_call(traffic: Traffic) -> None:
    """Tasks of 0.0028 (one call), 0.0014 (two) and 0.0007 (a trace); t0 has no price."""
    cost, calls = _section(traffic.report("2026-05-01", "2026-08-01"), "tasks")
    assert (cost["measure"], cost["tasks"], cost["p50"], cost["p95"], cost["max"]) == (
        "cost",
        3,
        Decimal("0.0014"),
        Decimal("0.0028"),
        Decimal("0.0028"),
    )
    assert (calls["p50"], calls["max"]) == (1, 2)


def test_retries_and_coverage_stand_beside_the_cost(traffic: Traffic) -> None:
    report = traffic.report("2026-05-01", "2026-08-01")
    (total,) = report.totals
    assert (total["events"], total["priced_events"], total["retries"], total["retry_cost"]) == (
        6,
        5,
        1,
        Decimal("0.0007"),
    )
    assert {row["status"]: row["events"] for row in report.coverage if row["events"]} == {"priced": 5, "unpriced": 1}


def test_a_period_without_calls_has_no_rows_and_its_coverage(traffic: Traffic) -> None:
    report = traffic.report("2025-01-01", "2025-02-01")
    assert (report.rows, report.sections, len(report.coverage)) == ([], (), 5)


def test_a_page_and_a_table_name_the_currency_of_their_amounts(traffic: Traffic) -> None:
    report = traffic.report("2026-06-01", "2026-08-01")
    assert "<p class=note>UTC  USD</p>" in to_html(report)
    assert report.to_table().splitlines()[0] == "workload  2026-06-01 to 2026-08-01  UTC  USD"


def test_a_currency_without_a_rate_and_two_groupings_are_refused(traffic: Traffic) -> None:
    with pytest.raises(MissingRate, match="CHF on 2026-06-10"):
        traffic.report("2026-06-01", "2026-08-01", currency="CHF")
    with pytest.raises(InvalidInput, match="group_by"):
        traffic.report("2026-06-01", "2026-08-01", by="model,feature")


def test_prices_and_saving_of_a_repriced_call_are_those_of_the_row_it_is_priced_by_now(database: Database) -> None:
    """500 fresh, 500 cached and 1,000 output tokens at 2, 1 and 8 a million, then by contract at 0.1, 0.05 and 0.1: 0.000175 in all;
    the saving is 500 x 0.05 a million, the input 0.000075 for 1,000 tokens."""
    create_tenant(database.owner, "repriced", "Repriced")
    tenant = context(database.app, "repriced")
    million = 10**9
    listed = Tariff(
        "openai", "o3", {"uncached_input": 2 * million, "cache_read": million, "output": 8 * million}, source="t"
    )
    own = Tariff(
        "openai",
        "o3",
        {"uncached_input": million // 10, "cache_read": million // 20, "output": million // 10},
        tenant="repriced",
        source="contract",
    )
    names = [Alias("openai", "o3", "o3", "test")]
    with transaction(database.owner, "repriced") as connection:
        write_tariffs(connection, [own], [])
    base = stored_book(database, [listed], names)
    call = event("a", usage={"input_tokens": 1000, "cache_read_tokens": 500, "output_tokens": 1000})
    ingest(database.app, tenant, (base, base), body([call]))
    contract = PriceBook(*contracted_rows([listed], names, [], [own]))
    month = datetime(2026, 7, 1, tzinfo=UTC), datetime(2026, 8, 1, tzinfo=UTC)
    reprice(database.app, tenant, (base, contract), *month, apply=True)
    found = run(database.app, tenant, "workload", ReportQuery.parse("2026-07-01", "2026-08-01", "UTC")).rows[0]
    names_of = ("effective_cost", "cache_saving", "input_per_million", "output_per_million")
    assert {name: Decimal(str(found[name])) for name in names_of} == {
        "effective_cost": Decimal("0.000175"),
        "cache_saving": Decimal("0.000025"),
        "input_per_million": Decimal("0.075"),
        "output_per_million": Decimal("0.1"),
    }
