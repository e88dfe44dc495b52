"""What is one currency in another on a day, by the rule that reports convert by?"""

from __future__ import annotations

from datetime import date
from typing import Annotated

from fastapi import APIRouter, Query

from accounting.storage.fx_rates import rate_on
from api.deps import ServiceDep, ViewerKey
from api.openapi import problems
from api.schemas_fx import ExchangeRate

router = APIRouter(prefix="/v1/fx-rate", tags=["reports"])

Code = Annotated[str, Query(description="ISO 4217", examples=["USD"], max_length=8)]


@router.get("", responses=problems(400))
def get_rate(
    service: ServiceDep,
    principal: ViewerKey,
    from_currency: Annotated[Code, Query(alias="from")],
    to_currency: Annotated[Code, Query(alias="to")],
    on: Annotated[date, Query(examples=["2026-02-14"])],
) -> ExchangeRate:
    """The rate of a day with its source, day of publication and rule; a day without one is answered 400, naming the currency."""
    return ExchangeRate.model_validate(rate_on(service.engine, from_currency, to_currency, on).described())
