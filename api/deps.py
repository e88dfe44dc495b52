"""Who is asking, and may they? The service of the app, and the principal of a request by scope."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer

from accounting.errors import Forbidden
from accounting.storage.logins import authenticate_subject
from accounting.storage.tenants import Principal, authenticate
from api.service import Service

_BEARER = HTTPBearer(auto_error=False, description="An API key, `tc_<tenant>_<secret>`.")
_HEADER = APIKeyHeader(
    name="x-api-key", auto_error=False, description="The same API key, where a bearer can't be sent."
)

_DOTS_OF_A_TOKEN = 2
"""header.claims.signature; a key has none."""


def get_service(request: Request) -> Service:
    """What this process holds open."""
    service: Service = request.app.state.service
    return service


ServiceDep = Annotated[Service, Depends(get_service)]


def _principal(service: Service, secret: str) -> Principal:
    """The holder of a key, or of a token of the identity provider where one is configured. Raises Unauthenticated."""
    if service.tokens is not None and secret.count(".") == _DOTS_OF_A_TOKEN:
        return authenticate_subject(service.engine, service.tokens.provider.issuer, service.tokens.subject(secret))
    return authenticate(service.engine, secret)


class Scope:
    """A dependency that lets a key through whose scope reaches `needed`, one of `tenants.SCOPES`.

    It runs in a thread and asks the database each time, so that a revoked key ends at once.
    """

    def __init__(self, needed: str) -> None:
        self.needed = needed

    def __call__(
        self,
        service: ServiceDep,
        bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)] = None,
        header: Annotated[str | None, Depends(_HEADER)] = None,
    ) -> Principal:
        principal = _principal(service, bearer.credentials if bearer else header or "")
        if not principal.reaches(self.needed):
            raise Forbidden(f"the key's scope {principal.scope!r} does not reach this, which needs {self.needed!r}")
        return principal


IngestKey = Annotated[Principal, Depends(Scope("ingest"))]
ViewerKey = Annotated[Principal, Depends(Scope("viewer"))]
AnalystKey = Annotated[Principal, Depends(Scope("analyst"))]
AdminKey = Annotated[Principal, Depends(Scope("admin"))]
