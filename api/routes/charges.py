"""Which single ledger lines is a figure the sum of?"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from accounting.reports.charge_list import charge_list
from accounting.reports.query import ReportQuery
from api.deps import AnalystKey, ServiceDep
from api.openapi import problems
from api.schemas_charges import ChargePage, ChargeParameters

router = APIRouter(prefix="/v1/charges", tags=["reports"])


@router.get("", responses=problems(400))
def get_charges(service: ServiceDep, principal: AnalystKey, asked: Annotated[ChargeParameters, Query()]) -> ChargePage:
    """A page of ledger lines, the dearest or newest first; all that filters choose, as they add up to the report `explore`."""
    zone = asked.tz or principal.context.reporting_tz
    query = ReportQuery.parse(asked.start, asked.end, zone, None, asked.limit, None, asked.filter)
    return ChargePage.model_validate(charge_list(service.engine, principal.context, query, asked.order, asked.cursor))
