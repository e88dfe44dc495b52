"""What does a pool declare, and for which stretches of which replicas is there a bill?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from accounting.errors import InvalidInput
from accounting.selfhosted.arrays import UNKNOWN, US_PER_SECOND, Ints
from accounting.selfhosted.curve import Outside

HOUR_US = 3_600 * US_PER_SECOND


@dataclass(frozen=True)
class Pool:
    """How a pool's replicas schedule.

    Attributes:
        token_budget: tokens a step may compute (max_num_batched_tokens).
        max_batch: requests a step may hold (max_num_seqs).
        order: decode_first: every step holds all decoding requests, prompts take the rest of the budget (mixed steps);
            prefill_first: while a prompt waits, steps hold prompts alone.
        kv_capacity_tokens: C; None: not stated, so that memory is never taken to block admission.
        admission: a request is let in when the cache has room for its prompt (and may be preempted later), or for its peak length.
        role: which phases run here; disaggregated pools charge each for its own.
        outside: requests beyond the curve's measured range are refused (unpriced) or flagged (charged and marked).
    """

    token_budget: int
    max_batch: int
    order: Literal["decode_first", "prefill_first"] = "decode_first"
    kv_capacity_tokens: int | None = None
    admission: Literal["prompt", "peak"] = "prompt"
    role: Literal["mixed", "prefill", "decode"] = "mixed"
    outside: Outside = "flag"

    def __post_init__(self) -> None:
        for name in ("token_budget", "max_batch", "kv_capacity_tokens"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidInput(name, value, "a whole number from 1 is expected")
        if self.order == "decode_first" and self.max_batch > self.token_budget:
            raise InvalidInput(
                "max_batch", self.max_batch, f"a step can't hold more requests than its {self.token_budget} tokens"
            )


@dataclass(frozen=True)
class Stretches:
    """Cells in any order, by column; see `Cells`."""

    hour: Ints
    start_at: Ints
    end_at: Ints
    replicas: Ints

    def __len__(self) -> int:
        return len(self.hour)

    def by_hour(self, values: Ints) -> Ints:
        """Sums by hour of what is given by stretch."""
        found = np.zeros(int(self.hour.max()) + 1, np.int64)
        np.add.at(found, self.hour, values)
        return found


@dataclass(frozen=True)
class Cells:
    """Stretches of time that are billed, each of one scheduler. Sorted by replica and start; those of a replica don't overlap.

    Attributes:
        hour: index of the pool hour whose bill pays for it.
        replica: its code; UNKNOWN: all of a fluid pool's replicas together.
        start_at, end_at: microseconds, half-open.
        replicas: schedulers in it: 1, or the number of a fluid pool.
    """

    hour: Ints
    replica: Ints
    start_at: Ints
    end_at: Ints
    replicas: Ints

    def __post_init__(self) -> None:
        if not len(self.hour):
            raise InvalidInput("cells", 0, "at least one billed stretch is expected")
        order = np.lexsort((self.start_at, self.replica))
        if not np.array_equal(order, np.arange(len(self.hour))):
            raise InvalidInput("cells", order.tolist(), "cells must be sorted by replica and start")
        if bool((self.end_at <= self.start_at).any()):
            raise InvalidInput(
                "end_at", int(self.end_at[np.argmax(self.end_at <= self.start_at)]), "a billed stretch has a length"
            )
        overlap = (self.replica[1:] == self.replica[:-1]) & (self.start_at[1:] < self.end_at[:-1])
        if overlap.any():
            raise InvalidInput("start_at", int(self.start_at[1:][overlap][0]), "stretches of one replica overlap")
        if bool((self.replicas < 1).any()):
            raise InvalidInput("replicas", self.replicas.tolist(), "at least one replica is expected")

    def __len__(self) -> int:
        return len(self.hour)

    @property
    def hours(self) -> int:
        """How many pool hours there are."""
        return int(self.hour.max()) + 1

    def capacity_us(self) -> Ints:
        """Replica-microseconds paid for in each hour."""
        return Stretches(self.hour, self.start_at, self.end_at, self.replicas).by_hour(
            (self.end_at - self.start_at) * self.replicas
        )

    def hour_by_hour(self) -> tuple[Stretches, Ints]:
        """The stretches in order of hours, so that what is worked out hour by hour lies together; and the place of each cell there."""
        order = np.lexsort((self.replica, self.hour))
        place = np.empty(len(self), np.int64)
        place[order] = np.arange(len(self))
        return Stretches(*(one[order] for one in (self.hour, self.start_at, self.end_at, self.replicas))), place

    @staticmethod
    def of_hours(starts: Sequence[int], replicas: int) -> Cells:
        """Whole hours beginning at `starts`, of replicas 0, 1, ...."""
        hours, code = np.arange(len(starts)), np.arange(replicas)
        at = np.tile(np.asarray(starts, np.int64), replicas)
        return Cells(
            np.tile(hours, replicas), np.repeat(code, len(starts)), at, at + HOUR_US, np.ones(at.size, np.int64)
        )

    @staticmethod
    def fluid(starts: Sequence[int], replicas: int) -> Cells:
        """Whole hours of a pool whose log does not say which replica served a request."""
        at, ones = np.asarray(starts, np.int64), np.ones(len(starts), np.int64)
        return Cells(np.arange(len(starts)), UNKNOWN * ones, at, at + HOUR_US, replicas * ones)

    def as_fluid(self) -> Cells:
        """The same bill with replicas forgotten; only for stretches that begin and end together in each hour."""
        starts, first, count = np.unique(self.start_at, return_index=True, return_counts=True)
        ends = self.end_at[first]
        if not np.array_equal(self.end_at, ends[np.searchsorted(starts, self.start_at)]):
            raise InvalidInput(
                "replica", UNKNOWN, "a request without replica can't be placed where replicas came or went in the hour"
            )
        members = np.bincount(np.searchsorted(starts, self.start_at), weights=self.replicas).astype(np.int64)
        return Cells(self.hour[first], np.full(count.size, UNKNOWN), starts, ends, members)
