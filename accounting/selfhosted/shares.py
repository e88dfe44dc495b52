"""START here. Which seconds of a pool's replicas did each request use? Columns in, columns out.

    place -> cut -> predict windows -> sweep -> own terms and shared part

A share is own prefill, own decode and a part of what each step costs whoever is in it (README.md). Stretches of different hours do not
depend on each other, so that an hour settled again gives the same to the last digit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from accounting.selfhosted.arrays import UNKNOWN, Bools, Ints
from accounting.selfhosted.curve import Curve, Outside
from accounting.selfhosted.idle import idle_us
from accounting.selfhosted.lines import Gathered, Lines, apart, lines_of
from accounting.selfhosted.pieces import cut, in_order
from accounting.selfhosted.place import place
from accounting.selfhosted.pool import Cells, Pool
from accounting.selfhosted.reasons import CHARGED, NOT_BILLED, OUTSIDE
from accounting.selfhosted.requests import Requests, judge
from accounting.selfhosted.state import Policy

CHUNK = 20_000
"""Pieces swept at once: enough to pay for numpy's calls, few enough to stay in the processor's cache."""


@dataclass(frozen=True)
class Attribution:
    """Shares of requests, and what the replicas did besides.

    Attributes:
        curve, policy: by which they were worked out; both stand on every charge.
        lines: the shares, hour by hour.
        reason: int8 codes of REASONS, by request.
        capacity_us: replica-microseconds paid for, by hour. in_flight_us, idle_us: worked out each by itself, together the same.
        unproven_us: in flight with nothing but failed requests that show no evidence of steps.
        refused: lines of a request and hour in steps that no run of a table had, where the pool refuses those.
        variance_ps: measured less standard step time, by hour; None without a step ledger.
    """

    curve: Curve
    policy: Policy
    lines: Lines
    reason: npt.NDArray[np.int8]
    capacity_us: Ints
    in_flight_us: Ints
    idle_us: Ints
    unproven_us: Ints
    refused: Lines
    variance_ps: Ints | None = None

    def refusing(self, outside: Outside) -> Attribution:
        """The same with what lies beyond the measured steps taken out, if the pool refuses it."""
        lines, refused = apart(self.lines, outside)
        if not len(refused):
            return self
        kept = np.zeros(self.reason.size, np.bool_)
        kept[lines.row] = True
        reason = self.reason.copy()
        reason[refused.row[~kept[refused.row]]] = OUTSIDE
        return replace(self, lines=lines, reason=reason, refused=refused)

    @cached_property
    def extrapolated(self) -> Bools:
        """Charged, in some hour, beyond what the curve measured, by request."""
        beyond = np.zeros(self.reason.size, np.bool_)
        beyond[self.lines.row[self.lines.extrapolated]] = True
        return beyond

    def lines_of(self, hour: int) -> Lines:
        """The lines of one pool hour."""
        start, stop = self._edges[hour], self._edges[hour + 1]
        return self.lines.between(start, stop)

    def refused_in(self, hour: int) -> Ints:
        """Requests whose share of one pool hour is refused."""
        return np.unique(self.refused.row[self.refused.hour == hour])

    @cached_property
    def _edges(self) -> list[int]:
        edges: list[int] = np.searchsorted(self.lines.hour, np.arange(self.capacity_us.size + 1)).tolist()
        return edges


def attribute(
    curve: Curve, pool: Pool, requests: Requests, cells: Cells, policy: Policy = "switch", filled: Bools | None = None
) -> Attribution:
    """Shares of all requests that touch the cells, but those that the pool refuses. `filled`: as `swept` has it."""
    return swept(curve, pool, requests, cells, policy, filled).refusing(pool.outside)


def swept(
    curve: Curve, pool: Pool, requests: Requests, cells: Cells, policy: Policy = "switch", filled: Bools | None = None
) -> Attribution:
    """Shares of all requests that touch the cells. `filled`: requests whose times are not logged ones (`forward.complete_times`).

    A request that ran on an unknown replica makes the pool fluid: R divided by replicas, quality estimated.
    """
    evidence = judge(requests, curve, pool)
    fluid = bool((requests.replica[evidence.ran] == UNKNOWN).any()) or bool((cells.replica == UNKNOWN).any())
    if fluid:
        cells = cells if bool((cells.replica == UNKNOWN).all()) else cells.as_fluid()
        requests = replace(requests, replica=np.full(len(requests), UNKNOWN))
    estimated = np.full(len(requests), fluid) if filled is None else filled | fluid
    charged = evidence.reason == CHARGED
    stretches, number = cells.hour_by_hour()
    row, cell = place(requests, cells, number)
    lengths = stretches.end_at - stretches.start_at
    idle = lengths * stretches.replicas
    in_flight, unproven = np.zeros(len(cells), np.int64), np.zeros(len(cells), np.int64)
    shift = int(lengths.max()).bit_length()
    found = Gathered(row.size)
    for chosen in _chunks(cell):
        of = cell[chosen]
        pieces = cut(requests, evidence, pool, stretches, in_order(requests, stretches, row[chosen], of, shift + 1), of)
        low, high = int(cell[chosen.start]), int(cell[chosen.stop - 1]) + 1
        parts = stretches.replicas[pieces.cell].astype(np.float64)
        local = replace(pieces, cell=pieces.cell - low)
        lines, phases = lines_of(curve, pool, policy, requests, charged, estimated, local, parts, high - low, shift)
        found.add(replace(lines, hour=stretches.hour[lines.hour + low]))
        in_flight[low:high], unproven[low:high] = phases.in_flight_us, phases.unproven_us
        idle[low:high] = idle_us(local, lengths[low:high], stretches.replicas[low:high], shift)
    lines = found.lines()
    if bool(evidence.extrapolated.any()):
        lines = replace(lines, extrapolated=lines.extrapolated | evidence.extrapolated[lines.row])
    billed = np.zeros(len(requests), np.bool_)
    billed[lines.row] = True
    reason = np.where(charged & ~billed, np.int8(NOT_BILLED), evidence.reason)
    flight, idle, nobody = (stretches.by_hour(one) for one in (in_flight, idle, unproven))
    return Attribution(curve, policy, lines, reason, cells.capacity_us(), flight, idle, nobody, lines.between(0, 0))


def _chunks(cell: Ints) -> Iterator[slice]:
    """Runs of whole stretches of about CHUNK pieces."""
    start = 0
    while start < cell.size:
        stop = int(np.searchsorted(cell, cell[min(start + CHUNK, cell.size) - 1], side="right"))
        yield slice(start, stop)
        start = stop
