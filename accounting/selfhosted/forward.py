"""When would a request have had its first token and its end, where the log does not say? One forward simulation on the curve.

Batches run step by step only while prompts are computed or join; between, all decoding requests advance together, and the time of m
steps is a sum of an arithmetic series, so that the work is in proportion to requests, not to tokens.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import replace

import numpy as np

from accounting.selfhosted.arrays import NO_TIME, UNKNOWN, US_PER_SECOND, Bools, Ints
from accounting.selfhosted.curve import Curve
from accounting.selfhosted.pool import Pool
from accounting.selfhosted.requests import Requests


def complete_times(curve: Curve, pool: Pool, requests: Requests, replicas: int | Ints) -> tuple[Requests, Bools]:
    """Requests with the missing first tokens and ends filled in, and which those are. Failed ones without a first token stay as they are.

    All requests with a share are simulated together, each replica for itself; those of no known replica go round in order of arrival.
    Logged times are kept; a filled-in end keeps its simulated distance from the logged first token.

    replicas: codes of those that serve, each once; a number of them stands for 0 and on.
    """
    codes = np.arange(replicas) if isinstance(replicas, int) else replicas
    lacks_first, lacks_end = requests.first_token_at == NO_TIME, requests.completed_at == NO_TIME
    wanted = (lacks_first | lacks_end) & ~(requests.failed & lacks_first)
    if not wanted.any():
        return requests, wanted
    first, end = requests.first_token_at.copy(), requests.completed_at.copy()
    served = np.flatnonzero(~(requests.failed & lacks_first))
    order = served[np.lexsort((requests.request_id[served], requests.received_at[served]))]
    replica = np.where(
        requests.replica[order] == UNKNOWN, codes[np.arange(order.size) % codes.size], requests.replica[order]
    )
    for code in np.unique(replica):
        rows = order[replica == code]
        began, ended = _Replica(curve, pool, requests, rows).run()
        first[rows] = np.where(lacks_first[rows], began, first[rows])
        shift = first[rows] - began
        end[rows] = np.where(lacks_end[rows], ended + shift, end[rows])
    first = np.where(wanted & ~lacks_end, np.minimum(first, np.where(lacks_end, first, end)), first)
    return replace(requests, first_token_at=first, completed_at=end), wanted


class _Replica:
    """Continuous batching in order of arrival: decodes first, the rest of the token budget to prompts."""

    def __init__(self, curve: Curve, pool: Pool, requests: Requests, rows: Ints) -> None:
        self.curve, self.pool = curve, pool
        self.arrival = [int(at) / US_PER_SECOND for at in requests.received_at[rows] - requests.received_at[rows[0]]]
        self.zero = int(requests.received_at[rows[0]])
        self.context = requests.context_tokens[rows].tolist()
        self.cached = np.maximum(requests.cached_tokens[rows], 0).tolist()
        self.steps = requests.steps()[rows].tolist()
        self.first = [0.0] * len(rows)
        self.end = [0.0] * len(rows)

    def run(self) -> tuple[Ints, Ints]:
        """(first token, end) of each row, microseconds."""
        queue = deque(range(len(self.arrival)))
        prompts: deque[list[int]] = deque()
        ends: list[tuple[int, int]] = []
        now, done, contexts, held = 0.0, 0, 0, 0
        while queue or prompts or ends:
            while queue and self._fits(queue[0], now, len(prompts) + len(ends), held):
                at = queue.popleft()
                prompts.append([at, self.context[at] - self.cached[at], self.cached[at]])
                held += self.context[at] + self.steps[at]
            if not prompts and not ends:
                now = self.arrival[queue[0]]
                continue
            if prompts:
                now += self._mixed(prompts, len(ends), contexts + len(ends))
                count = 1
            else:
                count, seconds = self._decode(
                    ends[0][0] - done, len(ends), contexts, self._next(queue, now, len(ends), held)
                )
                now += seconds
            done += count
            contexts += count * len(ends)
            while ends and ends[0][0] <= done:
                _, at = heapq.heappop(ends)
                self.end[at] = now
                contexts -= self.context[at] + self.steps[at]
                held -= self.context[at] + self.steps[at]
            while prompts and prompts[0][1] == 0:
                at = prompts.popleft()[0]
                self.first[at] = self.end[at] = now
                if self.steps[at]:
                    heapq.heappush(ends, (done + self.steps[at], at))
                    contexts += self.context[at]
                else:
                    held -= self.context[at]
        as_us = [
            np.rint(np.array(times) * US_PER_SECOND).astype(np.int64) + self.zero for times in (self.first, self.end)
        ]
        return as_us[0], as_us[1]

    def _fits(self, at: int, now: float, present: int, held: int) -> bool:
        """Has it come, has the batch a place, and the cache room for its peak?"""
        if self.arrival[at] > now or present >= self.pool.max_batch:
            return False
        capacity = self.pool.kv_capacity_tokens
        return capacity is None or present == 0 or held + self.context[at] + self.steps[at] <= capacity

    def _next(self, queue: deque[int], now: float, present: int, held: int) -> float | None:
        """Seconds until an arrival that would join; None where none would."""
        if not queue or not self._fits(queue[0], float("inf"), present, held):
            return None
        return max(self.arrival[queue[0]] - now, 0.0)

    def _mixed(self, prompts: deque[list[int]], decoding: int, contexts: int) -> float:
        """One step with prompts in it."""
        left, work, tokens = self.pool.token_budget - decoding, 0.0, decoding
        for prompt in prompts:
            new = min(prompt[1], max(left, 1))
            if new == 0 or left <= 0:
                break
            work += float(self.curve.prefill_seconds(np.asarray(float(new)), np.asarray(float(prompt[2]))))
            prompt[1], prompt[2], left, tokens = prompt[1] - new, prompt[2] + new, left - new, tokens + new
        return self._step(decoding, contexts, work, tokens)

    def _decode(self, most: int, decoding: int, contexts: int, wait: float | None) -> tuple[int, float]:
        """Steps of decodes alone until one ends or somebody joins, and their seconds."""
        begin, later = (
            self._step(decoding, contexts + decoding, 0.0, decoding),
            self._step(decoding, contexts + most * decoding, 0.0, decoding),
        )
        count = most
        if wait is not None:
            count = min(most, max(1, int(wait / ((begin + later) / 2)) + 1))
        last = begin + (later - begin) * (count - 1) / max(most - 1, 1)
        return count, count * (begin + last) / 2

    def _step(self, decoding: int, contexts: int, work: float, tokens: int) -> float:
        one = (np.asarray(float(value)) for value in (decoding, contexts, work, tokens))
        return float(self.curve.step_seconds(*one))
