"""How does a person state one price, or that one name means another? The tenant's own, or, by the owner, for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Engine, text

from accounting.errors import InvalidInput, NotFound
from accounting.pricing.data_files import seller_names
from accounting.pricing.entry import tariff_from_entry
from accounting.pricing.layering import STATED, WITHDRAWN, known_names, meaning
from accounting.pricing.sources.statement import SourceFindings, Statement
from accounting.pricing.tariff import Alias, Tariff
from accounting.storage import audit
from accounting.storage.engine import NO_TENANT, read_only, transaction
from accounting.storage.price_decisions import row_id
from accounting.storage.price_imports import planned, record
from accounting.storage.price_records import Said, believed, name_models, say, spoken
from accounting.storage.price_show import row_json, tariff_json
from accounting.storage.tariffs import read_tariffs, write_pieces

HAND = "hand"
_UNPRICED_SELLERS = text(
    "SELECT DISTINCT seller FROM ledger WHERE tenant = :tenant AND charge_status = 'unpriced' AND model = :model ORDER BY 1"
)


def siblings(engine: Engine, tenant: str | None) -> list[Tariff]:
    """Rows that a typed-in price is compared with: all that a source or this tenant states."""
    with read_only(engine, tenant or NO_TENANT) as connection:
        return [one.tariff for one in believed(connection) if one.state == STATED]


def enter_rows(
    engine: Engine, entries: Sequence[Mapping[str, str]], actor: str, *, tenant: str | None = None
) -> list[dict[str, Any]]:
    """`add_rows` of rows as fields of text (accounting/pricing/entry.py). Raises InvalidInput that names row, field and value."""
    known = siblings(engine, tenant)
    rows = []
    for number, entry in enumerate(entries):
        try:
            rows.append(tariff_from_entry(entry, known))
        except InvalidInput as error:
            raise InvalidInput(f"rows[{number}].{error.field}", error.value, error.reason) from None
    return add_rows(engine, rows, actor, tenant=tenant)


def add_rows(
    engine: Engine,
    rows: Sequence[Tariff],
    actor: str,
    *,
    tenant: str | None = None,
    at: datetime | None = None,
) -> list[dict[str, Any]]:
    """Records rows as a person's decision, in force at once; each ends the row of the same source before it.

    Args:
        rows: list rows without tenant; `effective_from` says since when they hold.
        tenant: whose they are; None: of all, by the owner's engine.

    Raises InvalidInput for a row without a start, Conflict for one that would overlap a later one.
    """
    for row in rows:
        if row.effective_from is None:
            raise InvalidInput("effective_from", None, f"since when does the price of {row.model} hold?")
    names = list(
        {(row.seller, row.model): Alias(row.seller, row.model.lower(), row.model, HAND) for row in rows}.values()
    )
    today = datetime.now(UTC).date().isoformat()
    rows = [replace(row, source=row.source or HAND, source_version=row.source_version or today) for row in rows]
    statement = Statement(HAND, today, rows, names, SourceFindings(), whole=False)
    with transaction(engine, tenant or NO_TENANT) as connection:
        moment = audit.begin(connection, at)
        plan = planned(connection, statement, moment.date(), tenant, actor, decided=True)
        record(connection, statement, plan, moment, actor, tenant)
        added = [tariff_json(row) for row in plan.changes.new]
        for one in added:
            audit.note(connection, tenant, moment, actor, "prices.add", one["sku_price_id"], after=one)
    return added


def withdraw_row(
    engine: Engine, sku_price_id: str, actor: str, *, tenant: str | None = None, at: datetime | None = None
) -> dict[str, Any]:
    """Takes a row back that a person or a file of ours stated; it was never right. Raises NotFound."""
    wanted = row_id(sku_price_id)
    with transaction(engine, tenant or NO_TENANT) as connection:
        moment = audit.begin(connection, at)
        held = [one for one in believed(connection, ids=[wanted]) if one.tariff.tenant == tenant]
        if not held:
            raise NotFound(f"sku_price_id={sku_price_id!r}: no such price row is in force here")
        say(connection, [Said(one.tariff, one.list_source, WITHDRAWN) for one in held], moment)
        if tenant is None:
            write_pieces(connection)
        before = row_json(held[0])
        audit.note(connection, tenant, moment, actor, "prices.withdraw", sku_price_id, before)
    return before


def assign(
    engine: Engine, tenant: str, model: str, like: str, actor: str, *, seller: str | None = None
) -> dict[str, Any]:
    """Says what an unpriced name of a tenant means: a model of the same seller by another name, or the price of another's.

    Args:
        like: SELLER/MODEL, as the price list names them or by an alias.
        seller: of the unpriced events; None: the only one there is.

    Of the same seller it becomes a name; of another, rows of the tenant's own at that price, with their source named. Raises
    InvalidInput, NotFound.
    """
    like_seller, slash, like_model = like.partition("/")
    if not slash or not like_model:
        raise InvalidInput("like", like, "SELLER/MODEL is expected")
    whose = seller_names().get(seller.lower(), seller.lower()) if seller else _seller_of(engine, tenant, model)
    rows, names = read_tariffs(engine, tenant)
    like_seller = seller_names().get(like_seller.lower(), like_seller.lower())
    target = meaning(known_names(names), like_seller, like_model)
    priced = [row for row in rows if (row.seller, row.model) == (like_seller, target)]
    if target is None or not priced:
        raise NotFound(f"like={like!r}: the price list has no such model")
    if whose != like_seller:
        source = f"like {like_seller}/{target}"
        copied = [
            replace(row, tenant=tenant, seller=whose, model=model, source=source, created_by=actor, approved_by=actor)
            for row in priced
        ]
        with transaction(engine, tenant) as connection:
            moment = audit.begin(connection)
            say(connection, [Said(row, HAND, STATED) for row in copied], moment)
            after = {"seller": whose, "model": model, "like": f"{like_seller}/{target}", "rows": len(copied)}
            audit.note(connection, tenant, moment, actor, "prices.assign", f"{whose}/{model}", after=after)
        return after
    alias = Alias(whose, model.lower(), target, f"assigned by {actor}", datetime.now(UTC).date(), tenant)
    with transaction(engine, tenant) as connection:
        moment = audit.begin(connection)
        known = {one.alias.alias: one.alias.model for one in spoken(connection) if one.alias.tenant == tenant}
        name_models(connection, [alias], HAND, moment, created_by=actor)
        after = {"seller": whose, "model": model, "like": f"{like_seller}/{target}", "rows": 0}
        audit.note(
            connection, tenant, moment, actor, "prices.assign", f"{whose}/{model}", known.get(model.lower()), after
        )
    return after


def _seller_of(engine: Engine, tenant: str, model: str) -> str:
    with read_only(engine, tenant) as connection:
        sellers = list(connection.execute(_UNPRICED_SELLERS, {"tenant": tenant, "model": model}).scalars())
    if not sellers:
        raise NotFound(f"model={model!r}: no event of it is unpriced; say whose it is with --seller")
    if len(sellers) > 1:
        raise InvalidInput("seller", None, f"events of {model} come from {', '.join(sellers)}; say which with --seller")
    return str(sellers[0])
