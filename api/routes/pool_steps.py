"""How do the step ledgers of a pool's replicas come in over HTTP, and which stand?"""

from __future__ import annotations

from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request

from accounting.moments import instant
from accounting.selfhosted.imports.read_steps import read_steps
from accounting.storage.pool_steps import RecordedSteps, listed_steps, record_steps, withdraw_steps
from api import body
from api.deps import AdminKey, IngestKey, ServiceDep, ViewerKey
from api.openapi import problems
from api.routes.pools import Named, Since, Until
from api.schemas_pool_steps import BODY, KINDS, StepsList, StepsRecorded, StepsWithdrawn

Source = Annotated[str, Query(pattern=r"^[^\x00]+$", max_length=256, description="a name for the ledger")]

router = APIRouter(prefix="/v1/pools/steps", tags=["self-hosted"])


@router.post("", responses=problems(400, 404, 409, 413, 415), openapi_extra=BODY)
async def post_steps(
    request: Request, service: ServiceDep, principal: IngestKey, pool_id: Named, replica: Named, source: Source = "http"
) -> StepsRecorded:
    """Keeps a replica's step ledger; its requests are charged by their recorded steps from the next settlement on.

    A step's request_id is an event's event_id, or its response_id. The same steps again change nothing.
    """
    sent = await body.read(request, KINDS)

    def keep() -> RecordedSteps:
        ledger = read_steps(sent.inflated(service.settings.max_inflated))
        return record_steps(service.engine, principal.context, pool_id, replica, ledger, source, principal.actor)

    done = await run_sync(keep, limiter=service.parsers)
    counts = {name: getattr(done, name) for name in ("written", "unchanged", "steps", "requests")}
    ends = {name: getattr(done, name).isoformat().replace("+00:00", "Z") for name in ("starts_at", "ends_at")}
    return StepsRecorded(**counts, **ends)


@router.get("", responses=problems(400, 404))
def get_steps(service: ServiceDep, principal: ViewerKey, pool_id: Named, since: Since, until: Until) -> StepsList:
    """The ledgers that stand for a pool's hours in [from, to), without their steps."""
    period = instant("from", since), instant("to", until)
    found = listed_steps(service.engine, principal.context, pool_id, *period)
    return StepsList.model_validate({"ledgers": found})


@router.delete("", responses=problems(400, 404))
def delete_steps(
    service: ServiceDep, principal: AdminKey, pool_id: Named, replica: Named, since: Since, until: Until
) -> StepsWithdrawn:
    """Takes the ledgers of hours that begin in [from, to) back as never right; these settle by the log again."""
    period = instant("from", since), instant("to", until)
    gone = withdraw_steps(service.engine, principal.context, pool_id, replica, *period, principal.actor)
    return StepsWithdrawn(withdrawn=gone)
