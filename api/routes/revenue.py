"""How do prices, terms and invoice lines come in, beside plans and subscriptions?"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from accounting.revenue import line_imports, lines, plan_prices, stripe_import, terms
from api.deps import AdminKey, AnalystKey, ServiceDep, ViewerKey
from api.halves import refuse_halves
from api.openapi import problems
from api.schemas_revenue import (
    Customer,
    CustomerBody,
    PlanPrice,
    PlanPriceBody,
    PlanPriceList,
    RevenueAnswer,
    RevenueLine,
    RevenueLineBody,
    RevenueLineList,
    Term,
    TermBody,
)

Id = Annotated[str, Path(min_length=1, max_length=256, pattern=r"^[^\x00]*$")]
Recognition = Annotated[str, Query(description="day or second: how lines are earned over their periods")]
Limit = Annotated[int, Query(ge=1, le=10_000, description="at most this many, the newest first")]
router = APIRouter(prefix="/v1", tags=["revenue"])


@router.put("/plans/{plan}/prices", responses=problems(400, 413))
def put_plan_price(plan: Id, body: PlanPriceBody, service: ServiceDep, principal: AdminKey) -> PlanPrice:
    """States a plan's price from a day on, or replaces the one of the same day and interval."""
    return PlanPrice(**plan_prices.put_plan_price(service.engine, principal.context, plan, **body.model_dump()))


@router.get("/plan-prices", responses=problems())
def get_plan_prices(service: ServiceDep, principal: ViewerKey) -> PlanPriceList:
    """All dated prices, by plan, interval and day."""
    rows = plan_prices.list_plan_prices(service.engine, principal.context)
    return PlanPriceList(prices=[PlanPrice(**row) for row in rows])


@router.put("/subscriptions/{subscription_id}/terms/{term_id}", responses=problems(400, 404, 413))
def put_term(subscription_id: Id, term_id: Id, body: TermBody, service: ServiceDep, principal: AdminKey) -> Term:
    """Adds a pause or a coupon to a subscription, or replaces the one of the same id."""
    stored = terms.put_term(service.engine, principal.context, subscription_id, term_id, **body.model_dump())
    return Term(**stored)


@router.post("/revenue/lines", responses=problems(400, 413))
def post_lines(body: list[RevenueLineBody], service: ServiceDep, principal: AdminKey) -> RevenueAnswer:
    """Books invoice lines, once each by id; good ones are kept when others are rejected."""
    rows = [{name: value or "" for name, value in line.model_dump().items()} for line in body]
    result = line_imports.import_rows(service.engine, principal.context, enumerate(rows, start=1))
    return RevenueAnswer(**result.to_json())


@router.get("/revenue/lines", responses=problems(400))
def get_lines(service: ServiceDep, principal: AnalystKey, limit: Limit = 100) -> RevenueLineList:
    """Invoice lines as they were booked."""
    rows = lines.list_lines(service.engine, principal.context, limit)
    return RevenueLineList(lines=[RevenueLine(**row) for row in rows])


@router.post("/revenue/stripe", responses=problems(400, 413))
def post_stripe(
    body: list[dict[str, Any]], service: ServiceDep, principal: AdminKey, recognition: Recognition = "day"
) -> RevenueAnswer:
    """Books Stripe objects: invoices, credit notes, balance transactions, credit grants and their transactions, subscriptions, customers,
    charges; others are skipped. An invoice line with `credit_grant` in its metadata is deferred until those credits are used."""
    refuse_halves("objects", body)
    result = stripe_import.import_objects(service.engine, principal.context, body, recognition)
    return RevenueAnswer(**result.to_json())


@router.put("/revenue/customers/{customer_id}", responses=problems(400, 413))
def put_customer(customer_id: Id, body: CustomerBody, service: ServiceDep, principal: AdminKey) -> Customer:
    """Matches a payment system's customer to a user or an account; lines that are here already follow."""
    return Customer(
        **lines.state_customer(service.engine, principal.context, customer_id, body.user_id, body.account_id)
    )
