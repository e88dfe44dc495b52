"""Who pays what? Plans and subscriptions, the revenue side of a margin."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from accounting.revenue import plans
from api.deps import AdminKey, ServiceDep, ViewerKey
from api.openapi import problems
from api.schemas import Plan, PlanBody, PlanList, Subscription, SubscriptionBody, SubscriptionList

Wanted = Annotated[str | None, Query(pattern=r"^[^\x00]*$")]

router = APIRouter(prefix="/v1", tags=["revenue"])


@router.put("/plans/{plan}", responses=problems(400, 413))
def put_plan(plan: str, body: PlanBody, service: ServiceDep, principal: AdminKey) -> Plan:
    """Makes a plan or changes what is given of it."""
    return Plan(**plans.put_plan(service.engine, principal.context, plan, **body.model_dump()))


@router.get("/plans", responses=problems())
def get_plans(service: ServiceDep, principal: ViewerKey) -> PlanList:
    """All plans."""
    return PlanList(plans=[Plan(**row) for row in plans.list_plans(service.engine, principal.context)])


@router.put("/subscriptions/{subscription_id}", responses=problems(400, 413))
def put_subscription(
    subscription_id: str, body: SubscriptionBody, service: ServiceDep, principal: AdminKey
) -> Subscription:
    """Adds a subscription or replaces the one of the same id; its plan must exist. A changed price is a second one."""
    subscription = plans.make_subscription(principal.context, subscription_id, **body.model_dump())
    return Subscription(**plans.put_subscription(service.engine, principal.context, subscription))


@router.get("/subscriptions", responses=problems(400))
def get_subscriptions(
    service: ServiceDep, principal: ViewerKey, user_id: Wanted = None, plan: Wanted = None
) -> SubscriptionList:
    """Subscriptions, of one user or one plan where asked."""
    rows = plans.list_subscriptions(service.engine, principal.context, user_id=user_id, plan=plan)
    return SubscriptionList(subscriptions=[Subscription(**row) for row in rows])
