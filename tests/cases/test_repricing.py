"""Cases about prices that come to be known after the calls that they price."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from accounting.ledger.reprice import reprice
from accounting.money import format_plain
from accounting.pipeline import ingest
from accounting.pricing.book import PriceBook
from accounting.pricing.tariff import Alias, Tariff
from accounting.storage.engine import transaction
from accounting.storage.tenants import context, create_tenant
from tests.accounting.ledger.prices import stored_book
from tests.cases.rows import cases, row
from tests.conftest import Database
from tests.events import body, event

pytestmark = [pytest.mark.storage, pytest.mark.one_server]


def _events(scenario: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        event(
            f"e{number}",
            provider="acme",
            model=scenario["price"]["model"],
            occurred_at=one["time"],
            usage={"input_tokens": one["uncached_input_tokens"], "output_tokens": one["output_tokens"]},
        )
        for number, one in enumerate(scenario["events"])
    ]


@cases("L7")
def test_a_backdated_price_is_offered_and_not_applied(case_id: str, database: Database) -> None:
    """The calls before the price was added were booked without it; the one after it has its price from the start."""
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    create_tenant(database.owner, "backdated", "Backdated")
    tenant = context(database.app, "backdated")
    price = scenario["price"]
    tariff = Tariff(
        seller="acme",
        model=price["model"],
        prices={name: int(price[name]) * 10**9 for name in ("uncached_input", "output")},
        effective_from=datetime.fromisoformat(price["effective_from"]),
        source="case",
        source_version="1",
    )
    names = [Alias("acme", price["model"], price["model"], "case")]
    before, after = PriceBook([], []), stored_book(database, [tariff], names)
    for one in _events(scenario):
        ingest(database.app, tenant, after if one["occurred_at"] > scenario["price_added_at"] else before, body([one]))
    since, until = datetime(2025, 11, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)
    plan = reprice(database.app, tenant, after, since, until)
    [proposed] = plan.to_json()["totals"]
    assert _booked(database) == expected["as_booked_usd"]
    assert (proposed["events"], proposed["new_contracted_cost"]) == (
        expected["events_repriced"],
        expected["proposed_reprice_usd"],
    )
    assert plan.unpriced == expected["events_still_unpriced"]
    assert sorted(change.event_id for change in plan.changes) == ["e1", "e2"]
    reprice(database.app, tenant, after, since, until, apply=True)
    assert _booked(database) == "0.059"


def _booked(database: Database) -> str:
    with transaction(database.app, "backdated") as connection:
        return format_plain(connection.exec_driver_sql("SELECT sum(effective_cost) FROM ledger").scalar_one())
