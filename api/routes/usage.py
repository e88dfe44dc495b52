"""How do usage events come in, and how are they corrected?"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse

from accounting.ledger import revise as corrections
from accounting.ledger.explain import explain
from accounting.ledger.read import charge_of
from accounting.usage.columns import Prepared, prepare
from accounting.usage.items import MOST
from api import body
from api.body import SentBody
from api.deps import AnalystKey, IngestKey, ServiceDep
from api.ingest import ingest
from api.openapi import EVENT_BODY, EVENTS_BODY, problems
from api.schemas import Charge, Corrected, IngestAnswer, VoidBody
from api.schemas_explain import Explanation

EventId = Annotated[str, Path(min_length=1, max_length=256, pattern=r"^[^\x00]*$", examples=["req-1"])]

router = APIRouter(prefix="/v1/usage/events", tags=["usage"])


@router.post(
    "",
    responses={200: {"model": IngestAnswer}, **problems(400, 413, 415, 429)},
    openapi_extra=EVENTS_BODY,
)
async def post_events(request: Request, service: ServiceDep, principal: IngestKey) -> JSONResponse:
    """Books a batch: a JSON array of events, one event, or JSON Lines (`application/x-ndjson`); plain, gzip or zstd.

    Answered after the commit. Good rows are kept when others are bad. Sending a batch again is safe: an event already
    known is a duplicate, or, with another body, a conflict that changes nothing.
    """

    def parse(sent: SentBody, inflated: bytes) -> list[Prepared]:
        return [prepare(inflated, ndjson=sent.ndjson, now=datetime.now(UTC), most=MOST)]

    result = await ingest(request, service, principal, parse)
    return JSONResponse(result.to_json())


@router.post("/{event_id:path}/void", responses=problems(400, 404, 413))
def void_event(event_id: EventId, reason: VoidBody, service: ServiceDep, principal: IngestKey) -> Corrected:
    """Undoes an event: a further row says so and its ledger lines are reversed. Doing it again changes nothing."""
    return Corrected(**corrections.void(service.engine, principal.context, event_id, reason.reason))


@router.post("/{event_id:path}/revisions", responses=problems(400, 404, 409, 413, 415, 429), openapi_extra=EVENT_BODY)
async def revise_event(event_id: EventId, request: Request, service: ServiceDep, principal: IngestKey) -> Corrected:
    """Replaces what is known of an event by the one sent, of the same id. The same body again changes nothing."""
    with service.admission():
        sent = await body.read(request)

        def correct() -> Corrected:
            event, book = sent.inflated(service.settings.max_inflated), service.book(principal.context)
            return Corrected(**corrections.revise(service.engine, principal.context, book, event_id, event))

        return await run_sync(correct, limiter=service.parsers)


@router.get("/{event_id:path}/charge", responses={200: {"model": Charge}, **problems(404)})
def get_charge(event_id: EventId, service: ServiceDep, principal: AnalystKey) -> JSONResponse:
    """What the newest revision of an event costs, by token class, and which dated price made it."""
    return JSONResponse(charge_of(service.engine, principal.context, event_id))


@router.get("/{event_id:path}/explain", responses={200: {"model": Explanation}, **problems(404)})
def get_explanation(event_id: EventId, service: ServiceDep, principal: AnalystKey) -> JSONResponse:
    """How an event's cost came about: names, price rows with source and dates, each token class, and every later charge."""
    return JSONResponse(explain(service.engine, principal.context, event_id))
