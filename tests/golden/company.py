"""How does the worked company get into a database? Its CSV files, through the same doors as a user's."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import msgspec
from sqlalchemy import insert

from accounting.ledger.rollups import rebuild
from accounting.money import parse_unit_price
from accounting.pipeline import ingest
from accounting.pricing.tariff import Alias, Tariff, fallbacks_for
from accounting.revenue.line_imports import import_lines_csv
from accounting.revenue.plan_prices import put_plan_price
from accounting.revenue.plans import put_plan, put_subscription
from accounting.revenue.subscriptions import make_subscription
from accounting.revenue.terms import put_term
from accounting.storage.engine import transaction
from accounting.storage.tables import charges
from accounting.storage.tariffs import load_book, write_tariffs
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.conftest import Database

FOLDER = Path(__file__).parent / "plan_company"


def rows(name: str) -> Iterator[dict[str, str]]:
    with (FOLDER / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def load(database: Database) -> TenantContext:
    """The company's tenant, with everything booked."""
    create_tenant(database.owner, "worked", "The worked company")
    tenant = context(database.app, "worked")
    _prices(database)
    _sales(database, tenant)
    answer = ingest(database.app, tenant, load_book(database.app, "worked"), _events(), ndjson=True)
    assert (answer.accepted, answer.rejected, answer.conflicts) == (25, [], [])
    _own_machines(database, tenant)
    result = import_lines_csv(database.app, tenant, FOLDER / "lines.csv")
    assert (result.accepted, result.rejected) == (15, [])
    assert result.unmatched == ["fee-4-stray", "stray"]
    return tenant


def _prices(database: Database) -> None:
    tariffs = []
    for cells in rows("tariffs"):
        stated = {name: cells[name] for name in ("uncached_input", "cache_read", "output")}
        prices = {name: parse_unit_price(text) for name, text in stated.items()}
        tariffs.append(
            Tariff(
                seller=cells["seller"],
                model=cells["model"],
                prices=prices,
                fallbacks=fallbacks_for(prices),
                effective_from=_moment(cells["effective_from"]),
                effective_until=_moment(cells["effective_until"]),
                price_texts=stated,
                source="by hand",
                source_version="1",
            )
        )
    names = sorted({(one.seller, one.model) for one in tariffs})
    with database.owner.begin() as connection:
        write_tariffs(connection, tariffs, [Alias(seller, model, model, "by hand") for seller, model in names])


def _sales(database: Database, tenant: TenantContext) -> None:
    for cells in rows("plans"):
        put_plan(database.app, tenant, cells["plan"], kind=cells["kind"])
        put_plan_price(
            database.app, tenant, cells["plan"], price=cells["price"], effective_from=cells["effective_from"]
        )
    for cells in rows("subscriptions"):
        made = make_subscription(
            tenant,
            cells["subscription_id"],
            plan=cells["plan"],
            user_id=cells["user_id"],
            account_id=cells["account_id"] or None,
            monthly_price=0,
            starts_on=cells["starts_on"],
            ends_on=cells["ends_on"] or None,
            quantity=cells["quantity"],
            interval_months=cells["interval_months"],
            comped=cells["comped"] == "yes",
            revenue_from=cells["revenue_from"],
        )
        put_subscription(database.app, tenant, made)
    for cells in rows("terms"):
        put_term(
            database.app,
            tenant,
            cells["subscription_id"],
            cells["term_id"],
            kind=cells["kind"],
            starts_on=cells["starts_on"],
            ends_on=cells["ends_on"],
            percent_off=cells["percent_off"] or None,
        )


def _events() -> bytes:
    lines = []
    for cells in rows("events"):
        usage = {
            "input_tokens": int(cells["uncached_input"]) + int(cells["cache_read"]),
            "cache_read_tokens": int(cells["cache_read"]),
            "output_tokens": int(cells["output"]),
        }
        named = {name: cells[name] for name in ("event_id", "occurred_at", "purpose", "feature", "provider", "model")}
        owner = {name: cells[name] for name in ("user_id", "account_id") if cells[name]}
        lines.append(msgspec.json.encode({**named, **owner, "status": "ok", "usage": usage}))
    return b"\n".join(lines)


def _own_machines(database: Database, tenant: TenantContext) -> None:
    """Charges of the company's own machines, as rows; the rollups follow from the ledger."""
    lines = []
    for cells in rows("charges"):
        cost = Decimal(cells["cost"])
        costs = dict.fromkeys(("list_cost", "contracted_cost", "effective_cost", "billed_cost"), cost)
        moment = datetime.fromisoformat(cells["charge_period_start"])
        lines.append(
            {
                "tenant": tenant.tenant,
                "charge_id": cells["charge_id"],
                "subject_kind": cells["subject_kind"],
                "subject_id": cells["charge_id"],
                "charge_period_start": moment,
                "booking_period": moment.date().replace(day=1),
                "category": "Usage",
                "charge_status": "priced",
                "seller": "own",
                "model": cells["model"],
                "purpose": "pool_idle" if cells["basis"] == "idle" else "production",
                "user_id": cells["user_id"] or None,
                "account_id": cells["account_id"] or None,
                "feature": cells["feature"] or None,
                "events": int(cells["events"]),
                "uncached_input_tokens": int(cells["uncached_input_tokens"]),
                "cache_read_tokens": 0,
                "cache_write_tokens": 0,
                "output_tokens": int(cells["output_tokens"]),
                **costs,
                "billing_currency": "USD",
                "basis": cells["basis"],
            }
        )
    with transaction(database.app, tenant.tenant) as connection:
        connection.execute(insert(charges), lines)
        rebuild(connection, tenant.tenant, tenant.reporting_tz)


def _moment(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
