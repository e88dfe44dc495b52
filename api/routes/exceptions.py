"""What should a person look at, and what becomes of it?"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query

from accounting.ledger import exceptions
from accounting.ledger.replay import replay
from api.deps import AdminKey, AnalystKey, ServiceDep
from api.openapi import problems
from api.schemas_wire import Dismissed, ExceptionList, ReplayBody, Replayed

Wanted = Annotated[str | None, Query(pattern=r"^[^\x00]*$")]
ExceptionId = Annotated[str, Path(pattern=r"^[^\x00]*$", examples=["5f0c1b6a9d3e4f7788990011"])]

router = APIRouter(prefix="/v1/exceptions", tags=["exceptions"])


@router.get("", responses=problems(400))
def get_exceptions(
    service: ServiceDep,
    principal: AnalystKey,
    kind: Literal["conflict", "contradiction", "finding"] | None = None,
    reason: Wanted = None,
    open_only: Annotated[bool, Query(alias="open", description="false: resolved ones too")] = True,
    limit: Annotated[int, Query(description="at most this many", ge=1, le=10_000)] = 1000,
) -> ExceptionList:
    """Contradictions, conflicts and findings, oldest first, and how many there are by kind and reason."""
    return ExceptionList(
        **exceptions.listed(
            service.engine, principal.context, kind=kind, reason=reason, open_only=open_only, limit=limit
        )
    )


@router.post("/replay", responses=problems(400, 404, 413))
def replay_exceptions(service: ServiceDep, principal: AdminKey, body: ReplayBody | None = None) -> Replayed:
    """Reads the kept evidence of open contradictions again, all or the named ones, and books what a mended rule reads; once."""
    wanted = body.exception_ids if body else None
    return Replayed(**replay(service.engine, principal.context, service.book(principal.context), wanted))


@router.post("/{exception_id}/dismiss", responses=problems(400, 404))
def dismiss_exception(exception_id: ExceptionId, service: ServiceDep, principal: AdminKey) -> Dismissed:
    """Marks an exception as looked at; books nothing. Doing it again changes nothing."""
    return Dismissed(**exceptions.dismiss(service.engine, principal.context, exception_id))
