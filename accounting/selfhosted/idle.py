"""When was nothing in flight? Worked out from gaps between requests, another road than the sweep's, so that the two check each other."""

from __future__ import annotations

import numpy as np

from accounting.selfhosted.arrays import Ints
from accounting.selfhosted.pieces import Pieces


def idle_us(pieces: Pieces, lengths: Ints, replicas: Ints, shift: int) -> Ints:
    """Replica-microseconds without any request, by stretch; `pieces.cell` runs over `lengths`.

    One replica: the gaps before each request that begins after all earlier ones have ended, and the rest of the stretch. A fluid
    stretch of n replicas has n - m idle ones while m < n requests are in flight.
    """
    idle = lengths * replicas
    single = replicas[pieces.cell] == 1
    _subtract_covered(idle, pieces, np.flatnonzero(single), shift)
    for cell in np.flatnonzero(replicas > 1):
        at = np.flatnonzero(pieces.cell == cell)
        idle[cell] = _below(pieces.received[at], pieces.end[at], int(lengths[cell]), int(replicas[cell]))
    return idle


def _subtract_covered(idle: Ints, pieces: Pieces, at: Ints, shift: int) -> None:
    """From whole stretches to their gaps."""
    if not at.size:
        return
    key = pieces.cell[at] << shift
    begin, end = key + pieces.received[at], key + pieces.end[at]
    order = np.argsort(begin)
    cell, begin = pieces.cell[at][order], begin[order]
    reached = np.maximum.accumulate(
        end[order]
    )  # Never beyond its own stretch, so earlier stretches don't reach into later ones.
    from_start = np.concatenate([[True], cell[1:] != cell[:-1]])
    before = np.where(from_start, cell << shift, np.concatenate([[0], reached[:-1]]))
    covered = reached - before - np.maximum(begin - before, 0)
    np.subtract.at(idle, cell, covered)


def _below(begin: Ints, end: Ints, length: int, replicas: int) -> int:
    """Integral of max(0, replicas - requests in flight)."""
    times = np.concatenate([begin, end])
    order = np.argsort(times, kind="stable")
    change = np.concatenate([np.ones(begin.size, np.int64), -np.ones(end.size, np.int64)])
    spans = np.diff(np.concatenate([[0], times[order], [length]]))
    depth = np.concatenate([[0], np.cumsum(change[order])])
    return int((spans * np.maximum(replicas - depth, 0)).sum())
