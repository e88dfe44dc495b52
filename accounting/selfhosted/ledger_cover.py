"""Which shares of the sweep stand beside those of a step ledger, and which requests should the ledger have named?

In an hour in which a ledger names a request, the ledger alone charges it there. One that it does not name keeps the sweep's share only
where no ledger records: outside of what the ledgers of its replica cover, or on a replica that has none.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from accounting.selfhosted.arrays import NO_TIME, US_PER_SECOND, Bools, Floats, Ints
from accounting.selfhosted.lines import Lines
from accounting.selfhosted.pool import Cells
from accounting.selfhosted.requests import Requests
from accounting.selfhosted.shares import Attribution


@dataclass(frozen=True)
class Covered:
    """Times in which step ledgers record. Attributes: replica; start_at, end_at: microseconds; those of a replica don't overlap."""

    replica: Ints
    start_at: Ints
    end_at: Ints

    @staticmethod
    def of(replica: Ints, started_at: Ints, seconds: Floats) -> Covered:
        """From each replica's first step to the end of its last."""
        codes, place = np.unique(replica, return_inverse=True)
        start = np.full(codes.size, np.iinfo(np.int64).max)
        end = np.full(codes.size, np.iinfo(np.int64).min)
        np.minimum.at(start, place, started_at)
        np.maximum.at(end, place, started_at + np.rint(seconds * US_PER_SECOND).astype(np.int64))
        return Covered(codes, start, end)


def beside(
    by_log: Attribution, requests: Requests, cells: Cells, covered: Covered, exact: Lines
) -> tuple[Bools, Bools]:
    """(which lines of the sweep stand, which requests had steps that a ledger should have named). `exact`: the ledger's lines.

    A request counts as recorded in an hour where ledgers of its replica cover the larger part of its time there; it is missed where
    that is not the smaller part of its whole time, which a clock that differs a little would make of a request of the next hour.
    """
    lines, width = by_log.lines, len(requests) + 1
    known = np.isin(lines.hour * width + lines.row, exact.hour * width + exact.row)
    start, end = _hours(cells)
    first = requests.first_token_at[lines.row]
    began = np.where(first == NO_TIME, requests.received_at[lines.row], first)
    ended = np.maximum(requests.completed_at[lines.row], began + 1)
    low, high = np.maximum(began, start[lines.hour]), np.minimum(ended, end[lines.hour])
    # A prompt's steps may lie before the edge at which its first token came: a moment then stands for the piece.
    high = np.maximum(high, low + 1)
    inside = np.zeros(len(lines), np.int64)
    for replica, since, until in zip(covered.replica, covered.start_at, covered.end_at, strict=True):
        part = np.minimum(high, until) - np.maximum(low, since)
        inside += np.where(requests.replica[lines.row] == replica, np.maximum(part, 0), 0)
    recorded = 2 * inside > high - low
    missing = np.zeros(len(requests), np.bool_)
    missing[lines.row[recorded & ~known & (2 * (high - low) >= ended - began)]] = True
    return ~known & ~recorded, missing


def together(one: Lines, other: Lines) -> Lines:
    """Lines of both, by hour and request."""
    joined = Lines(
        **{
            name: np.concatenate([getattr(one, name), getattr(other, name)])
            for name in (part.name for part in fields(Lines))
        }
    )
    return joined.take(np.lexsort((joined.row, joined.hour)))


def _hours(cells: Cells) -> tuple[Ints, Ints]:
    """First and last billed moment of each hour."""
    start = np.full(cells.hours, np.iinfo(np.int64).max)
    end = np.full(cells.hours, np.iinfo(np.int64).min)
    np.minimum.at(start, cells.hour, cells.start_at)
    np.maximum.at(end, cells.hour, cells.end_at)
    return start, end
