"""What would booked events cost by the price book of now, and shall the difference be booked?"""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from accounting.ledger.reprice import RepriceFilter, reprice
from accounting.reports.query import ReportQuery
from api.deps import AdminKey, ServiceDep
from api.openapi import problems
from api.schemas_reprice import RepriceAnswer, RepriceBody

router = APIRouter(prefix="/v1/prices", tags=["prices"])


@router.post("/reprice", responses={200: {"model": RepriceAnswer}, **problems(400, 413, 429)})
def post_reprice(asked: RepriceBody, service: ServiceDep, principal: AdminKey) -> JSONResponse:
    """Rates booked events again by the prices known now and says what would change; with `apply` appends correction charges.

    Nothing is edited, and applying again changes nothing. Lines are the largest differences first, at most `limit` of them; totals
    are of all.
    """
    context = principal.context
    period = ReportQuery.parse(asked.start, asked.end, context.reporting_tz)
    plan = reprice(
        service.engine,
        context,
        service.book(context),
        period.since,
        period.until,
        where=RepriceFilter.parse(asked.where),
        apply=asked.apply,
        run_id=asked.run_id,
    )
    return JSONResponse(plan.to_json(asked.limit))
