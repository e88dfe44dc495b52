"""What would a pool's requests need and cost on other terms?"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from accounting.reports.pool_what_if import Question, pool_what_if
from accounting.reports.query import ReportQuery
from api.deps import ServiceDep, ViewerKey
from api.openapi import problems
from api.schemas_what_if import WhatIf, WhatIfParameters

router = APIRouter(prefix="/v1/pools", tags=["self-hosted"])


@router.get("/what-if", responses=problems(400, 404))
def get_what_if(service: ServiceDep, principal: ViewerKey, asked: Annotated[WhatIfParameters, Query()]) -> WhatIf:
    """Replicas and cost for a forecast, another curve, other contexts, cache hits or KV bytes, beside the pool as it is."""
    given = asked.model_dump(exclude={"start", "end"})
    query = ReportQuery.parse(asked.start, asked.end, principal.context.reporting_tz)
    return WhatIf.model_validate(pool_what_if(service.engine, principal.context, Question(**given), query))
