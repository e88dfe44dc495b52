"""Which pools serve a tenant, with which replicas, and what did their hours cost?"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from accounting.ledger.pool_bill_imports import import_bills
from accounting.ledger.pool_bill_news import described
from accounting.ledger.pool_billing import bill_schedule
from accounting.moments import instant, moment
from accounting.selfhosted.imports.cost_file import read_cost_file
from accounting.selfhosted.pool_settings import Membership, PoolSettings
from accounting.storage import pool_bills, pools
from api.deps import AdminKey, ServiceDep, ViewerKey
from api.openapi import problems
from api.schemas_pools import (
    BillImport,
    BillImportBody,
    BillRun,
    BillRunBody,
    PoolBody,
    PoolHours,
    PoolList,
    Recorded,
    ReplicaBody,
    UnusedHours,
    Withdrawn,
)

Named = Annotated[str, Query(pattern=r"^[^\x00]+$", max_length=256, examples=["chat"])]
MayName = Annotated[str | None, Query(pattern=r"^[^\x00]+$", max_length=256)]
Since = Annotated[str, Query(alias="from", pattern=r"^[^\x00]*$", examples=["2026-09-01"])]
Until = Annotated[str, Query(alias="to", pattern=r"^[^\x00]*$", examples=["2026-10-01"])]
Statement = Annotated[
    str, Query(pattern=r"^[^\x00]*$", description="which statement, by its beginning", examples=["2026-09-01"])
]
KnownAt = Annotated[str | None, Query(pattern=r"^[^\x00]*$", description="as believed at a moment; default: now")]

router = APIRouter(prefix="/v1/pools", tags=["self-hosted"])


@router.get("", responses=problems(400, 404))
def get_pools(service: ServiceDep, principal: ViewerKey, pool_id: MayName = None, known_at: KnownAt = None) -> PoolList:
    """Pools by id, each with its dated settings and replicas."""
    found = pools.listed(service.engine, principal.context, pool_id, moment("known_at", known_at))
    return PoolList.model_validate({"pools": found})


@router.post("", responses=problems(400, 413))
def post_pool(body: PoolBody, service: ServiceDep, principal: AdminKey) -> Recorded:
    """States a pool's settings from a moment on, or that moment's anew."""
    stated = body.model_dump() | _dates(body)
    stated["billing_currency"] = body.billing_currency or principal.context.billing_currency
    done = pools.record_pool(service.engine, principal.context, PoolSettings(**stated), principal.actor)
    return Recorded(recorded=done)


@router.delete("", responses=problems(400, 404))
def delete_pool(service: ServiceDep, principal: AdminKey, pool_id: Named, effective_from: Statement) -> Withdrawn:
    """Takes the settings of a date back as never right."""
    since = instant("effective_from", effective_from)
    pools.withdraw_pool(service.engine, principal.context, pool_id, since, principal.actor)
    return Withdrawn(withdrawn=True)


@router.post("/replicas", responses=problems(400, 404, 409, 413))
def post_replica(body: ReplicaBody, service: ServiceDep, principal: AdminKey) -> Recorded:
    """States that a replica serves in a pool, or its end or rate anew."""
    one = Membership(**(body.model_dump() | _dates(body)))
    return Recorded(recorded=pools.record_member(service.engine, principal.context, one, principal.actor))


@router.delete("/replicas", responses=problems(400, 404))
def delete_replica(
    service: ServiceDep, principal: AdminKey, pool_id: Named, replica: Named, effective_from: Statement
) -> Withdrawn:
    """Takes a membership back as never right; to end one, state it with its end."""
    since = instant("effective_from", effective_from)
    pools.withdraw_member(service.engine, principal.context, pool_id, replica, since, principal.actor)
    return Withdrawn(withdrawn=True)


@router.get("/bills", responses=problems(400))
def get_bills(
    service: ServiceDep, principal: ViewerKey, since: Since, until: Until, pool_id: MayName = None
) -> PoolHours:
    """The newest bill of each hour in [from, to)."""
    period = instant("from", since), instant("to", until)
    found = pool_bills.billed(service.engine, principal.context, *period, pool_id)
    return PoolHours.model_validate({"bills": found})


@router.post("/bills", responses=problems(400, 413))
def post_bills(body: BillRunBody, service: ServiceDep, principal: AdminKey) -> BillRun:
    """Bills every ended hour of all pools by its schedule and rates; what is the same already is not written again."""
    done = bill_schedule(
        service.engine,
        principal.context,
        instant("from", body.effective_from),
        instant("to", body.effective_until),
        principal.actor,
        replace_imported=body.replace_imported,
    )
    return BillRun.model_validate(described(done))


@router.post("/bills/imports", responses=problems(400, 413))
def post_bill_import(body: BillImportBody, service: ServiceDep, principal: AdminKey) -> BillImport:
    """Books the costs of a biller's file as bills of pool hours, in place of what stands there; a longer period is split by the
    GPU-hours scheduled in it."""
    read = read_cost_file(body.content, body.name, body.format, body.resources, body.cost_column)
    done = import_bills(service.engine, principal.context, read, body.format, body.name, principal.actor)
    return BillImport.model_validate(described(done, read))


@router.get("/unused", responses=problems(400))
def get_unused(
    service: ServiceDep, principal: ViewerKey, since: Since, until: Until, rate_id: MayName = None
) -> UnusedHours:
    """What reserved and owned capacity cost in [from, to) that no pool was scheduled on."""
    period = instant("from", since), instant("to", until)
    found = pool_bills.unbilled(service.engine, principal.context, *period, rate_id)
    return UnusedHours.model_validate({"unused": found})


def _dates(body: PoolBody | ReplicaBody) -> dict[str, Any]:
    return {
        "effective_from": instant("effective_from", body.effective_from),
        "effective_until": moment("effective_until", body.effective_until),
    }
