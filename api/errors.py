"""Which HTTP status does an error of the domain become, and what does its body say?"""

from __future__ import annotations

import logging

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from accounting.errors import (
    Busy,
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    StorageUnavailable,
    TokencogsError,
    TooLarge,
    Unauthenticated,
)

_LOG = logging.getLogger("tokencogs.api")
_SHOWN = 100
RETRY_STORAGE = 2
"""Seconds a client is asked to wait when the database is away."""
CLOSE = {"Connection": "close"}
"""For an answer before the whole body was read: the connection can't carry another request."""


class UnsupportedMedia(InvalidInput):
    """A Content-Type or Content-Encoding the route does not read."""


# The nearest class of an error's ancestry decides; what is not here is a fault of ours and says nothing of itself.
STATUS: dict[type[TokencogsError], int] = {
    UnsupportedMedia: 415,
    InvalidInput: 400,
    Unauthenticated: 401,
    Forbidden: 403,
    NotFound: 404,
    Conflict: 409,
    TooLarge: 413,
    Busy: 429,
    StorageUnavailable: 503,
}


def problem(
    status: int,
    error: str,
    message: str,
    *,
    field: str | None = None,
    value: object = None,
    headers: dict[str, str] | None = None,
) -> JSONResponse:
    """The one shape of every error: {"error", "field", "value", "message"}; `value` is text, cut at 100 characters."""
    text = None if value is None else str(value)
    if text is not None and len(text) > _SHOWN:
        text = text[:_SHOWN] + "..."
    told = {"error": error, "field": field, "value": _encodable(text), "message": _encodable(message)}
    return JSONResponse(told, status, headers)


def _encodable(text: str | None) -> str | None:
    """The text with halves of surrogate pairs spelled out: JSON may hold them, UTF-8 can't."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")


def install(app: FastAPI) -> None:
    """Gives every error of the app the one shape."""
    app.add_exception_handler(TokencogsError, _domain)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(Exception, _fault)


async def answer(request: Request, error: TokencogsError | HTTPException) -> JSONResponse:
    """What the app answers to an error, for a route that gives it another form."""
    return await (_http if isinstance(error, HTTPException) else _domain)(request, error)


async def _domain(request: Request, error: Exception) -> JSONResponse:
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), None)
    if status is None:
        _LOG.error("%s %s: %s", request.method, request.url.path, error, exc_info=error)
        return await _fault(request, error)
    if isinstance(error, StorageUnavailable):
        # The driver's text names hosts and logins.
        _LOG.warning("%s %s: %s", request.method, request.url.path, error)
        message = "the database can't be reached; nothing of this request was kept, send it again"
        return problem(status, "StorageUnavailable", message, headers={"Retry-After": str(RETRY_STORAGE)})
    headers = {}
    if isinstance(error, Busy):
        headers["Retry-After"] = str(error.retry_after)
    if isinstance(error, Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, Busy | TooLarge):
        headers |= CLOSE
    named = error if isinstance(error, InvalidInput) else None
    return problem(
        status,
        type(error).__name__,
        str(error),
        field=named.field if named else None,
        value=named.value if named else None,
        headers=headers,
    )


async def _validation(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    # ("query", "from") names a parameter, ("body", "tags", 0) a place in the body.
    name = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    return problem(400, "InvalidInput", f"{name}: {first['msg']}", field=name, value=first.get("input"))


async def _http(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    names = {404: "NotFound", 405: "MethodNotAllowed", 413: "TooLarge"}
    return problem(
        error.status_code,
        names.get(error.status_code, "HTTPError"),
        str(error.detail),
        headers=dict(error.headers or {}),
    )


async def _gone(_request: Request, _error: Exception) -> JSONResponse:
    return problem(400, "ClientDisconnect", "the client went away before its body was read")


async def _fault(_request: Request, _error: Exception) -> JSONResponse:
    return problem(500, "InternalError", "an internal error; the server's log has the details")
