"""Is every step from a log line to its cost shown, with the rows that made it? Model m: list 2 in, 8 out; 10 % off by contract."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from accounting.errors import NotFound
from accounting.ledger.check import check, differences
from accounting.ledger.explain import explain
from accounting.ledger.read import charge_of
from accounting.ledger.reprice import reprice
from accounting.ledger.settle import settle
from accounting.pipeline import ingest
from accounting.pricing.contract import Contract, PriceRule, Scope, VolumeStep, VolumeTier
from accounting.pricing.tariff import Alias, Tariff
from accounting.storage.contracts import record
from accounting.storage.tariffs import Layers, load_layers, write_tariffs
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.conftest import Database
from tests.events import body, event

pytestmark = pytest.mark.storage

JULY, AUGUST = datetime(2026, 7, 1, tzinfo=UTC), datetime(2026, 8, 1, tzinfo=UTC)
LIST = Tariff("acme", "m", {"uncached_input": 2 * 10**9, "output": 8 * 10**9}, source="leaflet", source_version="7")
LONG = replace(LIST, prices={"uncached_input": 4 * 10**9, "output": 8 * 10**9}, above_input_tokens=1_500)
NAMES = [Alias("acme", "m", "m", "leaflet"), Alias("acme", "m-latest", "m", "leaflet")]
CALL = {"provider": "acme", "model": "m-latest", "user_id": "ann"}


@pytest.fixture(scope="module")
def tenant(database: Database) -> TenantContext:
    with database.owner.begin() as connection:
        write_tariffs(connection, [LIST, LONG], NAMES)
    create_tenant(database.owner, "acme", "Acme")
    found = context(database.app, "acme")
    tier = VolumeTier("bulk", Scope(), None, (VolumeStep(0, "discount", "0.5"),))
    rule = PriceRule("tenth", "discount", Scope(), "0.10")
    record(database.app, found, Contract("k1", "acme", "acme", "USD", JULY, rules=(rule,), volume_tiers=(tier,)), "cfo")
    return found


@pytest.fixture(scope="module")
def layers(database: Database, tenant: TenantContext) -> Layers:
    found = load_layers(database.app, tenant.tenant)
    calls = [
        event("short", **CALL),
        event("long", **CALL, occurred_at="2026-07-02T12:00:00Z", usage={"input_tokens": 2_000}),
        event("unknown", provider="acme", model="m-2"),
    ]
    ingest(database.app, tenant, found, body(calls))
    return found


def test_every_class_shows_list_and_contracted_price(database: Database, tenant: TenantContext, layers: Layers) -> None:
    """1,000 in at 2 and 100 out at 8, each less a tenth."""
    found = explain(database.app, tenant, "short")
    assert found["components"] == [
        {
            "token_class": "uncached_input",
            "quantity": 1000,
            "list_unit_price": "2",
            "list_cost": "0.002",
            "contracted_unit_price": "1.8",
            "contracted_cost": "0.0018",
            "fallback": None,
        },
        {
            "token_class": "output",
            "quantity": 100,
            "list_unit_price": "8",
            "list_cost": "0.0008",
            "contracted_unit_price": "7.2",
            "contracted_cost": "0.00072",
            "fallback": None,
        },
    ]
    assert {name: found["outcome"][name] for name in ("list_cost", "contracted_cost", "billed_cost")} == {
        "list_cost": "0.0028",
        "contracted_cost": "0.00252",
        "billed_cost": "0.00252",
    }


def test_the_price_rows_say_where_they_come_from(database: Database, tenant: TenantContext, layers: Layers) -> None:
    found = explain(database.app, tenant, "short")
    listed, paid = found["list_price"], found["contracted_price"]
    assert (listed["layer"], listed["source"], listed["source_version"]) == ("list", "leaflet", "7")
    assert listed["sku_price_id"] == LIST.sku_price_text
    assert (paid["layer"], paid["derived_from"]) == ("contract", LIST.sku_price_text)
    assert found["matched"] == {
        "provider": "acme",
        "seller": "acme",
        "logged_model": "m-latest",
        "priced_model": "m",
        "how": "alias",
    }


def test_the_threshold_that_was_reached_is_named(database: Database, tenant: TenantContext, layers: Layers) -> None:
    found = explain(database.app, tenant, "long")
    assert found["conditions"]["threshold"] == "total_input 2000 > 1500"
    assert found["contracted_price"]["above_tokens"] == 1_500


def test_an_event_without_a_price_says_why(database: Database, tenant: TenantContext, layers: Layers) -> None:
    found = explain(database.app, tenant, "unknown")
    assert (found["outcome"]["status"], found["outcome"]["reason"]) == ("unpriced", "unknown_model")
    assert (found["list_price"], found["components"]) == (None, [])


def test_later_charges_stand_below_the_first(database: Database, tenant: TenantContext, layers: Layers) -> None:
    """The dearer row is withdrawn, so that `long` costs 2,000 x 1.8 + 100 x 7.2 instead of 2,000 x 3.6 + 100 x 7.2."""
    with database.owner.begin() as connection:
        write_tariffs(connection, [LIST], NAMES)
    reprice(database.app, tenant, load_layers(database.app, tenant.tenant), JULY, AUGUST, apply=True, run_id="again")
    settle(database.app, tenant)
    found = explain(database.app, tenant, "long")
    assert [(line["charge_id"], line["contracted_cost"], line["run_id"]) for line in found["lines"]] == [
        ("long:0", "0.00792", None),
        ("long:0/correction/1", "-0.0036", "again"),
    ]
    assert (
        found["outcome"]["contracted_cost"] == charge_of(database.app, tenant, "long")["contracted_cost"] == "0.00432"
    )
    assert [(line["policy"], line["contracted_cost"]) for line in found["settlement"]] == [
        ("volume_tier:bulk", "-0.00216")  # half of what the day's one call costs
    ]
    assert differences(check(database.app, tenant)) == []


def test_an_unknown_event_is_not_found(database: Database, tenant: TenantContext) -> None:
    with pytest.raises(NotFound, match="event_id='nobody': no such event"):
        explain(database.app, tenant, "nobody")
