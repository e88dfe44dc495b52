"""What does a GPU-hour cost a tenant, and which imported prices wait for a person?"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from accounting.moments import instant, moment
from accounting.selfhosted.imports.gpu_prices import read_gpu_prices
from accounting.selfhosted.rate_json import rate_of
from accounting.selfhosted.rates import AMOUNTS
from accounting.storage import gpu_rates
from accounting.storage.tenants import Principal
from api.deps import AdminKey, ServiceDep, ViewerKey
from api.openapi import problems
from api.routes.pools import MayName, Named, Statement
from api.schemas_gpu_rates import RateBody, RateDecisionBody, RateImport, RateImportBody, RateList
from api.schemas_pools import Recorded, Withdrawn

State = Annotated[
    Literal["stated", "proposed", "refused"], Query(description="in force, waiting for a decision, or left out")
]

router = APIRouter(prefix="/v1/pools/rates", tags=["self-hosted"])


@router.get("", responses=problems(400))
def get_rates(service: ServiceDep, principal: ViewerKey, state: State = "stated", gpu: MayName = None) -> RateList:
    """Rates by id and date; `gpu`: only those with this in the GPU's name."""
    return RateList.model_validate({"rates": gpu_rates.listed(service.engine, principal.context, state, gpu)})


@router.post("", responses=problems(400, 409, 413))
def post_rate(body: RateBody, service: ServiceDep, principal: AdminKey) -> Recorded:
    """States a rate from a moment on, or that moment's anew. What is held (reserved, owned) is not cut short by another version."""
    terms = {name: value for name in AMOUNTS if (value := getattr(body, name)) is not None}
    rate = rate_of(
        terms | {"gpus": body.gpus},
        rate_id=body.rate_id,
        kind=body.kind,
        gpu=body.gpu,
        billing_currency=body.billing_currency or principal.context.billing_currency,
        effective_from=instant("effective_from", body.effective_from),
        effective_until=moment("effective_until", body.effective_until),
        source=body.source,
    )
    return Recorded(recorded=gpu_rates.record_rate(service.engine, principal.context, rate, principal.actor))


@router.delete("", responses=problems(400, 404))
def delete_rate(service: ServiceDep, principal: AdminKey, rate_id: Named, effective_from: Statement) -> Withdrawn:
    """Takes a rate of a date back as never right; bills stay until they are made again."""
    since = instant("effective_from", effective_from)
    gpu_rates.withdraw_rate(service.engine, principal.context, rate_id, since, principal.actor)
    return Withdrawn(withdrawn=True)


@router.post("/imports", responses=problems(400, 413))
def import_rates(body: RateImportBody, service: ServiceDep, principal: AdminKey) -> RateImport:
    """Keeps the GPU prices of a file as candidates, with source and date."""
    read = read_gpu_prices(body.content, body.name)
    found = gpu_rates.propose_rates(service.engine, principal.context, read.rates, principal.actor)
    return RateImport.model_validate(found | {"rejected": read.rejected})


@router.post("/approve", responses=problems(400, 404, 413))
def approve_rates(body: RateDecisionBody, service: ServiceDep, principal: AdminKey) -> RateList:
    """Puts candidates in force, from their own dates on."""
    return _decided("approve", body, service, principal)


@router.post("/refuse", responses=problems(400, 404, 413))
def refuse_rates(body: RateDecisionBody, service: ServiceDep, principal: AdminKey) -> RateList:
    """Leaves candidates out."""
    return _decided("refuse", body, service, principal)


def _decided(decision: str, body: RateDecisionBody, service: ServiceDep, principal: Principal) -> RateList:
    rows = gpu_rates.decide(service.engine, principal.context, decision, body.rate_ids, principal.actor)
    return RateList.model_validate({"rates": rows})
