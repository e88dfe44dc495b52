"""In which form does OTLP/HTTP answer? Protobuf to protobuf and JSON to JSON, errors too."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from starlette.exceptions import HTTPException

from accounting.errors import TokencogsError
from accounting.pipeline import IngestResult
from api import errors
from api.body import PROTOBUF, kind_of

# Codes of google.rpc.Code; retried are 429 and 503, by their HTTP status and Retry-After.
_CODES = {400: 3, 401: 16, 403: 7, 413: 8, 415: 3, 429: 8, 503: 14}
_UNKNOWN = 2


class OtlpRoute(APIRoute):
    """A route whose errors are answered to protobuf requests as a `google.rpc.Status`, as OTLP/HTTP asks for."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await inner(request)
            except (TokencogsError, HTTPException) as error:
                problem = await errors.answer(request, error)
                return _status(problem) if kind_of(request) == PROTOBUF else problem

        return handle


def _status(problem: JSONResponse) -> Response:
    """The problem as a serialised Status: field 1 its code, field 2 its message. Headers such as Retry-After stay."""
    message = str(json.loads(bytes(problem.body))["message"]).encode()
    content = bytes([0x08, _CODES.get(problem.status_code, _UNKNOWN), 0x12, *_varint(len(message))]) + message
    kept = {name: value for name, value in problem.headers.items() if name not in ("content-length", "content-type")}
    return Response(content, problem.status_code, kept, PROTOBUF)


def _varint(number: int) -> list[int]:
    found = []
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return [*found, number]


def answer(result: IngestResult, *, protobuf: bool) -> Response:
    """The ExportTraceServiceResponse: partial_success is there where something of the export needs a look."""
    rejected = len(result.rejected) + len(result.conflicts)
    message = _message(result)
    if protobuf:
        response = ExportTraceServiceResponse()
        if message:
            response.partial_success.rejected_spans = rejected
            response.partial_success.error_message = message
        return Response(response.SerializeToString(), media_type=PROTOBUF)
    # Protobuf's JSON has 64-bit integers as text.
    partial = {"partialSuccess": {"rejectedSpans": str(rejected), "errorMessage": message}}
    return JSONResponse(partial if message else {})


def _message(result: IngestResult) -> str:
    """What was not booked and why, the first of each kind; '' where all was."""
    found = []
    if result.rejected:
        first = result.rejected[0]
        found.append(f"{len(result.rejected)} rejected, the first for {first['field']}: {first['reason']}")
    if result.conflicts:
        first = result.conflicts[0]
        found.append(f"{len(result.conflicts)} in conflict, the first {first['event_id']}: {first['reason']}")
    if result.exceptions:
        first = result.exceptions[0]
        found.append(f"{len(result.exceptions)} kept as exceptions, the first for {first['reason']}: {first['detail']}")
    return "; ".join(found)
