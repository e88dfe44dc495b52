"""How quick is the machine itself just now, whatever the system says of it?

A neighbour of the hypervisor takes caches, memory and clock from a virtual machine, and no counter of its system shows that: on one with
nothing else running the same step took 1.0 to 1.6 times its time within seconds. So a small fixed piece of work that resembles a step
(products of few and of many tokens by weights that no cache holds) is timed again and again; a tick is one of it. Single ticks say little
(0.3 to 0.5 correlated with a step beside them), a median of several does (0.7).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from probe.engine.linear.factory import dense_linear
from probe.engine.linear.packed import packing_available
from probe.engine.native import pool
from probe.measure import watch
from probe.measure.rig import Rig

Real = Callable[[], float]
# Ticks on either side of a visit.
TICKS = 5
WORK = "panels: twice 8, once 64 x 4096 x 1024"
"""What a tick does, and by which kernel. Another work has another name, or a faster kernel would look like a faster machine."""
_FEW, _MANY = 8, 64
_OUT, _IN = 4096, 1024
_LAST_LEVEL = Path("/sys/devices/system/cpu/cpu0/cache/index3/size")


class Pace:
    """A piece of work, timed by `real`.

    waited: seconds that threads have waited for a processor, of which a tick that counts may have `quiet_share`.
    """

    def __init__(
        self,
        work: Callable[[], object],
        real: Real = time.perf_counter,
        waited: Real = lambda: 0.0,
        quiet_share: float = watch.QUIET_SHARE,
    ) -> None:
        self._real, self._work, self._waited, self._quiet_share = real, work, waited, quiet_share

    def tick(self) -> float | None:
        """Does the work once; its seconds. None where threads waited longer: what is left of such a tick, which is less than nothing
        where two waited at once, does not say how quick the machine is."""
        waited, begun = self._waited(), self._real()
        self._work()
        seconds, waited = self._real() - begun, self._waited() - waited
        return None if seconds <= 0 or waited > self._quiet_share * (seconds + waited) else seconds


def pace_of(rig: Rig, quiet_share: float = watch.QUIET_SHARE) -> Pace | None:
    """That of the rig's processor, on the rig's threads; None on a GPU, whose steps don't go by the host's pace."""
    if rig.engine.runner.model.device.type != "cpu":
        return None
    waited = waited_of(rig.threads)
    return Pace(fixed_work(), real_of(rig.threads, waited), waited, quiet_share)


def waited_of(threads: int) -> Real:
    """Seconds that the engine's threads have waited for a processor."""
    return watch.thread_waited if threads == 1 else watch.Waiting()


def real_of(threads: int, waited: Real | None = None) -> Real:
    """The wall's seconds, less what the threads of this process waited for a processor: they stand still while others have it. A step of
    several threads lasts as much longer as one of them waits, since the others wait for it; where two wait at once, that counts twice."""
    waiting = waited or waited_of(threads)
    return lambda: time.perf_counter() - waiting()


def fixed_work() -> Callable[[], Tensor]:
    """8 tokens by two weights and 64 by a third, by the product that the engine's own steps are made of: they are as much slower as it is
    (slope 1.0 at 1 to 10 sequences, 0.2 at 16 to 32; of merely reading memory 0.1 to 0.4, as its speed comes and goes by half).

    Others each time: before any of them comes again, four times the cache has been read, so that next to nothing of it is left there.
    """
    dtype = torch.bfloat16 if packing_available() or pool.available() else torch.float32
    size = _OUT * _IN * dtype.itemsize
    weights = [dense_linear(torch.ones(_OUT, _IN, dtype=dtype)) for _ in range(1 - (-4 * cache_bytes() // size))]
    few, many = (torch.ones(rows, _IN, dtype=dtype) for rows in (_FEW, _MANY))
    turn = 0

    def work() -> Tensor:
        nonlocal turn
        turn += 3
        with torch.inference_mode():
            weights[turn % len(weights)](few)
            weights[(turn + 1) % len(weights)](few)
            return weights[(turn + 2) % len(weights)](many)

    return work


def cache_bytes() -> int:
    """Of the last-level cache as Linux says it ("32768K"); 32 MiB where it doesn't."""
    text = _LAST_LEVEL.read_text(encoding="ascii").strip() if _LAST_LEVEL.exists() else "32768K"
    return int(text.removesuffix("K")) * 1024
