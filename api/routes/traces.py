"""How do OpenTelemetry SDKs and Collectors export spans to here? OTLP/HTTP, as they are configured for any backend."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import APIRouter, Request, Response

from accounting.usage.columns import Prepared
from accounting.usage.prepare_otlp import prepare_otlp
from api import otlp
from api.body import JSON, PROTOBUF, SentBody, kind_of
from api.deps import IngestKey, ServiceDep
from api.ingest import ingest
from api.openapi import TRACES_BODY, problems
from api.schemas_wire import TraceAnswer

router = APIRouter(prefix="/v1/traces", tags=["usage"], route_class=otlp.OtlpRoute)


@router.post(
    "",
    responses={
        200: {"model": TraceAnswer, "content": {PROTOBUF: {"schema": {"type": "string", "format": "binary"}}}},
        **problems(400, 413, 415, 429),
    },
    openapi_extra=TRACES_BODY,
)
async def post_traces(request: Request, service: ServiceDep, principal: IngestKey) -> Response:
    """Books the model calls among the spans of an ExportTraceServiceRequest: protobuf or JSON; plain, gzip or zstd.

    Answered after the commit, with `partial_success` where a span was rejected, conflicts with what is known, or contradicts
    itself and is kept as an exception. Spans that are no model calls are ignored, and so are agents' totals of their calls.
    """

    def parse(sent: SentBody, inflated: bytes) -> list[Prepared]:
        return [prepare_otlp(inflated, datetime.now(UTC), protobuf=sent.kind == PROTOBUF)]

    result = await ingest(request, service, principal, parse, (PROTOBUF, JSON))
    return otlp.answer(result, protobuf=kind_of(request) == PROTOBUF)
