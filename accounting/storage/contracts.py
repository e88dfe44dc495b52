"""Which contracts has a tenant signed, and what was known of them at a moment? Append-only: a new version is a new record."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, insert, select, text

from accounting.errors import InvalidInput, NotFound
from accounting.pricing.contract import Contract
from accounting.pricing.contract_json import contract_from_json, contract_hash, contract_to_json
from accounting.pricing.contract_names import check_names
from accounting.storage import audit
from accounting.storage.engine import read_only, transaction
from accounting.storage.price_records import EVER
from accounting.storage.tables import contracts
from accounting.tenant import TenantContext

_NEWEST = text(
    """
    SELECT * FROM (
      SELECT DISTINCT ON (contract_id) * FROM contracts WHERE recorded_at <= :known_at
      ORDER BY contract_id, recorded_at DESC, record_id DESC) newest
    WHERE state = 'stated' ORDER BY contract_id
    """
)


def in_force(connection: Connection, known_at: datetime | None = None) -> list[Contract]:
    """The contracts of the transaction's tenant, as believed at a moment."""
    return [_contract(row) for row in connection.execute(_NEWEST, {"known_at": known_at or EVER})]


def ids_ever(connection: Connection) -> list[str]:
    """Ids of all contracts that the transaction's tenant ever recorded, those taken back among them."""
    return list(connection.execute(select(contracts.c.contract_id).distinct()).scalars())


def listed(engine: Engine, context: TenantContext, known_at: datetime | None = None) -> list[Contract]:
    """A tenant's contracts, by id."""
    with read_only(engine, context.tenant) as connection:
        return in_force(connection, known_at)


def shown(engine: Engine, context: TenantContext, contract_id: str) -> Contract:
    """One contract. Raises NotFound."""
    for contract in listed(engine, context):
        if contract.contract_id == contract_id:
            return contract
    raise NotFound(f"contract_id={contract_id!r}: tenant {context.tenant!r} has no such contract")


def record(
    engine: Engine, context: TenantContext, contract: Contract, actor: str, at: datetime | None = None
) -> dict[str, Any]:
    """Records a contract or a new version of it; the same again changes nothing.

    Raises InvalidInput for a contract of another tenant, or that calls seller or tiers otherwise than price rows do.
    """
    if contract.tenant != context.tenant:
        raise InvalidInput("tenant", contract.tenant, f"this is recorded for the tenant {context.tenant!r}")
    check_names(contract)
    content_hash = contract_hash(contract)
    with transaction(engine, context.tenant) as connection:
        moment = audit.begin(connection, at)
        known = {row.contract_id: row for row in connection.execute(_NEWEST, {"known_at": EVER})}
        old = known.get(contract.contract_id)
        if old is not None and old.hash == content_hash:
            return {"contract_id": contract.contract_id, "recorded": False}
        _append(connection, contract, "stated", actor, moment)
        before = None if old is None else old.content
        after = contract_to_json(contract)
        audit.note(connection, context.tenant, moment, actor, "contract.record", contract.contract_id, before, after)
    return {"contract_id": contract.contract_id, "recorded": True}


def withdraw(engine: Engine, context: TenantContext, contract_id: str, actor: str) -> dict[str, Any]:
    """Takes a contract back; what was booked by it stays until it is re-priced. Raises NotFound."""
    contract = shown(engine, context, contract_id)
    with transaction(engine, context.tenant) as connection:
        moment = audit.begin(connection)
        _append(connection, contract, "withdrawn", actor, moment)
        before = contract_to_json(contract)
        audit.note(connection, context.tenant, moment, actor, "contract.withdraw", contract_id, before)
    return {"contract_id": contract_id, "withdrawn": True}


def _append(connection: Connection, contract: Contract, state: str, actor: str, at: datetime) -> None:
    plain = replace(contract, recorded_at=None, created_by=None, approved_by=None)
    values = {
        "tenant": contract.tenant,
        "contract_id": contract.contract_id,
        "state": state,
        "content": contract_to_json(plain),
        "hash": contract_hash(contract),
        "created_by": actor,
        "approved_by": contract.approved_by,
        "recorded_at": at,
    }
    connection.execute(insert(contracts).values(values))


def _contract(row: Any) -> Contract:
    contract = contract_from_json(row.content)
    return replace(contract, created_by=row.created_by, approved_by=row.approved_by, recorded_at=row.recorded_at)
