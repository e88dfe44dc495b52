"""Which billed stretches does each request touch?"""

from __future__ import annotations

import numpy as np

from accounting.selfhosted.arrays import NO_TIME, Ints
from accounting.selfhosted.pool import Cells
from accounting.selfhosted.requests import Requests

_TABLE = 1 << 20
"""Entries of a table that is used in the place of a search: small enough for a processor's cache."""


def place(requests: Requests, cells: Cells, number: Ints) -> tuple[Ints, Ints]:
    """(row, stretch) of every request and every stretch of its replica that it touches, by stretch; cell i is stretch `number`[i].

    Without an end a request is there when it came in; a moment on the edge belongs to what begins.
    """
    start = in_flight_from(requests.received_at, requests.prefill_started_at, requests.first_token_at)
    end = np.maximum(np.where(requests.completed_at == NO_TIME, start, requests.completed_at), start)
    code, of_cell = np.unique(cells.replica, return_inverse=True)
    block = np.searchsorted(code, requests.replica)
    billed = code[np.minimum(block, code.size - 1)] == requests.replica
    origin = int(cells.start_at.min())
    tick = int(np.gcd.reduce(np.concatenate([cells.start_at, cells.end_at]) - origin))
    low = origin - tick
    span = int(cells.end_at.max()) - low + tick
    begins, ends = of_cell * span + cells.start_at - low, of_cell * span + cells.end_at - low
    block = np.where(billed, block, 0) * span
    at_start, at_end = (block + np.clip(moment, low, low + span - 1) - low for moment in (start, end))
    first, last = (
        _passed(edges, moment, tick, code.size * span) for edges, moment in ((ends, at_start), (begins, at_end))
    )
    count = np.where(billed, np.maximum(last - first, 0), 0)
    row, cell = _repeated(first, count)
    stretch = number[cell]
    order = np.argsort(stretch.astype(np.int16) if len(cells) < 2**15 else stretch, kind="stable")
    return row[order], stretch[order]


def in_flight_from(received_at: Ints, prefill_started_at: Ints, first_token_at: Ints) -> Ints:
    """A request was there at its first token and at the start of its prefill, whatever another machine's clock says of its arrival."""
    start = received_at
    for other in (prefill_started_at, first_token_at):
        start = np.where(other == NO_TIME, start, np.minimum(start, other))
    return start


def _passed(edges: Ints, moments: Ints, tick: int, size: int) -> Ints:
    """How many edges are at or before each moment. Edges are sorted whole ticks: where these are few, a table knows the answer."""
    if size // tick > _TABLE:
        return np.searchsorted(edges, moments, side="right")
    table = np.searchsorted(edges, np.arange(size // tick + 1) * tick, side="right")
    return np.asarray(table[moments // tick])


def _repeated(first: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Row i `count`[i] times, with the cells from `first`[i] on."""
    if bool((count == 1).all()):
        return np.arange(first.size), first
    row = np.repeat(np.arange(first.size), count)
    offset = np.arange(row.size) - np.repeat(np.cumsum(count) - count, count)
    return row, np.repeat(first, count) + offset
