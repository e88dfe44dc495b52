"""Which steps of the engine can be told from outside? Gaps between a request's tokens while all decode and nobody prefills."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probe.curve.grid import Floats
from probe.curve.schema import Point, Sample
from probe.http.checks import clean
from probe.http.load import Call

# Chunks of one step reach the client within a part of the step's time; two events nearer than this share of a gap are of one step.
_SLACK = 0.3


def decode_samples(calls: Sequence[Call], concurrency: int, round_: int, saturated: bool) -> list[Sample]:
    """One sample a step in which exactly `concurrency` requests decoded and none waited for its first token.

    Seconds are those between two events of one request over the tokens of the second (several when the engine speculates). Contexts
    are each request's prompt and its output so far. Of requests that share a step one gap is taken.
    """
    flights = _Flights.of(calls)
    gaps = [
        (begun, ended, new)
        for call in calls
        if not call.warm_up and clean(call)
        for (begun, _), (ended, new) in zip(call.stream.arrivals, call.stream.arrivals[1:], strict=False)
        if ended > begun and flights.decoding(begun, ended).sum() == concurrency
    ]
    found = []
    for begun, ended, new in _one_a_step(gaps):
        contexts = flights.contexts(begun, ended)
        seconds = (ended - begun) / new
        found.append(
            Sample(kind="decode", seconds=seconds, contexts=contexts, round=round_, contaminated=saturated, at=ended)
        )
    return found


def prefill_samples(calls: Sequence[Call], round_trip: float, round_: int, saturated: bool) -> list[Sample]:
    """First tokens of requests that were alone: time to the first token less a bare round trip is the prompt's own step."""
    found = []
    for call in calls:
        if call.warm_up or call.first is None or not clean(call):
            continue
        found.append(
            Sample(
                kind="prefill",
                seconds=call.first - call.sent - round_trip,
                prefills=[(call.stream.prompt_tokens or call.asked_input, 0)],
                round=round_,
                contaminated=saturated,
                at=call.first,
            )
        )
    return [one for one in found if one.seconds > 0]


def point_of(samples: Sequence[Sample]) -> Point | None:
    """The median of the clean samples of one cell, quartiles beside it; None where every sample is contaminated."""
    used = [one for one in samples if not one.contaminated]
    if not used:
        return None
    seconds = np.array([one.seconds for one in used])
    low, middle, high = (float(np.percentile(seconds, at)) for at in (25, 50, 75))
    new = used[0].prefills[0][0] if used[0].prefills else 0
    return Point(
        kind=used[0].kind,
        seconds=middle,
        batch=len(used[0].contexts),
        context_sum=round(float(np.mean([sum(one.contexts) for one in used]))),
        new=new,
        pairs=new * new / 2,
        n=len(used),
        minimum=float(seconds.min()),
        p25=low,
        p75=high,
        contaminated=len(samples) - len(used),
    )


@dataclass(frozen=True)
class _Flights:
    """When each request was in flight. Attributes: sent, first, last: [calls] seconds; first is the end of those without a token."""

    calls: Sequence[Call]
    sent: Floats
    first: Floats
    last: Floats

    @classmethod
    def of(cls, calls: Sequence[Call]) -> _Flights:
        first = [call.ended if call.first is None else call.first for call in calls]
        last = [-np.inf if call.last is None else call.last for call in calls]
        return cls(calls, np.array([call.sent for call in calls]), np.array(first), np.array(last))

    def decoding(self, begun: float, ended: float) -> NDArray[np.bool_]:
        """[calls] who decodes in the step between two events; nobody, where a request still waits for its first token."""
        slack = _SLACK * (ended - begun)
        if bool(((self.sent < ended - slack) & (self.first > begun + slack)).any()):
            return np.zeros(len(self.calls), np.bool_)
        return np.asarray((self.first <= begun + slack) & (self.last >= ended - slack))

    def contexts(self, begun: float, ended: float) -> list[int]:
        """Tokens that each of them attends to, ascending."""
        until = begun + _SLACK * (ended - begun)
        some = [call for call, decodes in zip(self.calls, self.decoding(begun, ended), strict=True) if decodes]
        outputs = [sum(new for at, new in call.stream.arrivals if at <= until) for call in some]
        return sorted(
            (call.stream.prompt_tokens or call.asked_input) + output for call, output in zip(some, outputs, strict=True)
        )


def _one_a_step(gaps: Sequence[tuple[float, float, int]]) -> list[tuple[float, float, int]]:
    kept: list[tuple[float, float, int]] = []
    last = float("-inf")
    for begun, ended, new in sorted(gaps, key=lambda one: one[1]):
        if begun >= last - _SLACK * (ended - begun):
            kept.append((begun, ended, new))
            last = ended
    return kept
