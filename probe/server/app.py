"""Which routes does the probe's server have? OpenAI's completions, and what a monitor asks for."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException

from probe.engine.errors import ProbeError, RequestRefused
from probe.engine.interfaces import RequestOutput
from probe.server.answers import DONE, Choice, Shape, Usage, event
from probe.server.errors import ServerError
from probe.server.loop import EngineLike, EngineLoop
from probe.server.metrics import ServerMetrics
from probe.server.requests import Asked, asked_chat, asked_completion
from probe.server.schemas import ChatRequest, CompletionRequest
from probe.server.text import Text, TextStream


@dataclass(frozen=True)
class Served:
    """What the server serves.

    Attributes:
        vocabulary: token ids are below it; max_model_len: prompt and output at most.
        text: None: token ids only.
        close: called after the engine's last step.
    """

    engine: EngineLike
    model_name: str
    vocabulary: int
    max_model_len: int
    text: Text | None = None
    close: Callable[[], None] | None = None


class Generation:
    """One HTTP request's outputs as they come from the engine's thread."""

    def __init__(self, loop: EngineLoop, asked: Asked, text: Text | None, completion_id: str) -> None:
        self._loop, self._asked = loop, asked
        self._queue: asyncio.Queue[RequestOutput] = asyncio.Queue()
        self._ids = [f"{completion_id}-{i}" for i in range(len(asked.prompts))]
        self._text = text
        self.choices: list[Choice] = []
        self.usage = Usage()

    async def admit(self) -> None:
        """Hands the prompts to the engine; its refusal of one ends all, and is raised as ServerError."""
        here = asyncio.get_running_loop()

        def deliver(one: RequestOutput) -> None:
            here.call_soon_threadsafe(self._queue.put_nowait, one)

        try:
            for request_id, prompt in zip(self._ids, self._asked.prompts, strict=True):
                await asyncio.wrap_future(self._loop.submit(request_id, prompt, self._asked.params, deliver))
        except RequestRefused as refused:
            self.abort()
            raise self._asked.refused(refused) from refused
        except (ProbeError, ServerError):
            self.abort()
            raise
        # Only now: until the engine has taken it, `n` may be any number.
        count = len(self._asked.prompts) * self._asked.params.n
        self.choices = [Choice(i, TextStream(self._text, self._asked.stop)) for i in range(count)]

    async def pieces(self) -> AsyncIterator[tuple[Choice, str, list[int]]]:
        """Each output's new text and ids until all are finished. Raises ServerError where the engine ended one by an error."""
        while any(choice.finish_reason is None for choice in self.choices):
            one = await self._queue.get()
            choice = self.choices[self._ids.index(one.request_id) * self._asked.params.n + one.index]
            if choice.finish_reason is not None:
                continue
            if one.finish_reason == "error":
                self.abort()
                raise ServerError(one.error or "the engine ended the request", status=500)
            self.usage.add(one)
            piece = choice.add(one)
            self._end_stopped(one.request_id)
            yield choice, piece, list(one.new_token_ids)

    def _end_stopped(self, request_id: str) -> None:
        """Stop strings are not the engine's: it is told once every output of a request has its end, and one has it by such a string."""
        n = self._asked.params.n
        first = self._ids.index(request_id) * n
        outputs = self.choices[first : first + n]
        if all(one.finish_reason for one in outputs) and any(one.stream.stopped for one in outputs):
            self._loop.abort(request_id, "stop")

    def abort(self) -> None:
        for request_id in self._ids:
            self._loop.abort(request_id)


