"""What did single users cost and earn, and on what?"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from accounting.money import format_plain
from accounting.reports.one_user import one_user
from accounting.reports.query import ReportQuery
from accounting.reports.sections import written
from accounting.reports.user_days import user_days
from api.deps import ServiceDep, ViewerKey
from api.openapi import problems
from api.schemas_users import DaysOfUser, OneUser, Spent, UserDays

router = APIRouter(prefix="/v1", tags=["reports"])

First = Annotated[str, Query(alias="from", description="first reporting day", examples=["2026-02-01"])]
After = Annotated[str, Query(alias="to", description="first day after the period", examples=["2026-03-01"])]
Users = Annotated[list[Annotated[str, Query(pattern=r"^[^\x00]*$")]], Query(description="repeat it for each user")]
Currency = Annotated[
    str | None, Query(description="ISO 4217 code; default: a row a billing currency", examples=["EUR"])
]


@router.get("/user-days", responses=problems(400))
def get_user_days(
    service: ServiceDep, principal: ViewerKey, start: First, end: After, user_id: Users, currency: Currency = None
) -> UserDays:
    """Effective cost and requests of some users (200 at most) on every reporting day of the period."""
    query = ReportQuery.parse(start, end, principal.context.reporting_tz, currency=currency)
    days, found = user_days(service.engine, principal.context, query, user_id)
    users = [
        DaysOfUser(
            user_id=one.user_id,
            billing_currency=one.billing_currency,
            effective_cost=[None if cost is None else format_plain(cost) for cost in one.effective_cost],
            events=one.events,
        )
        for one in found
    ]
    return UserDays(days=[day.isoformat() for day in days], users=users)


@router.get("/users/{user_id:path}", responses=problems(400, 404))
def get_user(
    user_id: Annotated[str, Path(pattern=r"^[^\x00]*$")],
    service: ServiceDep,
    principal: ViewerKey,
    start: First,
    end: After,
    currency: Currency = None,
) -> OneUser:
    """A user's margin and what its requests cost by feature and model."""
    query = ReportQuery.parse(start, end, principal.context.reporting_tz, currency=currency)
    found = one_user(service.engine, principal.context, query, user_id)
    return OneUser(
        user_id=found.user_id,
        margin=[{name: written(value) for name, value in row.items()} for row in found.margin],
        spent=[Spent(**{name: written(value) for name, value in row.items()}) for row in found.spent],
    )
