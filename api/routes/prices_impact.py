"""What would the recent workload cost under other prices?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from accounting.errors import InvalidInput
from accounting.ledger.impact import impact
from accounting.ledger.impact_books import asked_book
from accounting.ledger.layers import Books
from api.deps import AnalystKey, ServiceDep
from api.openapi import problems
from api.schemas_impact import ImpactAnswer

router = APIRouter(prefix="/v1/prices", tags=["prices"])


@router.get("/impact", responses={200: {"model": ImpactAnswer}, **problems(400)})
def get_impact(
    service: ServiceDep,
    principal: AnalystKey,
    days: Annotated[int, Query(ge=1, le=3660, description="how much of the recent workload")] = 30,
    proposed: Annotated[bool, Query(description="rows that wait for a decision, instead of announced ones")] = False,
    model: Annotated[
        str | None, Query(description="the logged model to replace", pattern=r"^[^\x00]+$", examples=["gpt-5.4"])
    ] = None,
    by: Annotated[
        str | None,
        Query(description="the model in its place, `provider/model` for another seller's", pattern=r"^[^\x00]+$"),
    ] = None,
) -> JSONResponse:
    """Rates the recent workload by announced rows (those whose start lies ahead), by proposed ones, or by another model at the same
    tokens, and compares with what it cost, by feature and plan."""
    if (model is None) != (by is None):
        raise InvalidInput("by", by, "`model` and `by` are given together: the model, and the one in its place")
    if model is not None and proposed:
        raise InvalidInput("proposed", proposed, "can't be asked together with `model`")
    models = {model: by} if model is not None and by is not None else None
    books: Books = service.book(principal.context)
    if models is None:
        books = asked_book(service.engine, principal.context, proposed=proposed)
    until = datetime.now(UTC)
    found = impact(service.engine, principal.context, books, until - timedelta(days=days), until, models=models)
    return JSONResponse(found.to_json())
