"""Which proposed prices wait for a person, and what did the person decide?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Engine, text

from accounting.errors import InvalidInput, NotFound
from accounting.money import format_plain
from accounting.pricing.layering import PROPOSED, REFUSED, STATED, HeldRow
from accounting.pricing.tariff import format_sku
from accounting.storage import audit
from accounting.storage.engine import NO_TENANT, read_only, transaction
from accounting.storage.price_records import Said, believed, say
from accounting.storage.price_show import moment_text, row_json
from accounting.storage.tariffs import write_pieces

DECISIONS = {"approve": STATED, "refuse": REFUSED}
_FOUND = text(
    """
    SELECT d.*, t.model AS other_model,
           (SELECT array_agg(p.token_class) FROM tariff_prices p WHERE p.sku_price_id = d.other_sku_price_id AND p.fallback IS NULL)
             AS other_classes
    FROM price_disagreements d JOIN tariffs t ON t.sku_price_id = d.other_sku_price_id
    WHERE d.sku_price_id = ANY(:ids) ORDER BY d.disagreement_id
    """
)


def proposals(
    engine: Engine,
    tenant: str,
    *,
    source: str | None = None,
    seller: str | None = None,
    model: str | None = None,
    states: Sequence[str] = (PROPOSED,),
) -> list[dict[str, Any]]:
    """Rows that are proposed (or refused), each with what other sources state otherwise.

    An approved row stands in place of a whole row: `loses` names the classes that rows it contradicts
    price by themselves and it does not, each with the class whose price it takes from then on; None: it has no price.
    """
    with read_only(engine, tenant) as connection:
        rows = [one for one in _held(connection, source) if one.state in states and _about(one, seller, model)]
        found: dict[int, list[dict[str, Any]]] = {}
        stated: dict[int, set[str]] = {}
        for row in connection.execute(_FOUND, {"ids": [one.tariff.sku_price_id for one in rows]}):
            found.setdefault(row.sku_price_id, []).append(_disagreement(row))
            stated.setdefault(row.sku_price_id, set()).update(row.other_classes)
    return [
        row_json(one)
        | {
            "disagreements": found.get(one.tariff.sku_price_id, []),
            "loses": [
                {"token_class": lost, "priced_as": one.tariff.fallbacks.get(lost)}
                for lost in sorted(stated.get(one.tariff.sku_price_id, set()) - one.tariff.prices.keys())
            ],
        }
        for one in rows
    ]


def disagreements(engine: Engine, tenant: str, *, model: str | None = None, limit: int = 1000) -> list[dict[str, Any]]:
    """What sources were found to state differently, of every import, the newest first."""
    query = text(
        """
        SELECT d.*, t.seller, t.model, t.service_tier, t.above_input_tokens, o.model AS other_model
        FROM price_disagreements d JOIN tariffs t USING (sku_price_id)
        JOIN tariffs o ON o.sku_price_id = d.other_sku_price_id
        WHERE CAST(:model AS text) IS NULL OR t.model = :model OR o.model = :model
        ORDER BY d.disagreement_id DESC LIMIT :limit
        """
    )
    with read_only(engine, tenant) as connection:
        rows = connection.execute(query, {"model": model, "limit": limit}).all()
    return [
        {
            "sku_price_id": format_sku(row.sku_price_id),
            "seller": row.seller,
            "model": row.model,
            "service_tier": row.service_tier,
            "above_input_tokens": row.above_input_tokens,
            "list_source": row.list_source,
        }
        | _disagreement(row)
        for row in rows
    ]


def decide(
    engine: Engine,
    decision: str,
    actor: str,
    ids: Sequence[str] = (),
    *,
    source: str | None = None,
    seller: str | None = None,
    model: str | None = None,
    tenant: str | None = None,
) -> list[dict[str, Any]]:
    """Approves or refuses proposed rows by their ids (16 hex digits), all of them or none; without ids every row that is proposed
    by a source, for a seller or for a model, at least one of which is named. Returns the rows as they are then.

    An approved row stands in place of what is in force; a refused one never counts, and stays refused while its source repeats it.
    A row that was refused is decided on anew by its id alone. The owner's engine decides on list rows.
    Raises InvalidInput for an id that is none, for neither ids nor a condition, or both; NotFound for an id that is not proposed.
    """
    if decision not in DECISIONS:
        raise InvalidInput("decision", decision, f"must be one of {', '.join(DECISIONS)}")
    wanted, asked = {row_id(one) for one in ids}, any((source, seller, model))
    if bool(wanted) == asked:
        raise InvalidInput("sku_price_ids", list(ids), "name either ids or a source, seller or model")
    with transaction(engine, tenant or NO_TENANT) as connection:
        moment = audit.begin(connection)
        states = (PROPOSED,) if asked else (PROPOSED, REFUSED)
        held = [one for one in _held(connection, source) if one.tariff.tenant == tenant and one.state in states]
        rows = [one for one in held if (asked and _about(one, seller, model)) or one.tariff.sku_price_id in wanted]
        if missing := sorted(wanted - {one.tariff.sku_price_id for one in rows}):
            raise NotFound(f"sku_price_id={format_sku(missing[0])!r}: is no proposed price row")
        state = DECISIONS[decision]
        approved = actor if state == STATED else None
        decided = [replace(one, tariff=replace(one.tariff, approved_by=approved), state=state) for one in rows]
        say(connection, [Said(one.tariff, one.list_source, one.state) for one in decided], moment)
        if tenant is None:
            write_pieces(connection)
        for one in decided:
            subject = format_sku(one.tariff.sku_price_id)
            audit.note(connection, tenant, moment, actor, f"prices.{decision}", subject, after=row_json(one))
    return [row_json(one) for one in decided]


def _held(connection: Connection, source: str | None) -> list[HeldRow]:
    return believed(connection, sources=None if source is None else [source])


def _about(one: HeldRow, seller: str | None, model: str | None) -> bool:
    row = one.tariff
    return (seller is None or row.seller == seller) and (model is None or row.model.lower() == model.lower())


def row_id(text_id: str) -> int:
    """Number of an id as it is written outside. Raises InvalidInput."""
    try:
        if len(text_id) != 16:
            raise ValueError
        return int(text_id, 16)
    except ValueError:
        raise InvalidInput("sku_price_id", text_id, "16 hex digits are expected") from None


def _disagreement(row: Any) -> dict[str, Any]:
    return {
        "token_class": row.token_class,
        "unit_price": format_plain(row.unit_price),
        "other_source": row.other_source,
        "other_model": row.other_model,
        "other_sku_price_id": format_sku(row.other_sku_price_id),
        "other_unit_price": format_plain(row.other_unit_price),
        "holds_from": moment_text(row.holds_from),
        "holds_until": moment_text(row.holds_until),
    }
