"""How do bodies come in as providers, gateways and collectors wrote them?"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse

from accounting.errors import NotFound
from accounting.usage.columns import Prepared
from accounting.usage.formats.registry import FORMATS
from accounting.usage.items import AUTO, MOST
from accounting.usage.prepare_wire import prepare_sent
from api.body import SentBody
from api.deps import IngestKey, ServiceDep
from api.ingest import ingest
from api.openapi import WIRE_BODY, problems
from api.schemas_wire import WireAnswer

NAMES = (AUTO, *sorted(FORMATS))
Format = Annotated[
    str, Path(description=f"One of {', '.join(NAMES)}.", examples=["openai_chat"], pattern=r"^[^\x00/]*$")
]

router = APIRouter(prefix="/v1/usage", tags=["usage"])


@router.post(
    "/{format}",
    responses={200: {"model": WireAnswer}, **problems(400, 404, 413, 415, 429)},
    openapi_extra=WIRE_BODY,
)
async def post_bodies(format: Format, request: Request, service: ServiceDep, principal: IngestKey) -> JSONResponse:
    """Books wire bodies of one format: a body, `{response, context}`, or a list of either; plain, gzip or zstd.

    A stream is the list of its events inside `response`. `auto` tells the format of each body by its structure. accepted +
    duplicates + conflicts + rejected + exceptions + aggregates = calls sent: a body that contradicts itself is kept as an exception,
    an agent's total that repeats its calls is an aggregate. Prompts, answers and tool arguments are dropped where they are read.
    """
    if format not in NAMES:
        raise NotFound(f"format={format!r}: must be one of {', '.join(NAMES)}; native events go to /v1/usage/events")

    def parse(sent: SentBody, inflated: bytes) -> list[Prepared]:
        return prepare_sent(format, inflated, datetime.now(UTC), ndjson=sent.ndjson, most=MOST)

    result = await ingest(request, service, principal, parse)
    return JSONResponse(result.wire_json())
