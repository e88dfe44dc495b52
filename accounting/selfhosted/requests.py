"""Which columns of a request log does attribution need, and which requests can carry a share of the bill?"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from accounting.errors import InvalidInput
from accounting.selfhosted.arrays import NO_TIME, UNKNOWN, Bools, Ints
from accounting.selfhosted.curve import Curve, Domain, prompts_measured
from accounting.selfhosted.pool import Pool
from accounting.selfhosted.reasons import (
    CACHED_UNKNOWN,
    CHARGED,
    NO_EVIDENCE,
    OUTSIDE,
    TIMES_CONTRADICT,
    TIMES_UNKNOWN,
)


@dataclass(frozen=True)
class Requests:
    """A log as columns of one length. Times: microseconds since 1970 UTC, NO_TIME where not logged. Counts: UNKNOWN where not logged.

    Attributes:
        request_id: any sortable ids; they break ties of largest remainders, so they must differ.
        replica: code of the scheduler that served it.
        received_at: when it came in; what lies before its prefill is queueing.
        prefill_started_at: NO_TIME: predicted backwards from the first token.
        first_token_at, completed_at: NO_TIME: see `forward.complete_times`.
        context_tokens: what the engine held at the first token, cached ones included.
        cached_tokens: of these, found in the prefix cache.
        output_tokens: given out; the first one comes from the prefill.
        decode_steps: UNKNOWN: output_tokens - 1; with speculation the verify steps.
        positions: computed in decode steps, rejected drafts included; UNKNOWN: one a step.
        shared_tokens: of the context, those other sequences hold at the same time (each block counting 1 - 1/holders); 0 where unknown.
        failed: it did not end as asked: error, timeout, cancelled.
    """

    request_id: npt.NDArray[Any]
    replica: Ints
    received_at: Ints
    prefill_started_at: Ints
    first_token_at: Ints
    completed_at: Ints
    context_tokens: Ints
    cached_tokens: Ints
    output_tokens: Ints
    decode_steps: Ints
    positions: Ints
    shared_tokens: Ints
    failed: Bools

    def __post_init__(self) -> None:
        count = len(self.request_id)
        for one in fields(self):
            column = getattr(self, one.name)
            if column.shape != (count,):
                raise InvalidInput(one.name, column.shape, f"one value for each of {count} requests is expected")
            kind = np.bool_ if one.name == "failed" else np.int64
            if one.name != "request_id" and column.dtype != kind:
                raise InvalidInput(one.name, column.dtype, f"dtype {np.dtype(kind)} is expected")
        for name, least in (("context_tokens", 1), ("output_tokens", 0), ("shared_tokens", 0)):
            self._refuse(name, getattr(self, name) < least, f"a whole number from {least} is expected")
        for name in ("replica", "cached_tokens", "decode_steps", "positions"):
            self._refuse(name, getattr(self, name) < UNKNOWN, "a whole number from 0, or -1 where unknown, is expected")
        self._refuse("received_at", self.received_at == NO_TIME, "every request has a time at which it came in")
        for name in ("cached_tokens", "shared_tokens"):
            self._refuse(name, getattr(self, name) > self.context_tokens, "more than the whole context")
        self._refuse(
            "positions", (self.positions >= 0) & (self.positions < self.steps()), "fewer than the decode steps"
        )

    def __len__(self) -> int:
        return len(self.request_id)

    def steps(self) -> Ints:
        """Decode steps of each request."""
        return steps_of(self.output_tokens, self.decode_steps)

    def take(self, rows: Ints) -> Requests:
        """Some of the requests, in that order."""
        return Requests(**{one.name: getattr(self, one.name)[rows] for one in fields(self)})

    def _refuse(self, name: str, wrong: Bools, reason: str) -> None:
        if wrong.any():
            at = int(np.argmax(wrong))
            raise InvalidInput(f"{name} of {self.request_id[at]}", int(getattr(self, name)[at]), reason)


@dataclass(frozen=True)
class Evidence:
    """What each request can carry.

    Attributes:
        reason: int8 codes of REASONS; CHARGED where it has a share.
        ran: it shared steps with others, so it counts in their batches even where its own share is unpriced.
        extrapolated: it lies beyond the curve's measured range and is charged all the same.
    """

    reason: npt.NDArray[np.int8]
    ran: Bools
    extrapolated: Bools


def judge(requests: Requests, curve: Curve, pool: Pool) -> Evidence:
    """Reasons by request; the first that holds, in this order: evidence, times, cached tokens, range."""
    first, end = requests.first_token_at, requests.completed_at
    no_first, no_end = first == NO_TIME, end == NO_TIME
    reason = np.full(len(requests), CHARGED, np.int8)
    beyond = _beyond(requests, curve.domain, pool)
    if pool.outside == "refuse":
        reason[beyond] = OUTSIDE
    reason[requests.cached_tokens == UNKNOWN] = CACHED_UNKNOWN
    reason[(no_first | no_end)] = TIMES_UNKNOWN
    known = ~no_end
    start = requests.prefill_started_at
    late_start = ~no_first & (start != NO_TIME) & (start > first)
    reason[(known & ~no_first & (end < first)) | (known & (end < requests.received_at)) | late_start] = TIMES_CONTRADICT
    reason[requests.failed & no_first] = NO_EVIDENCE
    ran = (reason == CHARGED) | (reason == CACHED_UNKNOWN) | (reason == OUTSIDE)
    return Evidence(reason, ran, beyond & (reason == CHARGED))


def _beyond(requests: Requests, domain: Domain, pool: Pool) -> Bools:
    """What runs in the pool beyond what was measured: prompts, and contexts at the last decode step, which attends to all tokens but the
    one that it gives out. Short contexts are inside a step's lines."""
    grown = np.zeros(len(requests), np.int64) if pool.role == "prefill" else np.maximum(requests.output_tokens - 1, 0)
    top = requests.context_tokens + grown
    if pool.role == "decode":
        return np.asarray(top > domain.context[1])
    cached = np.where(requests.cached_tokens == UNKNOWN, 0, requests.cached_tokens)
    prompts = prompts_measured(domain, requests.context_tokens - cached, cached, pool.token_budget)
    return np.asarray((top > domain.context[1]) | ~prompts)


def steps_of(output_tokens: Ints, decode_steps: Ints) -> Ints:
    """Decode steps: those logged, else one for every output token after the first; a request without output has none."""
    return np.where(decode_steps == UNKNOWN, np.where(output_tokens > 0, output_tokens - 1, 0), decode_steps)
