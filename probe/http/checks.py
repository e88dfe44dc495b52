"""Did the server do what was asked: the output's length, its counts, no help of a cache?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from probe.http.load import Call


def faults(call: Call) -> list[str]:
    """Why a call can't be measured by; [] where it can."""
    if call.error is not None:
        return [f"failed: {call.error}"]
    stream, found = call.stream, []
    arrived = sum(new for _, new in stream.arrivals)
    output = arrived if stream.output_tokens is None else stream.output_tokens
    if output != call.asked_output:
        found.append(f"output_tokens: {output} came, {call.asked_output} were asked for")
    if stream.output_tokens is not None and arrived != stream.output_tokens:
        found.append(f"stream: {arrived} tokens were seen to arrive, the server counted {stream.output_tokens}")
    if stream.cached_tokens:
        found.append(
            f"cached_tokens: {stream.cached_tokens} of a prompt of random tokens: was this --seed used before?"
        )
    return found


def clean(call: Call) -> bool:
    return not faults(call)


def remarks(calls: Sequence[Call], cache_hits: int | None, round_trip: float) -> list[str]:
    """What a reader must know of all calls, most frequent first. `cache_hits`: prompt tokens found in the server's cache by its own
    counters over the whole run; None: it has none. `round_trip`: seconds of a bare request."""
    counted = Counter(fault for call in calls for fault in faults(call))
    found = [f"{count} of {len(calls)} requests: {fault}" for fault, count in counted.most_common(5)]
    if any(call.error is None and call.stream.output_tokens is None for call in calls):
        found.append("usage: the server did not count; tokens are those seen to arrive, one an event")
    if any(call.error is None and call.stream.prompt_tokens is None for call in calls):
        found.append("prompt_tokens: the server did not count; lengths are those asked for")
    longer = {
        call.stream.prompt_tokens - call.asked_input for call in calls if call.stream.prompt_tokens is not None
    } - {0}
    if longer:
        found.append(
            f"prompt_tokens: the server counted {min(longer):+d} to {max(longer):+d} beside what was asked for"
        )
    soon = sum(call.first is not None and call.first - call.sent <= round_trip for call in calls)
    if soon:
        found.append(
            f"first token: {soon} came no later than a bare request's answer; those prompts' steps are left out"
        )
    if cache_hits:
        found.append(f"prefix cache: the server's counters say that {cache_hits} prompt tokens were found in it")
    elif cache_hits is None and all(call.stream.cached_tokens is None for call in calls):
        found.append("cached tokens: unknown, the server does not say; prompts were unique")
    return found
