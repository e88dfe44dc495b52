"""How many GPUs were scheduled for which pool, when, and which rate pays them?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from accounting.selfhosted.pool_settings import Membership, PoolSettings, in_force
from accounting.selfhosted.rates import moment, us


@dataclass(frozen=True)
class Scheduled:
    """A stretch in which a replica ran, with nothing changing.

    Attributes:
        gpus: None where no settings of the pool are in force then, so that nobody knows how many there are.
        start_us, end_us: microseconds since 1970, half-open.
    """

    pool_id: str
    replica: str
    rate_id: str | None
    gpus: int | None
    start_us: int
    end_us: int

    @property
    def gpu_us(self) -> int:
        """GPU-microseconds; 0 where the number of GPUs is unknown."""
        return (self.gpus or 0) * (self.end_us - self.start_us)


def schedule(
    statements: Mapping[str, Sequence[PoolSettings]], members: Iterable[Membership], since_us: int, until_us: int
) -> list[Scheduled]:
    """The stretches of all replicas within [since, until), cut where a pool's settings change."""
    found = []
    for one in members:
        start = max(us(one.effective_from), since_us)
        end = until_us if one.effective_until is None else min(us(one.effective_until), until_us)
        stated = list(statements.get(one.pool_id, ()))
        edges = {
            us(when) for settings in stated for when in (settings.effective_from, settings.effective_until) if when
        }
        marks = [start, *sorted(edge for edge in edges if start < edge < end), end]
        for first, last in pairwise(marks):
            if first < last:
                settings_now = in_force(stated, moment(first))
                gpus = None if settings_now is None else settings_now.gpus_per_replica
                found.append(Scheduled(one.pool_id, one.replica, one.rate_id, gpus, first, last))
    return found


def within(stretches: Iterable[Scheduled], start_us: int, end_us: int) -> list[Scheduled]:
    """What of them lies in [start, end)."""
    return [
        Scheduled(one.pool_id, one.replica, one.rate_id, one.gpus, max(one.start_us, start_us), min(one.end_us, end_us))
        for one in stretches
        if one.start_us < end_us and one.end_us > start_us
    ]
