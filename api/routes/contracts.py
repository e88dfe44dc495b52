"""What has a tenant signed with sellers, who is told of models without a price, and who changed what?"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query

from accounting import alerts
from accounting.errors import InvalidInput
from accounting.ledger.reprice import RepriceFilter, reprice
from accounting.pricing.contract_json import contract_from_json, contract_to_json
from accounting.pricing.contracted import unmet_rules
from accounting.reports.unpriced import unpriced
from accounting.storage import audit, contracts
from accounting.storage.price_entry import assign
from accounting.storage.tariffs import load_layers, read_tariffs
from api.deps import AdminKey, ServiceDep, ViewerKey
from api.halves import refuse_halves
from api.openapi import problems
from api.schemas_prices import (
    AssignBody,
    Assigned,
    AuditLog,
    ContractList,
    ContractRecorded,
    ContractWithdrawn,
    Hook,
    HookBody,
    UnpricedList,
)

ContractId = Annotated[str, Path(pattern=r"^[^\x00]*$", examples=["openai-2026"])]
EXAMPLE_CONTRACT: dict[str, Any] = {
    "seller": "openai",
    "currency": "USD",
    "effective_from": "2026-01-01T00:00:00Z",
    "rules": [{"rule_id": "all", "kind": "discount", "value": "0.10"}],
    "source": "order form of 2025-12-19",
}

router = APIRouter(prefix="/v1", tags=["prices"])


@router.get("/prices/contracts", responses=problems())
def get_contracts(service: ServiceDep, principal: ViewerKey) -> ContractList:
    """The contracts in force, by id."""
    found = contracts.listed(service.engine, principal.context)
    return ContractList(contracts=[contract_to_json(one) for one in found])


@router.put("/prices/contracts/{contract_id}", responses=problems(400, 413))
def put_contract(
    contract_id: ContractId,
    body: Annotated[dict[str, Any], Body(examples=[EXAMPLE_CONTRACT])],
    service: ServiceDep,
    principal: AdminKey,
) -> ContractRecorded:
    """Records a contract or a new version of it, for what is booked from now on; the same again changes nothing."""
    refuse_halves("contract", body)
    for name, own in (("contract_id", contract_id), ("tenant", principal.tenant)):
        if body.get(name, own) != own:
            raise InvalidInput(name, body[name], f"must be {own!r} or absent")
    contract = contract_from_json(body | {"contract_id": contract_id, "tenant": principal.tenant})
    done = contracts.record(service.engine, principal.context, contract, principal.actor)
    load_layers(service.engine, principal.tenant)
    unmet = unmet_rules([contract], *read_tariffs(service.engine, principal.tenant))
    return ContractRecorded(contract_id=contract_id, recorded=done["recorded"], unmet=unmet)


@router.delete("/prices/contracts/{contract_id}", responses=problems(400, 404))
def delete_contract(contract_id: ContractId, service: ServiceDep, principal: AdminKey) -> ContractWithdrawn:
    """Takes a contract back; what was booked by it stays until it is re-priced."""
    return ContractWithdrawn(**contracts.withdraw(service.engine, principal.context, contract_id, principal.actor))


@router.get("/prices/unpriced", responses=problems())
def get_unpriced(service: ServiceDep, principal: ViewerKey) -> UnpricedList:
    """Models without a price and what is at stake: events, tokens, days, users. What they would cost is not guessed."""
    return UnpricedList.model_validate({"unpriced": unpriced(service.engine, principal.context)})


@router.post("/prices/assign", responses=problems(400, 404, 413, 429))
def assign_price(body: AssignBody, service: ServiceDep, principal: AdminKey) -> Assigned:
    """Says what an unpriced model costs from now on; where `apply` is true, the events of it that are booked without a price get theirs."""
    rows = [row for row in unpriced(service.engine, principal.context) if row["model"] == body.model]
    rows = [row for row in rows if body.seller in (None, row["seller"])]
    done = assign(service.engine, principal.tenant, body.model, body.like, principal.actor, seller=body.seller)
    if not rows:
        return Assigned(**done, repriced=0, applied=body.apply)
    plan = reprice(
        service.engine,
        principal.context,
        load_layers(service.engine, principal.tenant),
        min(datetime.fromisoformat(row["first_seen"]) for row in rows),
        max(datetime.fromisoformat(row["last_seen"]) for row in rows) + timedelta(microseconds=1),
        where=RepriceFilter(model=body.model, seller=body.seller, status="unpriced"),
        apply=body.apply,
    )
    return Assigned(**done, repriced=plan.changed, applied=body.apply)


@router.get("/prices/alert-hook", responses=problems())
def get_hook(service: ServiceDep, principal: ViewerKey) -> Hook:
    """The address that is told of models without a price."""
    return Hook(url=alerts.hook(service.engine, principal.context))


@router.put("/prices/alert-hook", responses=problems(400, 413))
def put_hook(body: HookBody, service: ServiceDep, principal: AdminKey) -> Hook:
    """Names the address; it gets a POST with the list of unpriced models, once for each new one."""
    return Hook(**alerts.set_hook(service.engine, principal.context, body.url, principal.actor))


@router.delete("/prices/alert-hook", responses=problems(404))
def delete_hook(service: ServiceDep, principal: AdminKey) -> Hook:
    """Sends no more alerts; answers where they went."""
    return Hook(**alerts.remove_hook(service.engine, principal.context, principal.actor))


@router.get("/audit", responses=problems(400))
def get_audit(
    service: ServiceDep,
    principal: ViewerKey,
    subject: Annotated[str | None, Query(pattern=r"^[^\x00]*$")] = None,
    kind: Annotated[list[str] | None, Query(description="repeated: any of these", examples=[["prices"]])] = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 100,
) -> AuditLog:
    """Who changed what about prices, pools, months and access: acts of this tenant, and of the operator for all; the newest first."""
    acts = audit.listed(service.engine, principal.context, limit, subject, kind or ())
    return AuditLog.model_validate({"acts": acts})