def create_app(served: Served) -> FastAPI:
    """The application around one engine; its lifespan starts and ends the engine's thread."""
    metrics = ServerMetrics(served.model_name)
    loop = EngineLoop(served.engine, metrics)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        loop.start()
        yield
        await asyncio.to_thread(loop.stop)
        if served.close:
            served.close()

    app = FastAPI(
        title="tokencogs probe", summary="An OpenAI-compatible server around the probe's engine.", lifespan=lifespan
    )
    _add_error_handlers(app)

    async def answer(request: Request, asked: Asked, model: str | None, chat: bool) -> Response:
        if model is not None and model != served.model_name:
            raise ServerError(f"model: {model!r} is not served; {served.model_name!r} is", "model", 404)
        completion_id = f"{'chatcmpl' if chat else 'cmpl'}-{uuid.uuid4().hex}"
        shape = Shape(completion_id, int(time.time()), served.model_name, chat, asked.token_ids)
        generation = Generation(loop, asked, served.text, completion_id)
        await generation.admit()
        if asked.stream:
            return StreamingResponse(_events(generation, shape, asked), media_type="text/event-stream")
        return await _unless_gone(request, generation, _whole(generation, shape))

    @app.post("/v1/completions", summary="Continue prompts given as token ids or text.")
    async def completions(body: CompletionRequest, request: Request) -> Response:
        asked = asked_completion(body, served.text, served.vocabulary)
        return await answer(request, asked, body.model, chat=False)

    @app.post("/v1/chat/completions", summary="Answer a chat; needs a tokenizer.")
    async def chat_completions(body: ChatRequest, request: Request) -> Response:
        asked = asked_chat(body, served.text, served.vocabulary, served.max_model_len)
        return await answer(request, asked, body.model, chat=True)

    @app.get("/v1/models", summary="The one model served.")
    async def models() -> dict[str, Any]:
        one = {
            "id": served.model_name,
            "object": "model",
            "owned_by": "tokencogs",
            "max_model_len": served.max_model_len,
        }
        return {"object": "list", "data": [one]}

    @app.get("/health", summary="200 while the engine lives, 503 after it has failed.")
    async def health() -> Response:
        return Response(status_code=200 if loop.alive else 503)

    @app.get("/metrics", summary="Counts in Prometheus text, in vLLM's names.")
    async def prometheus() -> Response:
        return Response(metrics.exposition(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return app


async def _whole(generation: Generation, shape: Shape) -> Response:
    async for _ in generation.pieces():
        pass
    return JSONResponse(shape.whole(generation.choices, generation.usage))


async def _unless_gone(request: Request, generation: Generation, answering: Awaitable[Response]) -> Response:
    """Waits for the answer; a client that has hung up ends its requests in the engine."""
    task = asyncio.ensure_future(answering)
    while not (await asyncio.wait({task}, timeout=0.5))[0]:
        if await request.is_disconnected():
            task.cancel()
            generation.abort()
            return Response(status_code=499)
    return task.result()


async def _events(generation: Generation, shape: Shape, asked: Asked) -> AsyncIterator[str]:
    begun: set[int] = set()
    try:
        async for choice, piece, new_ids in generation.pieces():
            usage = generation.usage if asked.usage_on_every_chunk else None
            yield shape.chunk(choice, piece, new_ids, usage, first=choice.index not in begun)
            begun.add(choice.index)
    except ServerError as failed:
        yield event(failed.body())
    else:
        if asked.include_usage:
            yield shape.usage_chunk(generation.usage)
    finally:
        # Also where the client has gone and the generator is closed half-way; for finished requests it does nothing.
        generation.abort()
    yield DONE


def _add_error_handlers(app: FastAPI) -> None:
    def said(make: Callable[[Any], ServerError]) -> Callable[[Request, Exception], Awaitable[Response]]:
        async def handle(_: Request, error: Exception) -> Response:
            answer = make(error)
            return JSONResponse(answer.body(), status_code=answer.status)

        return handle

    app.add_exception_handler(ServerError, said(lambda error: error))
    app.add_exception_handler(RequestValidationError, said(_first_finding))
    app.add_exception_handler(HTTPException, said(lambda error: ServerError(error.detail, status=error.status_code)))


def _first_finding(error: RequestValidationError) -> ServerError:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return ServerError(f"body: is no JSON: {first['ctx']['error']} at character {first['loc'][-1]}")
    field = ".".join(
        str(part) for part in first["loc"][1:] if isinstance(part, int) or part not in ("str", "list[str]")
    )
    given = repr(first.get("input"))
    shown = given if len(given) <= 60 else given[:57] + "..."
    return ServerError(f"{field or 'body'}: {first['msg']} (got {shown})", field or None)
