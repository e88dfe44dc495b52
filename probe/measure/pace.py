"""How quick is the machine itself just now, whatever the system says of it?

A neighbour of the hypervisor takes caches, memory and clock from a virtual machine, and no counter of its system shows that: on one with
nothing else running the same step took 1.0 to 1.6 times its time within seconds. So a small fixed piece of work that resembles a step
(reading what no cache holds, as fast as memory gives it, then a product of many tokens) is timed again and again; a tick is one of it.
Single ticks say little (0.3 to 0.5 correlated with a step beside them), a median of several does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from probe.engine.linear.packed import PackedLinear, packing_available
from probe.engine.linear.plain import PlainLinear
from probe.measure import watch
from probe.measure.rig import Rig

Real = Callable[[], float]
# Ticks on either side of a visit.
TICKS = 5
WORK = "read 32 MiB, 64 x 4096 x 1024"
"""What a tick does. Another work has another name: its seconds are no measure for this one's."""
_READ, _MANY = 32 << 20, 64
_OUT, _IN = 4096, 1024
_LAST_LEVEL = Path("/sys/devices/system/cpu/cpu0/cache/index3/size")


class Pace:
    """A piece of work and the seconds of its ticks so far. Attributes: ticks: in the order taken; real: the seconds they go by."""

    def __init__(self, work: Callable[[], object], real: Real = time.perf_counter) -> None:
        self.ticks: list[float] = []
        self.real, self._work = real, work

    def tick(self) -> float:
        """Does the work once; its seconds."""
        begun = self.real()
        self._work()
        self.ticks.append(self.real() - begun)
        return self.ticks[-1]


def pace_of(rig: Rig) -> Pace | None:
    """That of the rig's processor, on the rig's threads; None on a GPU, whose steps don't go by the host's pace."""
    return Pace(fixed_work(), real_of(rig.threads)) if rig.engine.runner.model.device.type == "cpu" else None


def real_of(threads: int) -> Real:
    """The wall's seconds, less what the threads of this process waited for a processor: they stand still while others have it. A step of
    several threads lasts as much longer as one of them waits, since the others wait for it; where two wait at once, that counts twice."""
    waiting = watch.thread_waited if threads == 1 else watch.Waiting()
    return lambda: time.perf_counter() - waiting()


def fixed_work() -> Callable[[], Tensor]:
    """Reads 32 MiB and multiplies 64 tokens by a weight, others each time: they lie in memory before any of them comes again.

    Half of it is the memory's: where neighbours took that alone, steps of few tokens took 1.5 times as long, mere products 1.15 times.
    By torch's own operations, whatever kernels the engine has: a faster engine must not look like a faster machine.
    """
    linear, dtype = (PackedLinear, torch.bfloat16) if packing_available() else (PlainLinear, torch.float32)
    size = _OUT * _IN * dtype.itemsize
    weights = [linear(torch.ones(_OUT, _IN, dtype=dtype)) for _ in range(max(2, 2 * cache_bytes() // size))]
    arrays = [torch.ones(_READ // 4) for _ in range(max(2, 2 * cache_bytes() // _READ))]
    tokens = torch.ones(_MANY, _IN, dtype=dtype)
    turn = 0

    def work() -> Tensor:
        nonlocal turn
        turn += 1
        arrays[turn % len(arrays)].sum()
        with torch.inference_mode():
            return weights[turn % len(weights)](tokens)

    return work


def cache_bytes() -> int:
    """Of the last-level cache as Linux says it ("32768K"); 32 MiB where it doesn't."""
    text = _LAST_LEVEL.read_text(encoding="ascii").strip() if _LAST_LEVEL.exists() else "32768K"
    return int(text.removesuffix("K")) * 1024
