"""Calls as a client would have recorded them, by hand: seconds from an arbitrary zero."""

from __future__ import annotations

from probe.http.dialects import Stream
from probe.http.load import Call


def made(
    sent: float,
    arrivals: list[float],
    *,
    prompt: int = 100,
    asked: int | None = None,
    counted: int | None = -1,
    cached: int | None = 0,
    warm_up: bool = False,
    scheduled: float | None = None,
) -> Call:
    """One token at each of `arrivals`; `counted`: what usage says, -1: the truth."""
    output = len(arrivals) if counted == -1 else counted
    stream = Stream(tuple((at, 1) for at in arrivals), prompt, output, cached)
    ended = arrivals[-1] if arrivals else sent + 1
    return Call(sent if scheduled is None else scheduled, sent, ended, prompt, asked or len(arrivals), stream, warm_up)
