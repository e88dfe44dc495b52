"""Was the client itself too slow to measure? Its share of a core, and how late its event loop was."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from types import TracebackType

import numpy as np

# A client that works four fifths of the time can't stamp arrivals in time; one that is late by half a token's time stamps another's.
_BUSY, _LATE = 0.8, 0.5
# A loop's timers are whole milliseconds: up to one of lateness is theirs.
_TICK, _GRAIN = 0.005, 0.001


@dataclass(frozen=True)
class Load:
    """Attributes: busy: share of a core that this process used; lag: p99 of how late the loop woke, seconds beyond its timers' grain."""

    busy: float
    lag: float

    def saturated(self, itl: float | None) -> bool:
        """Whether samples of this time are the client's own: `itl` seconds between tokens, None where none was measured."""
        return self.busy > _BUSY or (itl is not None and self.lag > _LATE * itl)


class Watch:
    """`async with Watch() as watch`: afterwards `watch.load`."""

    async def __aenter__(self) -> Watch:
        self._late: list[float] = []
        self._wall, self._cpu = time.monotonic(), time.process_time()
        self._ticking = asyncio.create_task(self._tick())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        wall, cpu = time.monotonic() - self._wall, time.process_time() - self._cpu
        self._ticking.cancel()
        late = float(np.percentile(self._late, 99)) if self._late else 0.0
        self.load = Load(cpu / wall if wall > 0 else 0.0, late)

    async def _tick(self) -> None:
        while True:
            begun = time.monotonic()
            await asyncio.sleep(_TICK)
            self._late.append(max(time.monotonic() - begun - _TICK - _GRAIN, 0.0))
