"""Which prices are in force, what was ever said of a model, and what differs between two moments?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, select

from accounting.errors import NotFound
from accounting.pricing.contracted import contracted_rows
from accounting.pricing.layering import STATED, HeldName, HeldRow, Listed, in_force, known_names, meaning
from accounting.pricing.tariff import Tariff
from accounting.storage import contracts
from accounting.storage.engine import read_only
from accounting.storage.price_records import believed, refuse_unknown_past, spoken
from accounting.storage.price_show import moment_text, row_json, tariff_json
from accounting.storage.tables import price_imports


def prices(
    engine: Engine,
    tenant: str,
    *,
    seller: str | None = None,
    model: str | None = None,
    on: datetime | None = None,
    known_at: datetime | None = None,
) -> list[dict[str, Any]]:
    """The rows that a tenant pays by: the list, rows of its own, and what contracts make of the list.

    Args:
        model: by any of its exact names.
        on: only rows in force at this instant; None: of all dates.
        known_at: as believed then; None: now.
    """
    rows, names = _paid(engine, tenant, known_at, seller, model)
    wanted = None
    if model is not None:
        known = known_names(alias for alias in names if alias.tenant is None)
        sellers = {row.seller for row in rows}
        wanted = {(one, meaning(known, one, model) or model) for one in sellers} | {(one, model) for one in sellers}
    return [
        tariff_json(row)
        for row in sorted(rows, key=_order)
        if (seller is None or row.seller == seller)
        and (wanted is None or (row.seller, row.model) in wanted)
        and (on is None or holds(row, on))
    ]


def history(
    engine: Engine,
    tenant: str,
    model: str,
    *,
    seller: str | None = None,
    on: datetime | None = None,
    known_at: datetime | None = None,
) -> list[dict[str, Any]]:
    """What every source says of a model over time, by any of its exact names. `in_force`: whether the book holds the row.

    Raises NotFound for a name that no source knows.
    """
    with read_only(engine, tenant) as connection:
        refuse_unknown_past(connection, known_at)
        names = spoken(connection, known_at)
        meant = _alike(names, model, seller)
        held = believed(connection, known_at, models=sorted({model, *(name for _, name in meant)}))
    paid = {row.sku_price_id for row in in_force(held, names)[0]}
    found = [
        one
        for one in held
        if (
            (one.tariff.seller, one.tariff.model) in meant
            or (one.tariff.model == model and seller in (None, one.tariff.seller))
        )
        and (on is None or holds(one.tariff, on))
    ]
    if not found and not meant:
        raise NotFound(f"model={model!r}: no source knows this name{'' if seller is None else f' of {seller}'}")
    return [
        row_json(one) | {"in_force": one.tariff.tenant is not None or one.tariff.sku_price_id in paid}
        for one in sorted(found, key=_held_order)
    ]


def _alike(names: Sequence[HeldName], model: str, seller: str | None) -> set[tuple[str, str]]:
    """(seller, model) of every source that a name means, and those that share another name with them."""
    meant = {
        (one.alias.seller, one.alias.model)
        for one in names
        if one.alias.alias.lower() == model.lower() and seller in (None, one.alias.seller)
    }
    shared = {
        (one.alias.seller, one.alias.alias.lower()) for one in names if (one.alias.seller, one.alias.model) in meant
    }
    return meant | {
        (one.alias.seller, one.alias.model) for one in names if (one.alias.seller, one.alias.alias.lower()) in shared
    }


def difference(
    engine: Engine, tenant: str, known_at: datetime, until: datetime | None = None, seller: str | None = None
) -> dict[str, list[dict[str, Any]]]:
    """Rows of the book as believed at one moment and not at the other. A row with another end shows in both lists."""
    before = {(row.sku_price_id, row.effective_until): row for row in _paid(engine, tenant, known_at)[0]}
    after = {(row.sku_price_id, row.effective_until): row for row in _paid(engine, tenant, until)[0]}

    def only(rows: dict[Any, Tariff], others: dict[Any, Tariff]) -> list[dict[str, Any]]:
        left = [row for key, row in rows.items() if key not in others and seller in (None, row.seller)]
        return [tariff_json(row) for row in sorted(left, key=_order)]

    return {"gone": only(before, after), "new": only(after, before)}


def imports(engine: Engine, tenant: str, findings: bool = False) -> list[dict[str, Any]]:
    """Readings of sources, the newest first; `findings`: with what could not be taken over, by name."""
    query = select(price_imports).order_by(price_imports.c.import_id.desc())
    with read_only(engine, tenant) as connection:
        rows = connection.execute(query).all()
    return [
        {
            "import_id": row.import_id,
            "own": row.tenant is not None,
            "source": row.list_source,
            "source_version": row.source_version,
            "as_of": None if row.as_of is None else row.as_of.isoformat(),
            "recorded_at": moment_text(row.recorded_at),
            "created_by": row.created_by,
            "counts": row.counts,
        }
        | ({"findings": row.findings} if findings else {})
        for row in rows
    ]


def holds(row: Tariff, at: datetime) -> bool:
    """Whether an instant lies in the dates of a row."""
    after = row.effective_from is None or row.effective_from <= at
    return after and (row.effective_until is None or at < row.effective_until)


def _paid(
    engine: Engine, tenant: str, known_at: datetime | None, seller: str | None = None, model: str | None = None
) -> Listed:
    with read_only(engine, tenant) as connection:
        refuse_unknown_past(connection, known_at)
        heard = spoken(connection, known_at)
        models = None if model is None else sorted({model, *(name for _, name in _alike(heard, model, seller))})
        held = believed(connection, known_at, models=models, seller=seller)
        signed = contracts.in_force(connection, known_at) if tenant else []
    rows, names = in_force(held, heard)
    own = [one.tariff for one in held if one.tariff.tenant is not None and one.state == STATED]
    own_names = [one.alias for one in heard if one.alias.tenant is not None]
    return contracted_rows(rows, [*names, *own_names], signed, own) if signed or own or own_names else (rows, names)


def _order(row: Tariff) -> tuple[Any, ...]:
    return (
        row.seller,
        row.model,
        row.service_tier,
        row.above_input_tokens,
        str(row.effective_from or ""),
        row.sku_price_id,
    )


def _held_order(one: HeldRow) -> tuple[Any, ...]:
    return (one.tariff.seller, str(one.tariff.effective_from or ""), one.list_source, *_order(one.tariff))
