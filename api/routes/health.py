"""Is the process up, can it work, and how is it doing? Read by machines, without a key, without a word of tenants."""

from __future__ import annotations

from fastapi import APIRouter, Response

from accounting.errors import StorageUnavailable
from api.deps import ServiceDep
from api.schemas import Health
from api.service import require_schema

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz() -> Health:
    """200 while the process answers."""
    return Health(status="ok")


@router.get("/readyz", responses={503: {"description": "The database or the writer is away."}})
def readyz(service: ServiceDep) -> Health:
    """200 while the database answers at the right schema revision and the writer takes work, else 503."""
    require_schema()
    if not service.writer.alive:
        raise StorageUnavailable("the writer has stopped")
    return Health(status="ready")


@router.get(
    "/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}, "description": "Metrics."}}
)
async def metrics(service: ServiceDep) -> Response:
    """Metrics of this process in Prometheus' text format."""
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
