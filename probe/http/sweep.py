"""Which result file do loads over HTTP make? Rounds over a grid of concurrency and prompt length, then arrivals by chance."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from probe.curve.schema import ResultFile
from probe.http.checks import faults, remarks
from probe.http.dialects import DIALECTS
from probe.http.errors import HttpProbeFailed
from probe.http.load import Call, Target, arrival_times, closed_loop, open_loop
from probe.http.plan import Plan, Setup
from probe.http.prompts import Prompts
from probe.http.result import Measured, fitted, result_of
from probe.http.server import cache_hits, identify, round_trip
from probe.http.shape import shape_named
from probe.http.steps import decode_samples, prefill_samples
from probe.http.summary import served_of
from probe.http.transport import Client

# The first tenth of an open loop's arrivals fill an empty server: not its steady state.
_WARM_UP = 0.1

Say = Callable[[str], None]
Pause = Callable[[int, int, int], None]


def _no_pause(_round: int, _users: int, _tokens: int) -> None: ...


def probe_http(
    url: str,
    plan: Plan,
    setup: Setup,
    *,
    key: str | None = None,
    say: Say = lambda _: None,
    pause: Pause = _no_pause,
) -> ResultFile:
    """Measures and fits; a file without a curve says why in its notes. Raises HttpProbeFailed where the server can't be measured.

    `pause(round, concurrency, input tokens)` is called after each load of the grid, when nothing is in flight: whoever compares the
    server with something else measures that then, in the same seconds.
    """
    return asyncio.run(_probe(url, plan, setup, key, say, pause))


async def _probe(url: str, plan: Plan, setup: Setup, key: str | None, say: Say, pause: Pause) -> ResultFile:
    client, shape = Client(url, key), shape_named(setup.architecture)
    try:
        server = await identify(client, setup.server, setup.model)
        before, bare = await cache_hits(client), await round_trip(client)
        plan.refuse_beyond(server.max_model_len)
        who = f"{server.dialect} {server.version}" if server.version else server.dialect
        say(f"{who} serves {server.model}; a bare request takes {bare * 1e3:.2f} ms")
        target = Target(client, DIALECTS[server.dialect], server.model)
        measured = await _measure(target, plan, bare, say, pause)
        after = None if measured.ended else await cache_hits(client)
    finally:
        client.close()
    hits = None if before is None or after is None else after - before
    notes = [*measured.notes, *remarks(measured.calls, hits, bare)]
    return fitted(result_of(server, plan, setup, shape, measured), notes)


async def _measure(target: Target, plan: Plan, bare: float, say: Say, pause: Pause) -> Measured:
    """What was measured before the server failed for good is kept; raises HttpProbeFailed where that is nothing."""
    prompts, found = Prompts(plan.seed, plan.vocabulary), Measured()
    try:
        await _closed(target, plan, bare, prompts, found, say, pause)
        for rate in plan.rates:
            await _open(target, plan, rate, prompts, found, say)
    except HttpProbeFailed as failed:
        if not any(found.samples.values()):
            raise
        found.ended = str(failed)
    return found


async def _closed(
    target: Target, plan: Plan, bare: float, prompts: Prompts, found: Measured, say: Say, pause: Pause
) -> None:
    for round_ in range(plan.rounds):
        for users, tokens in plan.cells if round_ % 2 == 0 else plan.cells[::-1]:
            calls, load = await closed_loop(target, prompts, users, tokens, plan.output_tokens, plan.each)
            served = served_of(calls, load, concurrency=users, label=f"{users}x{tokens}")
            late = found.add(calls, load, served)
            _refuse_hopeless(calls)
            found.samples["decode", users, tokens] += decode_samples(calls, users, round_, late)
            if users == 1:
                found.samples["prefill", users, tokens] += prefill_samples(calls, bare, round_, late)
            found.closed[users, tokens] += [served] if served else []
            pace = "-" if served is None or not served.itl_median else f"{served.itl_median * 1e3:.2f} ms"
            say(f"round {round_ + 1}/{plan.rounds}: {users} at once, {tokens} tokens: {pace} between tokens")
            pause(round_, users, tokens)


async def _open(target: Target, plan: Plan, rate: float, prompts: Prompts, found: Measured, say: Say) -> None:
    times = arrival_times(rate, plan.duration, plan.seed)
    for tokens in plan.input_tokens:
        warm_up = _WARM_UP * plan.duration
        calls, load = await open_loop(target, prompts, times, tokens, plan.output_tokens, warm_up)
        served = served_of(calls, load, rate=rate, label=f"poisson {rate:g}/s")
        found.add(calls, load, served)
        if served is not None:
            found.opened.append(served)
            first = served.ttft_median
            told = "no first token was seen" if first is None else f"first token after {first * 1e3:.1f} ms (median)"
            say(f"{rate:g} a second, {tokens} tokens: {told}")


def _refuse_hopeless(calls: Sequence[Call]) -> None:
    """A load of which nothing can be used will not get better by going on."""
    if all(faults(call) for call in calls):
        raise HttpProbeFailed("requests", len(calls), f"none was answered as asked: {faults(calls[0])[0]}")
