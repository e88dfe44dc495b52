"""How is a server loaded? So many requests kept in flight, or requests that arrive by chance at a rate."""

from __future__ import annotations

import asyncio
import json
import random
import time
from dataclasses import dataclass, replace

from probe.http.dialects import Dialect, Stream, parsed
from probe.http.errors import HttpProbeFailed
from probe.http.prompts import Prompt, Prompts
from probe.http.saturation import Load, Watch
from probe.http.transport import Client, Reply, events

_NOTHING = Stream((), None, None, None)


@dataclass(frozen=True)
class Call:
    """One request and what came of it; monotonic seconds.

    Attributes:
        scheduled: when it was to be sent; latencies count from here, so that a late client hides nothing.
        asked_input, asked_output: tokens.
        warm_up: sent to reach the load, not measured.
        error: why there is no answer; None: there is one.
    """

    scheduled: float
    sent: float
    ended: float
    asked_input: int
    asked_output: int
    stream: Stream
    warm_up: bool = False
    error: str | None = None

    @property
    def first(self) -> float | None:
        return self.stream.arrivals[0][0] if self.stream.arrivals else None

    @property
    def last(self) -> float | None:
        return self.stream.arrivals[-1][0] if self.stream.arrivals else None


@dataclass(frozen=True)
class Target:
    """Who is asked, and how. Attributes: model: its name in requests."""

    client: Client
    dialect: Dialect
    model: str


async def closed_loop(
    target: Target, prompts: Prompts, concurrency: int, input_tokens: int, output_tokens: int, each: int
) -> tuple[list[Call], Load]:
    """`concurrency` users, each with one request after another: one to warm up, then `each` that count. And what it took the client."""
    await target.client.warm(concurrency)
    asked = [[prompts.next(input_tokens) for _ in range(1 + each)] for _ in range(concurrency)]

    async def user(mine: list[Prompt]) -> list[Asked]:
        done = []
        for turn, prompt in enumerate(mine):
            one = await ask(target, prompt, input_tokens, output_tokens, time.monotonic())
            done.append(replace(one, warm_up=turn == 0))
        return done

    async with Watch() as watch:
        done = await asyncio.gather(*(user(mine) for mine in asked))
    return [one.read(target.dialect) for some in done for one in some], watch.load


def arrival_times(rate: float, duration: float, seed: int) -> list[float]:
    """Seconds from the start: gaps drawn from an exponential distribution of mean 1 / rate."""
    if rate <= 0 or duration <= 0:
        raise HttpProbeFailed("rate", rate, "a rate and a duration above 0 are expected")
    drawn, at, times = random.Random(seed), 0.0, []
    while (at := at + drawn.expovariate(rate)) < duration:
        times.append(at)
    return times


async def open_loop(
    target: Target,
    prompts: Prompts,
    times: list[float],
    input_tokens: int,
    output_tokens: int,
    warm_up: float,
) -> tuple[list[Call], Load]:
    """Requests at `times` (seconds from now), whatever became of the earlier ones; those before `warm_up` do not count."""
    asked = [prompts.next(input_tokens) for _ in times]

    async def user(at: float, prompt: Prompt) -> Asked:
        await asyncio.sleep(max(begun + at - time.monotonic(), 0.0))
        made = await ask(target, prompt, input_tokens, output_tokens, begun + at)
        return replace(made, warm_up=at < warm_up)

    async with Watch() as watch:
        begun = time.monotonic()
        done = await asyncio.gather(*(user(at, prompt) for at, prompt in zip(times, asked, strict=True)))
    return [one.read(target.dialect) for one in done], watch.load


@dataclass(frozen=True)
class Asked:
    """A request and its answer's bytes. They are decoded when the load has ended: decoding is work that would delay others' stamps."""

    scheduled: float
    input_tokens: int
    output_tokens: int
    reply: Reply
    error: str | None = None
    warm_up: bool = False

    def read(self, dialect: Dialect) -> Call:
        """What came of it; an answer that can't be read is a call with its error."""
        stream, error = _NOTHING, self.error
        if error is None:
            try:
                stream = dialect.read(parsed(events(self.reply)))
            except HttpProbeFailed as failed:
                error = str(failed)
        times = self.scheduled, self.reply.sent, self.reply.ended
        return Call(*times, self.input_tokens, self.output_tokens, stream, self.warm_up, error)


async def ask(target: Target, prompt: Prompt, input_tokens: int, output_tokens: int, scheduled: float) -> Asked:
    """One request; a failure is its error."""
    body = json.dumps(target.dialect.body(prompt, output_tokens, target.model)).encode()
    try:
        reply = await target.client.request("POST", target.dialect.path, body)
    except HttpProbeFailed as failed:
        return Asked(scheduled, input_tokens, output_tokens, Reply(scheduled, scheduled), str(failed))
    said = reply.body[:300].decode(errors="replace")
    error = None if reply.status == 200 else f"status={reply.status}: {said}"
    return Asked(scheduled, input_tokens, output_tokens, reply, error)
