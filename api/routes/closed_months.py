"""Which months are closed, and how is one closed?"""

from __future__ import annotations

from datetime import date

from fastapi import APIRouter

from accounting.ledger.closing import close_month, closed
from accounting.reports.late_lines import late_lines
from api.deps import AdminKey, ServiceDep, ViewerKey
from api.openapi import problems
from api.schemas_closed_months import CloseBody, ClosedMonth, ClosedMonths, LateLines

router = APIRouter(prefix="/v1/closed-months", tags=["reports"])


@router.get("", responses=problems())
def get_closed(service: ServiceDep, principal: ViewerKey) -> ClosedMonths:
    """All closed months with their totals at the close; none is ever reopened."""
    return ClosedMonths.model_validate({"months": closed(service.engine, principal.context)})


@router.get("/late", responses=problems())
def get_late(service: ServiceDep, principal: ViewerKey) -> LateLines:
    """What came for closed months after their close: calls and cost by the open month in which they are booked."""
    return LateLines.model_validate({"lines": late_lines(service.engine, principal.context)})


@router.post("", responses=problems(400, 409, 413))
def post_close(body: CloseBody, service: ServiceDep, principal: AdminKey) -> ClosedMonth:
    """Closes a month for good: what comes later for it is booked in the first open month.

    Answered 409 where an earlier month is open, the month is closed already, or events are left open that `accept` doesn't name.
    """
    month = date.fromisoformat(f"{body.month}-01")
    row = close_month(
        service.engine,
        principal.context,
        month,
        principal.actor,
        accept=body.accept,
        note=body.note,
        dry_run=body.dry_run,
    )
    return ClosedMonth.model_validate(row)
